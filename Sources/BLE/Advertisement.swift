/// What a peripheral says of itself without being asked, united over the packets heard so far.
public struct Advertisement: Hashable, Sendable {
    /// The advertised name; where none was heard, the name that the system remembers.
    public var localName: String?
    /// Received signal strength in dBm, −127 to 20. Nil when no packet was heard, only remembered.
    public var rssi: Int?
    /// Advertised transmit power in dBm, −127 to 127.
    public var txPower: Int?
    /// Advertised service UUIDs. BlueZ adds those it found on an earlier connection.
    public var serviceUUIDs: Set<BluetoothUUID>
    /// Manufacturer specific data by company identifier, without the identifier's two bytes.
    public var manufacturerData: [UInt16: [UInt8]]
    /// Service data by service UUID.
    public var serviceData: [BluetoothUUID: [UInt8]]
    /// The appearance value (Assigned Numbers, section 2.6).
    public var appearance: UInt16?

    /// An advertisement. Empty unless said otherwise.
    public init(
        localName: String? = nil, rssi: Int? = nil, txPower: Int? = nil, serviceUUIDs: Set<BluetoothUUID> = [],
        manufacturerData: [UInt16: [UInt8]] = [:], serviceData: [BluetoothUUID: [UInt8]] = [:],
        appearance: UInt16? = nil
    ) {
        self.localName = localName
        self.rssi = rssi
        self.txPower = txPower
        self.serviceUUIDs = serviceUUIDs
        self.manufacturerData = manufacturerData
        self.serviceData = serviceData
        self.appearance = appearance
    }
}
