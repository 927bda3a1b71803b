public import BLE

/// goTenna Mesh radios, recognized by their service and by manufacturer data of exactly `FE FF 02`.
public struct GoTennaMesh: Vendor {
    /// The vendor's name, "goTenna Mesh".
    public let name = "goTenna Mesh"
    /// The service that the radios advertise.
    public let services: Set<BluetoothUUID> = [BluetoothUUID(high: 0x1276_AAEE_DF5E_11E6, low: 0xBF01_FE55_1350_34F3)]

    /// Creates the vendor.
    public init() {}

    /// Whether the advertisement contains the service and the manufacturer data, whose first two bytes are the company
    /// identifier.
    public func claims(_ advertisement: Advertisement) -> Bool {
        !services.isDisjoint(with: advertisement.serviceUUIDs) && advertisement.manufacturerData == [0xFFFE: [0x02]]
    }

    /// Returns the peripheral itself, since the protocol of the radios is not public.
    public func device(_ peripheral: Peripheral) -> Peripheral { peripheral }
}
