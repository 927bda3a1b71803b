/// What a peripheral says of itself without being asked, united over the packets heard so far.
public struct Advertisement: Hashable, Sendable {
    /// The advertised name; where none was heard, the name that the system remembers, or that the peripheral told on a
    /// connection.
    public var localName: String?
    /// Received signal strength in dBm, −127 to 20. Nil when no packet was heard, only remembered, or when the controller
    /// could not tell, for which it says 127.
    public var rssi: Int? {
        didSet { rssi = Self.known(rssi) }
    }
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
    /// The class of device (Assigned Numbers, section 2.8), 24 bits. Only a Classic device has one.
    public var deviceClass: UInt32?
    /// What kind of address the device uses.
    public var addressType: AddressType?
    /// Whether the device can be connected to. Nil when the system does not tell, as BlueZ does not.
    public var isConnectable: Bool?
    /// The advertised flags. Nil when there were none, or the system does not tell.
    public var flags: AdvertisingFlags?
    /// Services that the device looks for on a central.
    public var solicitedServiceUUIDs: Set<BluetoothUUID>
    /// How often the device says it advertises, in steps of 625 µs.
    public var advertisingInterval: Duration?
    /// AD structures as they were received, as far as the system shows them: an experimental bluetoothd gives those that none of
    /// its other properties tells, ordered by type; others none.
    public var structures: [AdvertisingStructure]

    /// An advertisement. Empty unless said otherwise.
    public init(
        localName: String? = nil, rssi: Int? = nil, txPower: Int? = nil, serviceUUIDs: Set<BluetoothUUID> = [],
        manufacturerData: [UInt16: [UInt8]] = [:], serviceData: [BluetoothUUID: [UInt8]] = [:],
        appearance: UInt16? = nil, deviceClass: UInt32? = nil, addressType: AddressType? = nil,
        isConnectable: Bool? = nil, flags: AdvertisingFlags? = nil, solicitedServiceUUIDs: Set<BluetoothUUID> = [],
        advertisingInterval: Duration? = nil, structures: [AdvertisingStructure] = []
    ) {
        self.localName = localName
        self.rssi = Self.known(rssi)
        self.txPower = txPower
        self.serviceUUIDs = serviceUUIDs
        self.manufacturerData = manufacturerData
        self.serviceData = serviceData
        self.appearance = appearance
        self.deviceClass = deviceClass
        self.addressType = addressType
        self.isConnectable = isConnectable
        self.flags = flags
        self.solicitedServiceUUIDs = solicitedServiceUUIDs
        self.advertisingInterval = advertisingInterval
        self.structures = structures
    }

    /// 127 says that there is no strength (Core Specification 5.4, volume 4, part E, section 7.7.65.2).
    private static func known(_ rssi: Int?) -> Int? { rssi == 127 ? nil : rssi }
}

/// The two kinds of device addresses (Core Specification 5.4, volume 6, part B, section 1.3).
public enum AddressType: String, Hashable, Sendable {
    /// Assigned by the manufacturer; what Classic devices use, too.
    case `public`
    /// Made up by the device, for good or for a while.
    case random
}

/// The two kinds of Bluetooth radio.
public enum Transport: String, Hashable, Sendable, CaseIterable {
    /// Bluetooth Low Energy.
    case le
    /// Bluetooth Classic, BR/EDR.
    case classic
    /// Both.
    case any
}
