public import BLE

/// goTenna Mesh radios, as far as they are recognized: their service, and manufacturer data of exactly `FE FF 02`.
public struct GoTennaMesh: Vendor {
    /// "goTenna Mesh"
    public let name = "goTenna Mesh"
    /// Their service.
    public let services: Set<BluetoothUUID> = [BluetoothUUID(high: 0x1276_AAEE_DF5E_11E6, low: 0xBF01_FE55_1350_34F3)]

    /// The vendor.
    public init() {}

    /// Whether service and manufacturer data are theirs. (The first two bytes in the air are the company identifier.)
    public func claims(_ advertisement: Advertisement) -> Bool {
        !services.isDisjoint(with: advertisement.serviceUUIDs) && advertisement.manufacturerData == [0xFFFE: [0x02]]
    }

    /// The peripheral: its protocol is not public.
    public func device(_ peripheral: Peripheral) -> Peripheral { peripheral }
}
