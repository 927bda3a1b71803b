/// The content and the settings of an advertisement that this machine sends. A received advertisement is an
/// ``Advertisement``.
///
/// ```swift
/// let parameters = AdvertisingParameters(localName: "Strap", serviceUUIDs: [.heartRate], isDiscoverable: true)
/// print(parameters.budget())
/// try parameters.validate()
/// ```
public struct AdvertisingParameters: Hashable, Sendable {
    /// Whether centrals can connect. A beacon is not connectable.
    public var isConnectable: Bool
    /// The name, up to 29 bytes of UTF-8 in a scan response. An empty name is not advertised.
    ///
    /// BlueZ sends the name in the scan response. A connectable advertisement with a ``secondaryPHY`` has no scan
    /// response and contains the name itself.
    public var localName: String?
    /// The services to advertise, in the order of the packet. 2 bytes each, or 16 if the UUID has no 16-bit form.
    public var serviceUUIDs: [BluetoothUUID]
    /// The solicited services: the services that this machine looks for on a central. They need as many bytes as
    /// ``serviceUUIDs``.
    public var solicitedServiceUUIDs: [BluetoothUUID]
    /// Service data by service UUID. BlueZ does not accept empty data.
    public var serviceData: [BluetoothUUID: [UInt8]]
    /// Manufacturer specific data by company identifier, without the identifier's two bytes. BlueZ does not accept
    /// empty data.
    public var manufacturerData: [UInt16: [UInt8]]
    /// The external appearance. BlueZ does not advertise 0xFFFF.
    public var appearance: Appearance?
    /// Whether the flags state that this machine can be discovered. Nil for the adapter's setting. An advertisement
    /// that is not connectable cannot be discoverable.
    public var isDiscoverable: Bool?
    /// The time during which this machine is discoverable (limited discoverable mode). Nil for no time limit.
    ///
    /// Whole seconds, 1 to 65,535, and at most ``duration``. Requires that ``isDiscoverable`` is true.
    public var discoverableDuration: Duration?
    /// The time after which advertising ends. Whole seconds, 1 to 65,535. Nil to advertise until stopped.
    public var duration: Duration?
    /// The shortest and the longest advertising interval, 20 ms to 10,485 s. Nil for the system's choice.
    ///
    /// BlueZ uses whole milliseconds and omits fractions. Before 5.77, only an experimental bluetoothd uses the
    /// interval.
    public var interval: ClosedRange<Duration>?
    /// The requested transmit power in dBm, −127 to 20. Nil for the controller's choice.
    ///
    /// The controller may choose another power. Before 5.77, only an experimental bluetoothd uses this property.
    public var txPower: Int?
    /// Whether to advertise the transmit power.
    public var includesTxPower: Bool
    /// The PHY of extended advertising. Nil for legacy advertising, which every central receives.
    public var secondaryPHY: AdvertisingPHY?
    /// Structures of types that no other property covers, one of each type. BlueZ does not accept empty structures.
    public var structures: [AdvertisingStructure]
    /// Additional data for active scans, besides the name. See ``ScanResponse`` for its requirements.
    public var scanResponse: ScanResponse

    /// Creates parameters. By default, they describe a connectable advertisement without content.
    public init(
        isConnectable: Bool = true, localName: String? = nil, serviceUUIDs: [BluetoothUUID] = [],
        solicitedServiceUUIDs: [BluetoothUUID] = [], serviceData: [BluetoothUUID: [UInt8]] = [:],
        manufacturerData: [UInt16: [UInt8]] = [:], appearance: Appearance? = nil, isDiscoverable: Bool? = nil,
        discoverableDuration: Duration? = nil, duration: Duration? = nil, interval: ClosedRange<Duration>? = nil,
        txPower: Int? = nil, includesTxPower: Bool = false, secondaryPHY: AdvertisingPHY? = nil,
        structures: [AdvertisingStructure] = [], scanResponse: ScanResponse = ScanResponse()
    ) {
        self.isConnectable = isConnectable
        self.localName = localName
        self.serviceUUIDs = serviceUUIDs
        self.solicitedServiceUUIDs = solicitedServiceUUIDs
        self.serviceData = serviceData
        self.manufacturerData = manufacturerData
        self.appearance = appearance
        self.isDiscoverable = isDiscoverable
        self.discoverableDuration = discoverableDuration
        self.duration = duration
        self.interval = interval
        self.txPower = txPower
        self.includesTxPower = includesTxPower
        self.secondaryPHY = secondaryPHY
        self.structures = structures
        self.scanResponse = scanResponse
    }
}

