public import BLE

/// ELM327 adapters, recognized by the service that many such adapters advertise.
public struct ELM327Vendor: Vendor {
    /// The vendor's name, "ELM327".
    public let name = "ELM327"
    /// The service FFF0. Other devices advertise it, too.
    public let services: Set<BluetoothUUID> = [BluetoothUUID(0xFFF0)]

    /// Creates the vendor.
    public init() {}

    /// Whether the advertisement contains the service.
    public func claims(_ advertisement: Advertisement) -> Bool {
        !services.isDisjoint(with: advertisement.serviceUUIDs)
    }

    /// Returns the adapter for a peripheral.
    public func device(_ peripheral: Peripheral) -> ELM327 { ELM327(peripheral) }
}
