public import BLE

/// ELM327 adapters, recognized by the service that many such adapters advertise.
public struct ELM327Vendor: Vendor {
    /// "ELM327"
    public let name = "ELM327"
    /// FFF0, which is nobody's in particular: other gadgets advertise it, too.
    public let services: Set<BluetoothUUID> = [BluetoothUUID(0xFFF0)]

    /// The vendor.
    public init() {}

    /// Whether the service is advertised.
    public func claims(_ advertisement: Advertisement) -> Bool {
        !services.isDisjoint(with: advertisement.serviceUUIDs)
    }

    /// The adapter.
    public func device(_ peripheral: Peripheral) -> ELM327 { ELM327(peripheral) }
}
