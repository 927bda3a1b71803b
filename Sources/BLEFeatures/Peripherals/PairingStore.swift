internal import BLE

/// The pairings in a storage, whose changes take turns, so that none is lost.
actor PairingStore {
    private let storage: any PeripheralPairings
    /// The last change.
    private var last: Task<Void, Never>?

    init(_ storage: any PeripheralPairings) { self.storage = storage }

    /// Returns the keys, the oldest first. Throws `storageFailed`.
    func keys() async throws(BLEError) -> [MessageKey] { try await storage.keys() }

    /// Adds a key as the newest. Only `limit` keys are kept. Throws `storageFailed`.
    func remember(_ key: MessageKey, limit: Int) async throws(BLEError) {
        try await change { known in
            known.last == key ? known : Array((known.filter { $0 != key } + [key]).suffix(limit))
        }
    }

    /// Replaces the keys. Goes on if the caller is cancelled. Throws `storageFailed`.
    func change(_ change: @escaping @Sendable ([MessageKey]) -> [MessageKey]) async throws(BLEError) {
        let earlier = last
        let task = Task { [storage] () -> Result<Void, BLEError> in
            await earlier?.value
            do throws(BLEError) {
                let known = try await storage.keys()
                let changed = change(known)
                if changed != known { try await storage.setKeys(changed) }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        last = Task { _ = await task.value }
        try await task.value.get()
    }
}
