internal import BLEFeatures

/// What a simulated lock remembers, and how requests read and change it.
public struct SimulatedLockMemory: Sendable, Equatable {
    /// Whether it is locked.
    public internal(set) var state = LockState.locked
    /// At most 20 characters.
    public internal(set) var name = "Simulated Lock"
    /// In seconds; nil: never. The lock only remembers it.
    public internal(set) var autoLock: UInt8?
    /// Whose it is; empty: nobody's.
    public internal(set) var user: [UInt8] = []
    /// The networks that it knows.
    public internal(set) var networks = ["Home", "Office", "Café"]
    /// The network that it has joined; nil: none.
    public internal(set) var network: String?
    /// The password for guests; empty: none.
    public internal(set) var password: [UInt8] = []
    /// Whether a central listens to networks, and wants the updates encrypted; nil: none listens.
    var listener: Bool?

    static let encryptedCommands: Set<MessageCommand> = [.reset, .setDevicePassword, .setLockState, .guestUnlock]

    /// Does what a request says. The payload of the reply to it. What throws changes nothing.
    mutating func carryOut(_ request: MessageRequest) throws -> [UInt8] {
        if Self.encryptedCommands.contains(request.command), !request.isEncrypted {
            throw MessageRejection.notEncrypted
        }
        let payload = request.payload
        switch request.command {
        case .setName: name = String(try text(payload).prefix(20))
        case .getName: return Array(name.utf8)
        case .setAutoLock:
            try require(payload.count <= 1)
            autoLock = payload.first
        case .getAutoLock: return autoLock.map { [$0] } ?? []
        case .setUserID:
            try require(!payload.isEmpty)
            user = payload
        case .reset:
            // What the door is like stays, and what is in the air.
            (self, state, networks) = (SimulatedLockMemory(), state, networks)
        case .startNetworkListen:
            listener = request.isEncrypted
            return Array(networks.map { Array($0.utf8) }.joined(separator: [LockNetwork.separator]))
        case .stopNetworkListen: listener = nil
        case .connectToNetwork: return [try join(payload) ? 1 : 0]
        case .setDevicePassword:
            try require(!payload.isEmpty)
            password = payload
        case .getLockState: return [state.rawValue]
        case .setLockState:
            guard payload.count == 1, let wanted = LockState(rawValue: payload[0]) else {
                throw MessageRejection.wrongPayload
            }
            state = wanted
        case .guestUnlock:
            guard !password.isEmpty, payload == password else { return [0] }
            state = .unlocked
            return [1]
        default: throw MessageRejection.unknownCommand
        }
        return []
    }

    private mutating func join(_ payload: [UInt8]) throws -> Bool {
        guard let separator = payload.firstIndex(of: LockNetwork.separator) else { throw MessageRejection.wrongPayload }
        let wanted = try text(Array(payload[..<separator]))
        guard networks.contains(wanted) else { return false }
        network = wanted
        return true
    }

    private func text(_ payload: [UInt8]) throws -> String {
        guard let text = String(validating: payload, as: UTF8.self) else { throw MessageRejection.wrongPayload }
        return text
    }

    private func require(_ condition: Bool) throws {
        if !condition { throw MessageRejection.wrongPayload }
    }
}
