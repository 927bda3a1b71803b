public import BLE

/// A request that a central has sent to a ``MessagePeripheral``.
public struct MessageRequest: Sendable, Hashable {
    /// The command.
    public let command: MessageCommand
    /// The payload, decrypted.
    public let payload: [UInt8]
    /// Whether it was encrypted. Its reply is, too.
    public let isEncrypted: Bool
    /// Who has sent it.
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
