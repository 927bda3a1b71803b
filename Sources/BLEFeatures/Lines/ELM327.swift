public import BLE

/// An adapter for a car's diagnostic connector that uses the commands of the ELM327.
///
/// ```swift
/// let adapter = ELM327(peripheral)
/// _ = try await adapter.send("ATE0")
/// print(try await adapter.send("010C"))  // the engine's speed: ["41 0C 1A F8"]
/// ```
///
/// Commands are sent one at a time, and connect if there is no link. A command in progress when the link ends fails
/// with `disconnected`; waiting commands are sent on the next link.
public final class ELM327: Sendable {
    /// The session that sends commands and receives responses.
    public let transactions: TransactionSession<LineCodec>

    /// Creates an adapter. The default characteristics are those of many adapters with service FFF0.
    public init(
        _ peripheral: Peripheral, service: BluetoothUUID = BluetoothUUID(0xFFF0),
        notifying: BluetoothUUID = BluetoothUUID(0xFFF1), written: BluetoothUUID = BluetoothUUID(0xFFF2),
        writeType: WriteType = .withResponse, timeout: Duration = .seconds(10)
    ) {
        transactions = TransactionSession(
            peripheral, codec: LineCodec(),
            configuration: TransactionConfiguration(
                request: CharacteristicKey(service: service, characteristic: written),
                reply: CharacteristicKey(service: service, characteristic: notifying), writeType: writeType,
                replyTimeout: timeout, outlastsLinks: true))
    }

    /// Sends a command and returns the lines of its response, without the echo, empty lines and the prompt.
    ///
    /// Throws `commandTimedOut`, with the command in its message; `invalidArgument` if the text is not a single
    /// command; `disconnected`.
    ///
    /// - Parameter timeout: the maximum time for waiting for other commands, connecting and the response together.
    public func send(_ command: String, timeout: Duration? = nil) async throws(BLEError) -> [String] {
        try await transactions.send(command, timeout: timeout)
    }
}
