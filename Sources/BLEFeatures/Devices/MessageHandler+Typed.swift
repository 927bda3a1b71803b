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
    /// Throws the errors of ``send(_:timeout:)``, and `invalidValue` if the payload cannot be encoded or the payload of
    /// the reply cannot be decoded.
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

    /// Returns the payloads of a command's notifications, from now on. Otherwise like
    /// ``notifications(for:isEncrypted:)``.
    ///
    /// ```swift
    /// func follow(_ handler: MessageHandler) async throws {
    ///     for try await melody in await handler.notifications(for: .getMelody, as: Melody.self) {
    ///         print(melody.notes)
    ///     }
    /// }
    /// ```
    ///
    /// Iteration throws `invalidValue` for a payload that cannot be decoded, and continues with the next notification.
    public func notifications<Payload: ValueCodable>(
        for command: MessageCommand, as payload: Payload.Type, isEncrypted: Bool? = nil
    ) async -> PayloadStream<Payload> {
        let messages = await notifications(for: command, isEncrypted: isEncrypted)
        return PayloadStream(messages: messages, peripheral: peripheral.id)
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

    /// Subscribes to another characteristic of the device, if a feature needs one. The stream ends with the link.
    public func notifications<Value>(
        of characteristic: Characteristic<Value>, overflow: OverflowPolicy = .dropOldest(capacity: 256)
    ) async throws(BLEError) -> NotificationStream<Value> {
        try await peripheral.notifications(characteristic, overflow: overflow)
    }
}

/// The payloads of a command's notifications; see ``MessageHandler/notifications(for:as:isEncrypted:)``.
///
/// Keeps the newest 256 unread notifications. Like `BoundedStream`, it is meant for one reader.
public struct PayloadStream<Payload: ValueCodable>: AsyncSequence, Sendable {
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    let messages: BoundedStream<Message>
    let peripheral: Peripheral.ID

    /// The number of notifications that were dropped because the reader was too slow.
    public var droppedCount: Int { messages.droppedCount }

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(messages: messages.makeAsyncIterator(), peripheral: peripheral)
    }

    /// Iterates over the payloads.
    public struct Iterator: AsyncIteratorProtocol {
        var messages: BoundedStream<Message>.Iterator
        let peripheral: Peripheral.ID

        /// Returns the next payload. Nil when the session has ended. Throws `invalidValue` for a payload that cannot be
        /// decoded, and the errors of a stream of messages.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(BLEError) -> Payload? {
            guard let message = try await messages.next(isolation: actor) else { return nil }
            do throws(BLEError) {
                return try Payload(bytes: message.payload)
            } catch {
                var error = error.at(peripheral)
                error.message = "a notification of command \(message.command): \(error.message)"
                throw error
            }
        }
    }
}
