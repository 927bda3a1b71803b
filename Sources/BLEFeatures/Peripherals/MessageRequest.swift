public import BLE

/// A request that a central has sent to a ``MessagePeripheral``.
public struct MessageRequest: Sendable, Hashable {
    /// The command.
    public let command: MessageCommand
    /// The payload, decrypted.
    public let payload: [UInt8]
    /// Whether it was encrypted. Its reply is, too.
    public let isEncrypted: Bool
    /// The central that has sent it.
    public let central: Peripheral.ID

    /// Creates a request, for a test of a handler.
    public init(
        _ command: MessageCommand, payload: [UInt8] = [], isEncrypted: Bool = false, from central: Peripheral.ID
    ) {
        self.command = command
        self.payload = payload
        self.isEncrypted = isEncrypted
        self.central = central
    }
}

/// Why a handler does not answer a request.
public enum MessageRejection: Error, Hashable, Sendable {
    /// The device does not know the command.
    case unknownCommand
    /// The payload is not one of the command.
    case wrongPayload
    /// The command is only for encrypted messages.
    case notEncrypted
    /// The device does not let the central pair now.
    case pairingRefused
    /// The device keeps ``MessagePeripheral/maximumPairings`` pairings already.
    case tooManyPairings
    /// The central has proved an exchange of keys while another one has the session that the system does not tell apart.
    case sessionClaimed
    /// The message is a reply or a notification.
    case notARequest
}
