public import BLE
public import BLEFeatures

/// The wireless networks that the lock can join.
public final class LockNetwork: Feature {
    public static let commands: Set<MessageCommand> = [
        .startNetworkListen, .stopNetworkListen, .ssidUpdate, .connectToNetwork,
    ]
    public let handler: MessageHandler

    public init(handler: MessageHandler) { self.handler = handler }

    /// Has the lock listen for networks; the names (SSIDs) of those that it knows already. What has no name, or one that is no
    /// UTF-8, is left out.
    public func startListening() async throws(BLEError) -> [String] {
        let reply = try await handler.send(Message(.startNetworkListen))
        return reply.payload.split(separator: Self.separator).compactMap { String(validating: $0, as: UTF8.self) }
    }

    /// Has the lock listen no more.
    public func stopListening() async throws(BLEError) {
        try await handler.send(Message(.stopNetworkListen))
    }

    /// The names of the networks that the lock finds while it listens, from now on; to be called before ``startListening()``,
    /// so that none is missed. Ends with the link, throwing `disconnected`.
    public func updates() async -> some AsyncSequence<String, BLEError> & Sendable {
        await handler.notifications(for: .ssidUpdate)
            .compactMap { String(validating: $0.payload, as: UTF8.self) }
            .filter { !$0.isEmpty }
    }

    /// Joins a network. Throws `unknownNetwork`, and `invalidArgument` for a name that no network can have.
    public func join(_ name: String, password: String) async throws {
        guard (1...32).contains(name.utf8.count), !name.utf8.contains(Self.separator) else {
            throw BLEError(.invalidArgument, "a network's name has 1 to 32 bytes, and no 1F among them")
        }
        let payload = Array(name.utf8) + [Self.separator] + Array(password.utf8)
        guard try await handler.send(Message(.connectToNetwork, payload: payload)).flag() else {
            throw LockError.unknownNetwork(name)
        }
    }

    /// What stands between names, and between name and password.
    static let separator: UInt8 = 0x1F
}
