/// A property of a peripheral as the system has it; see ``Peripheral/systemProperties()``.
public indirect enum SystemValue: Hashable, Sendable {
    /// A Boolean.
    case boolean(Bool)
    /// A whole number. A number that exceeds `Int` is the largest one.
    case integer(Int)
    /// A number with a fraction.
    case number(Double)
    /// Text, or the name of another object of the system.
    case text(String)
    /// Bytes.
    case bytes([UInt8])
    /// Several values.
    case list([SystemValue])
    /// Named values. Numbers that are names are decimal.
    case dictionary([String: SystemValue])
}

extension Peripheral {
    /// Returns what the system knows of the peripheral, under the system's own names: with BlueZ, all properties of its
    /// `org.bluez.Device1`. They differ between systems and their versions; what is common to all has a method of its
    /// own.
    ///
    /// Needs no link. Throws `peripheralNotFound`, and `notSupported` if the stack has no such properties.
    public func systemProperties() async throws(BLEError) -> [String: SystemValue] {
        try await central.systemProperties(id)
    }
}

extension Central {
    fileprivate func systemProperties(_ id: Peripheral.ID) async throws(BLEError) -> [String: SystemValue] {
        try checkRunning()
        do throws(BLEError) {
            return try await perform(timeout: configuration.operationTimeout, name: "reading the system's properties") {
                [weak self] (backend) throws(BLEError) in
                try await self?.waitWhileAdapterResets()
                return try await backend.systemProperties(id)
            }
        } catch {
            throw error.at(id)
        }
    }
}
