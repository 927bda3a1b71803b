public import BLE
public import BLEFeatures

/// What the lock is called, when it locks by itself, and whose it is.
public final class LockSettings: Feature {
    public static let commands: Set<MessageCommand> = [
        .setName, .getName, .setAutoLock, .getAutoLock, .setUserID, .reset,
    ]
    public let handler: MessageHandler

    public init(handler: MessageHandler) { self.handler = handler }

    /// Names the lock. It keeps the first 20 characters.
    public func setName(_ name: String) async throws(BLEError) {
        try await handler.send(Message(.setName, payload: Array(name.prefix(20).utf8)))
    }

    /// The lock's name.
    public func name() async throws -> String {
        try await handler.send(Message(.getName)).text()
    }

    /// Has the lock lock itself so many seconds after it was unlocked; nil: never.
    public func setAutoLock(seconds: UInt8?) async throws(BLEError) {
        try await handler.send(Message(.setAutoLock, payload: seconds.map { [$0] } ?? []))
    }

    /// After how many seconds the lock locks itself; nil: never.
    public func autoLock() async throws -> UInt8? {
        let reply = try await handler.send(Message(.getAutoLock))
        guard reply.payload.count <= 1 else { throw LockError.meaninglessReply(reply.command, reply.payload) }
        return reply.payload.first
    }

    /// Says whose lock it is. Throws `invalidArgument` for an empty text.
    public func setUserID(_ user: String) async throws(BLEError) {
        guard !user.isEmpty else { throw BLEError(.invalidArgument, "a user's id has at least one character") }
        try await handler.send(Message(.setUserID, payload: Array(user.utf8)))
    }

    /// Has the lock forget all settings, its password and its pairings. The lock must have been paired with.
    public func reset() async throws(BLEError) {
        try await handler.send(Message(.reset, isEncrypted: true))
    }
}
