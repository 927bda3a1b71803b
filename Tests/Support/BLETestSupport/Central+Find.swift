public import BLE

extension Central {
    /// Scans until a peripheral is discovered: the one with that id, or any.
    public func find(_ id: Peripheral.ID? = nil) async throws -> Peripheral {
        for try await found in discoveries() where id == nil || found.peripheral.id == id { return found.peripheral }
        throw BLEError(.peripheralNotFound, "the scan ended")
    }
}
