public import BLE

/// Stores the pairing keys that a device has agreed on with centrals.
public protocol PeripheralPairings: Sendable {
    /// Returns the keys, the oldest first. Throws `storageFailed`.
    func keys() async throws(BLEError) -> [MessageKey]
    /// Replaces the keys. Throws `storageFailed`.
    func setKeys(_ keys: [MessageKey]) async throws(BLEError)
}

/// A storage in memory for a device's pairing keys, which lasts as long as this object.
public actor MemoryPeripheralPairings: PeripheralPairings {
    private var current: [MessageKey]

    /// Creates a storage, without keys by default.
    public init(_ keys: [MessageKey] = []) { current = keys }

    /// Returns the keys.
    public func keys() -> [MessageKey] { current }
    /// Replaces the keys.
    public func setKeys(_ keys: [MessageKey]) { current = keys }
}
