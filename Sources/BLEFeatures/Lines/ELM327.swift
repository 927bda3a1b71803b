public import BLE

/// An adapter for a car's diagnostics connector that speaks the ELM327's commands over one characteristic each way.
///
/// ```swift
/// let adapter = ELM327(peripheral)
/// _ = try await adapter.send("ATE0")
/// print(try await adapter.send("010C"))  // the engine's speed: ["41 0C 1A F8"]
/// ```
///
/// One command is under way at a time; others wait for their turn, also while there is no link: sending connects. A
/// command that was under way when the link ended fails with `disconnected`; those that waited are sent on the next link.
public final class ELM327: Sendable {
    /// The commands and responses beneath.
    public let transactions: TransactionSession<LineCodec>

    /// An adapter behind that peripheral. The characteristics are those of the many that have service FFF0.
    public init(
        _ peripheral: Peripheral, service: BluetoothUUID = BluetoothUUID(0xFFF0),
        notifying: BluetoothUUID = BluetoothUUID(0xFFF1), written: BluetoothUUID = BluetoothUUID(0xFFF2),
        writeType: WriteType = .withResponse, timeout: Duration = .seconds(10)
    ) {
        transactions = TransactionSession(
            peripheral, codec: LineCodec(),
            configuration: TransactionConfiguration(
                request: AttributeKey(service: service, characteristic: written),
                reply: AttributeKey(service: service, characteristic: notifying), writeType: writeType,
                replyTimeout: timeout, outlastsLinks: true))
    }

    /// Sends a command and returns the lines of its response, without echo, empty lines and prompt.
    ///
    /// Throws `commandTimedOut` with the command in its message; `invalidArgument` for what is no command; `disconnected`.
    ///
    /// - Parameter timeout: the longest that waiting for the turn, connecting and the response may take together.
    public func send(_ command: String, timeout: Duration? = nil) async throws(BLEError) -> [String] {
        try await transactions.send(command, timeout: timeout)
    }
}
