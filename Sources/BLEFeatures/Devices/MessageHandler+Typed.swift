public import BLE

/// Messages whose payloads are typed values.
///
/// ```swift
/// struct Melody: ValueCodable {
///     var notes: [UInt8]
///     init(from reader: inout ValueReader) throws(BLEError) { notes = reader.rest() }
///     func encode(into writer: inout ValueWriter) throws(BLEError) { writer.bytes(notes) }
/// }
///
/// func play(_ melody: Melody, with handler: MessageHandler) async throws -> Melody {
///     try await handler.send(.playMelody, melody)
///     return try await handler.send(.getMelody, reply: Melody.self)
/// }
/// ```
extension MessageHandler {
    /// Sends a request with a payload, and returns the payload of the reply.
    ///
    /// Throws what ``send(_:timeout:)`` throws, and `invalidValue` if the payload cannot be encoded or the reply's cannot
    /// be decoded.
    public func send<Reply: ValueCodable>(
        _ command: MessageCommand, _ payload: some ValueCodable, reply: Reply.Type, isEncrypted: Bool = false,
        timeout: Duration? = nil
    ) async throws(BLEError) -> Reply {
        let message = Message(command, isEncrypted: isEncrypted, payload: try payload.encoded())
        return try decode(try await send(message, timeout: timeout), of: command)
    }

    /// Sends a request without a payload, and returns the payload of the reply.
    public func send<Reply: ValueCodable>(
        _ command: MessageCommand, reply: Reply.Type, isEncrypted: Bool = false, timeout: Duration? = nil
    ) async throws(BLEError) -> Reply {
        try decode(try await send(Message(command, isEncrypted: isEncrypted), timeout: timeout), of: command)
    }

    /// Sends a request with a payload. The payload of the reply is ignored.
    public func send(
        _ command: MessageCommand, _ payload: some ValueCodable, isEncrypted: Bool = false, timeout: Duration? = nil
    ) async throws(BLEError) {
        try await send(
            Message(command, isEncrypted: isEncrypted, payload: try payload.encoded()), timeout: timeout)
    }

    /// Sends a message with a payload that has no reply.
    public func post(
        _ command: MessageCommand, _ payload: some ValueCodable, isEncrypted: Bool = false, timeout: Duration? = nil
    ) async throws(BLEError) {
        try await post(
            Message(command, isEncrypted: isEncrypted, payload: try payload.encoded()), timeout: timeout)
    }

    private func decode<Value: ValueCodable>(_ message: Message, of command: MessageCommand) throws(BLEError) -> Value {
        do throws(BLEError) {
            return try Value(bytes: message.payload)
        } catch {
            var error = error.at(peripheral.id)
            error.message = "the reply to command \(command): \(error.message)"
            throw error
        }
    }

    // MARK: Other characteristics

    /// Subscribes to another characteristic of the device that notifies, as its feature needs. The stream ends with the
    /// link.
    public func notifications<Value>(
        of characteristic: Characteristic<Value>, overflow: OverflowPolicy = .dropOldest(capacity: 256)
    ) async throws(BLEError) -> NotificationStream<Value> {
        try await peripheral.notifications(characteristic, overflow: overflow)
    }
}
