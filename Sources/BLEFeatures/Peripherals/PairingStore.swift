internal import BLE

/// The pairings in a storage. Changes run one after another, so that none is lost.
actor PairingStore {
    private let storage: any PeripheralPairings
    /// The last change.
    private var last: Task<Void, Never>?

    init(_ storage: any PeripheralPairings) { self.storage = storage }

    /// Returns the keys, the oldest first. Throws `storageFailed`.
    func keys() async throws(BLEError) -> [MessageKey] { try await storage.keys() }

    /// Adds a key, unless it is stored already.
    ///
    /// Throws `MessageRejection.tooManyPairings` if there are `limit` others, and `storageFailed`.
    func remember(_ key: MessageKey, limit: Int) async throws {
        let hasRoom = try await change { known in
            if known.contains(key) { return known }
            return known.count < limit ? known + [key] : nil
        }
        guard hasRoom else { throw MessageRejection.tooManyPairings }
    }

    /// Replaces the keys with the result of `change`, unless that is nil. Returns false if it is nil. Continues if the
    /// caller is cancelled. Throws `storageFailed`.
    @discardableResult
    func change(_ change: @escaping @Sendable ([MessageKey]) -> [MessageKey]?) async throws(BLEError) -> Bool {
        let earlier = last
        let task = Task { [storage] () -> Result<Bool, BLEError> in
            await earlier?.value
            do throws(BLEError) {
                let known = try await storage.keys()
                guard let changed = change(known) else { return .success(false) }
                if changed != known { try await storage.setKeys(changed) }
                return .success(true)
            } catch {
                return .failure(error)
            }
        }
        last = Task { _ = await task.value }
        return try await task.value.get()
    }
}
