public import BLE

/// What a ``MessagePeripheral`` replies to each command, with payloads as typed values: the counterpart of
/// ``MessageHandler/send(_:_:reply:isEncrypted:timeout:)``.
///
/// ```swift
/// var replies = MessageReplies()
/// replies.reply(to: .setVolume) { (percent: UInt8, _, device) in
///     guard percent <= 100 else { throw MessageRejection.wrongPayload }
///     try await device.notify(.volumeChanged, percent)
/// }
/// replies.reply(to: .getName) { _, _ in "Bell" }
/// let bell = MessagePeripheral(onRequest: replies.handler)
/// ```
///
/// A command without a reply is rejected with ``MessageRejection/unknownCommand``, a payload that cannot be decoded
/// with ``MessageRejection/wrongPayload``. A reply that cannot be encoded is a failure of the device; see
/// ``MessagePeripheral/problems()``.
public struct MessageReplies: Sendable {
    private var handlers: [MessageCommand: MessagePeripheral.Handler] = [:]
    private let otherwise: MessagePeripheral.Handler

    /// Creates replies to no command yet.
    ///
    /// - Parameter otherwise: answers requests of other commands. By default, they are rejected with
    ///   ``MessageRejection/unknownCommand``.
    public init(
        otherwise: @escaping MessagePeripheral.Handler = { _, _ in throw MessageRejection.unknownCommand }
    ) {
        self.otherwise = otherwise
    }

    /// The commands that have a reply.
    public var commands: Set<MessageCommand> { Set(handlers.keys) }

    /// Answers each request, for `onRequest` of a ``MessagePeripheral``.
    public var handler: MessagePeripheral.Handler {
        { [self] request, device in try await (handlers[request.command] ?? otherwise)(request, device) }
    }

    /// Replies to a command whose requests and replies have a payload. Replaces what was set for it before.
    ///
    /// - Parameters:
    ///   - requiresEncryption: whether plain requests are rejected, with ``MessageRejection/notEncrypted``.
    ///   - reply: receives the payload, the request, and the device. What it throws rejects the request.
    public mutating func reply<Payload: ValueCodable, Reply: ValueCodable>(
        to command: MessageCommand, requiresEncryption: Bool = false,
        _ reply: @escaping @Sendable (Payload, MessageRequest, MessagePeripheral) async throws -> Reply
    ) {
        add(command, requiresEncryption) { request, device in
            try await reply(try request.payload(as: Payload.self), request, device).encoded()
        }
    }

    /// Replies without a payload to a command whose requests have one. Otherwise like the others.
    public mutating func reply<Payload: ValueCodable>(
        to command: MessageCommand, requiresEncryption: Bool = false,
        _ perform: @escaping @Sendable (Payload, MessageRequest, MessagePeripheral) async throws -> Void
    ) {
        add(command, requiresEncryption) { request, device in
            try await perform(try request.payload(as: Payload.self), request, device)
            return []
        }
    }

    /// Replies with a payload to a command whose requests have none. A payload of a request is ignored. Otherwise like
    /// the others.
    public mutating func reply<Reply: ValueCodable>(
        to command: MessageCommand, requiresEncryption: Bool = false,
        _ reply: @escaping @Sendable (MessageRequest, MessagePeripheral) async throws -> Reply
    ) {
        add(command, requiresEncryption) { request, device in try await reply(request, device).encoded() }
    }

    /// Replies without a payload to a command whose requests have none. A payload of a request is ignored. Otherwise
    /// like the others.
    public mutating func reply(
        to command: MessageCommand, requiresEncryption: Bool = false,
        _ perform: @escaping @Sendable (MessageRequest, MessagePeripheral) async throws -> Void
    ) {
        add(command, requiresEncryption) { request, device in
            try await perform(request, device)
            return []
        }
    }

    private mutating func add(
        _ command: MessageCommand, _ requiresEncryption: Bool, _ handler: @escaping MessagePeripheral.Handler
    ) {
        handlers[command] = { request, device in
            guard request.isEncrypted || !requiresEncryption else { throw MessageRejection.notEncrypted }
            return try await handler(request, device)
        }
    }
}
