public import BLE
public import BLEFeatures
internal import Synchronization

/// Whether the door can be opened.
public enum LockState: UInt8, Sendable {
    case locked = 0
    case unlocked = 1
}

/// Who may open the door: keys, password, state, guests.
///
/// What changes who may open it travels encrypted, for which the lock has to be paired with once, ``pair()``.
public final class LockAccess: Feature {
    public static let commands: Set<MessageCommand> = [
        .setDevicePassword, .getLockState, .setLockState, .guestUnlock,
    ]
    public let handler: MessageHandler
    private let known = Mutex<LockState?>(nil)

    public init(handler: MessageHandler) { self.handler = handler }

    /// What the lock's state was when it was last heard of; nil when that was never, or when there is no link any more.
    public var lastKnownState: LockState? { known.withLock { $0 } }

    /// Whoever connects knows the state from the beginning.
    public func ready() async { _ = try? await state() }

    public func disconnected(_ error: BLEError) async { known.withLock { $0 = nil } }

    /// Makes a key with the lock, and keeps it for all connections to come.
    public func pair() async throws(BLEError) { try await handler.pair() }

    /// Forgets the key.
    public func unpair() async throws(BLEError) { try await handler.unpair() }

    /// The lock's state.
    public func state() async throws -> LockState {
        let state: LockState = try await handler.send(Message(.getLockState)).flag() ? .unlocked : .locked
        known.withLock { $0 = state }
        return state
    }

    /// Locks or unlocks.
    public func setState(_ state: LockState) async throws(BLEError) {
        try await handler.send(Message(.setLockState, isEncrypted: true, payload: [state.rawValue]))
        known.withLock { $0 = state }
    }

    /// Sets the password for guests. Throws `invalidArgument` for an empty one.
    public func setPassword(_ password: String) async throws(BLEError) {
        guard !password.isEmpty else { throw BLEError(.invalidArgument, "a password has at least one character") }
        try await handler.send(Message(.setDevicePassword, isEncrypted: true, payload: Array(password.utf8)))
    }

    /// Unlocks with the password. Throws `wrongPassword`.
    public func unlockAsGuest(password: String) async throws {
        let request = Message(.guestUnlock, isEncrypted: true, payload: Array(password.utf8))
        guard try await handler.send(request).flag() else { throw LockError.wrongPassword }
        known.withLock { $0 = .unlocked }
    }
}