/// The PHY on which extended advertising sends its data (Core Specification 5.4, volume 6, part B, section 2.3.1).
public enum AdvertisingPHY: String, Hashable, Codable, Sendable, CaseIterable {
    /// LE 1M.
    case le1M
    /// LE 2M.
    case le2M
    /// LE Coded, which also carries the primary advertisements. For a long range.
    case coded
}

extension AdvertisingParameters {
    /// Creates parameters with the content of an advertisement, such as that of a ``PeripheralDefinition``.
    ///
    /// UUIDs are sorted. The advertisement is connectable unless `advertisement` states otherwise. Its power is both
    /// requested and advertised. From the flags, only the discoverable mode is used, and only if the device is
    /// connectable. From ``Advertisement/structures``, only the structures that ``AdvertisingElement`` does not decode
    /// are used. The stated advertising interval is omitted, because BlueZ cannot advertise it.
    public init(_ advertisement: Advertisement) {
        let isConnectable = advertisement.isConnectable ?? true
        let discoverable: AdvertisingFlags = [.limitedDiscoverable, .generalDiscoverable]
        self.init(
            isConnectable: isConnectable, localName: advertisement.localName,
            serviceUUIDs: advertisement.serviceUUIDs.sorted(),
            solicitedServiceUUIDs: advertisement.solicitedServiceUUIDs.sorted(),
            serviceData: advertisement.serviceData, manufacturerData: advertisement.manufacturerData,
            appearance: advertisement.appearance,
            isDiscoverable: isConnectable ? advertisement.flags.map { !$0.isDisjoint(with: discoverable) } : nil,
            txPower: advertisement.txPower, includesTxPower: advertisement.txPower != nil,
            structures: advertisement.structures.filter { structure in
                if case .raw? = try? AdvertisingElement(structure) { true } else { false }
            })
    }

    /// Parameters of a beacon that advertises a value and is not connectable. Throws the errors of the value's
    /// ``AdvertisementEncodable/encode(into:)``.
    ///
    /// ```swift
    /// let parameters = try AdvertisingParameters.beacon(
    ///     IBeacon(uuid: office, major: 1, minor: 2, measuredPower: -59))
    /// ```
    public static func beacon(
        _ value: some AdvertisementEncodable
    ) throws(AdvertisementFormatError) -> AdvertisingParameters {
        var advertisement = try value.advertisement()
        advertisement.isConnectable = false
        return AdvertisingParameters(advertisement)
    }

    /// Parameters of a beacon that advertises manufacturer specific data and is not connectable. The company
    /// identifier 0xFFFF is for tests.
    public static func beacon(company: UInt16, data: [UInt8]) -> AdvertisingParameters {
        AdvertisingParameters(isConnectable: false, manufacturerData: [company: data])
    }

    /// Parameters of a beacon that advertises service data and is not connectable.
    public static func beacon(service: BluetoothUUID, data: [UInt8]) -> AdvertisingParameters {
        AdvertisingParameters(isConnectable: false, serviceData: [service: data])
    }
}

/// The data that this machine returns to active scans, besides its name: the scan response of legacy advertising, 31
/// bytes.
///
/// BlueZ sends it from 5.80 on. Earlier versions ignore it without an error, as seen with 5.66: put data that centrals
/// must receive into the advertisement.
public struct ScanResponse: Hashable, Sendable {
    /// Services, in the order of the packet.
    public var serviceUUIDs: [BluetoothUUID]
    /// Solicited services.
    public var solicitedServiceUUIDs: [BluetoothUUID]
    /// Service data by service UUID. BlueZ does not accept empty data.
    public var serviceData: [BluetoothUUID: [UInt8]]
    /// Manufacturer specific data by company identifier. BlueZ does not accept empty data.
    public var manufacturerData: [UInt16: [UInt8]]
    /// Structures of types that no other property covers, one of each type. BlueZ does not accept empty structures.
    public var structures: [AdvertisingStructure]

    /// Creates a scan response, empty by default.
    public init(
        serviceUUIDs: [BluetoothUUID] = [], solicitedServiceUUIDs: [BluetoothUUID] = [],
        serviceData: [BluetoothUUID: [UInt8]] = [:], manufacturerData: [UInt16: [UInt8]] = [:],
        structures: [AdvertisingStructure] = []
    ) {
        self.serviceUUIDs = serviceUUIDs
        self.solicitedServiceUUIDs = solicitedServiceUUIDs
        self.serviceData = serviceData
        self.manufacturerData = manufacturerData
        self.structures = structures
    }

    /// Whether the scan response has no content.
    public var isEmpty: Bool { self == ScanResponse() }
}
