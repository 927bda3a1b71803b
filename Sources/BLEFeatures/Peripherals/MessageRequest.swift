public import BLE

/// A request that a central has sent to a ``MessagePeripheral``.
public struct MessageRequest: Sendable, Hashable {
    /// The command.
    public let command: MessageCommand
    /// The payload, decrypted.
    public let payload: [UInt8]
    /// Whether the request was encrypted. If so, the reply is encrypted, too.
    public let isEncrypted: Bool
    /// The central that has sent the request.
    public let central: DeviceID

    /// Creates a request, for a test of a handler.
    public init(
        _ command: MessageCommand, payload: [UInt8] = [], isEncrypted: Bool = false, from central: DeviceID
    ) {
        self.command = command
        self.payload = payload
        self.isEncrypted = isEncrypted
        self.central = central
    }
}

/// The reason why a request is not answered.
public enum MessageRejection: Error, Hashable, Sendable {
    /// The device does not know the command.
    case unknownCommand
    /// The payload is not valid for the command.
    case wrongPayload
    /// The command requires an encrypted message.
    case notEncrypted
    /// The device does not allow the central to pair now.
    case pairingRefused
    /// The device already stores ``MessagePeripheral/maximumPairings`` pairings.
    case tooManyPairings
    /// The central has completed a key exchange while another central holds the session, because the system does not
    /// distinguish them.
    case sessionClaimed
    /// The message is a reply or a notification.
    case notARequest
}
