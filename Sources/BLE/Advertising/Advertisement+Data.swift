extension Advertisement {
    /// Creates an advertisement from the structures of one packet.
    ///
    /// A complete name takes precedence over a shortened one. Lists of services are merged; of other repeated elements,
    /// the last one counts. Throws the errors of ``AdvertisingElement/init(_:)``.
    public init(_ data: AdvertisingData) throws(AdvertisingDataError) {
        self.init(structures: data.structures)
        var isNameComplete = false
        // Collected first: a proxy may send a packet of hundreds of structures.
        var rare = Collected()
        var uuidsOfServices: [BluetoothUUID] = []
        var (tableOfServices, tableOfCompanies) = (DataTable<BluetoothUUID>(), DataTable<UInt16>())
        for element in try data.elements() {
            switch element {
            case .localName(let name, let isComplete):
                if isComplete || !isNameComplete { localName = name }
                isNameComplete = isNameComplete || isComplete
            case .txPower(let power): txPower = power
            case .serviceUUIDs(let uuids, _, _): uuidsOfServices += uuids
            case .serviceData(let uuid, let bytes, _): tableOfServices.set(uuid, bytes)
            case .manufacturerData(let company, let bytes): tableOfCompanies.set(company, bytes)
            case .appearance(let value): appearance = value
            case .flags(let value): flags = value
            case .solicitedServiceUUIDs, .advertisingInterval: rare.add(element)
            case .raw: break
            }
        }
        if !uuidsOfServices.isEmpty { services = UUIDList(uuidsOfServices) }
        if !tableOfServices.isEmpty { dataOfServices = tableOfServices }
        if !tableOfCompanies.isEmpty { companyData = tableOfCompanies }
        adopt(rare)
    }

    /// Stores the received AD structures, and decodes the elements that no other property of bluetoothd reports.
    ///
    /// These are the solicited services and the advertising interval. A malformed structure is kept, but not decoded.
    package mutating func adopt(_ structures: [AdvertisingStructure]) {
        self.structures = structures
        var rare = Collected()
        for structure in structures {
            if let element = try? AdvertisingElement(structure) { rare.add(element) }
        }
        adopt(rare)
    }

    /// The elements that are rare.
    private struct Collected {
        private(set) var solicitedServiceUUIDs: Set<BluetoothUUID> = []
        private(set) var advertisingInterval: Duration?

        mutating func add(_ element: AdvertisingElement) {
            switch element {
            case .solicitedServiceUUIDs(let uuids, _): solicitedServiceUUIDs.formUnion(uuids)
            case .advertisingInterval(let units): advertisingInterval = .microseconds(625 * Int64(units))
            default: break
            }
        }
    }

    private mutating func adopt(_ rare: Collected) {
        solicitedServiceUUIDs = rare.solicitedServiceUUIDs
        advertisingInterval = rare.advertisingInterval
    }

    /// Encodes the advertisement as AD structures.
    ///
    /// The order is flags, services, solicited services, service data, manufacturer data, name, power, appearance,
    /// interval, and then ``structures`` of other types. Lists are sorted, and each UUID is sent in its shortest form.
    ///
    /// Throws `invalidValue` for a power out of range and for an interval that is not a multiple of 625 µs, and
    /// `structureTooLong` for an element that does not fit one structure. The length of the packet is checked only by
    /// ``AdvertisingData/encode(limit:)``.
    public func data() throws(AdvertisingDataError) -> AdvertisingData {
        var elements: [AdvertisingElement] = []
        if let flags { elements.append(.flags(flags)) }
        for width in UUIDWidth.allCases {
            let uuids = serviceUUIDs.filter { UUIDWidth($0) == width }.sorted()
            if !uuids.isEmpty { elements.append(.serviceUUIDs(uuids, width: width, isComplete: true)) }
        }
        for width in UUIDWidth.allCases {
            let uuids = solicitedServiceUUIDs.filter { UUIDWidth($0) == width }.sorted()
            if !uuids.isEmpty { elements.append(.solicitedServiceUUIDs(uuids, width: width)) }
        }
        elements += serviceData.sorted { $0.key < $1.key }.map { .serviceData($0, $1) }
        elements += manufacturerData.sorted { $0.key < $1.key }.map { .manufacturerData(company: $0, $1) }
        if let localName { elements.append(.localName(localName)) }
        if let txPower { elements.append(.txPower(txPower)) }
        if let appearance { elements.append(.appearance(appearance)) }
        if let advertisingInterval {
            guard let units = advertisingInterval.advertisingUnits else {
                throw .invalidValue(type: ADType.advertisingInterval)
            }
            elements.append(.advertisingInterval(units: units))
        }
        for structure in structures {
            if case .raw? = try? AdvertisingElement(structure) { elements.append(.raw(structure)) }
        }
        return try AdvertisingData(elements)
    }
}

extension Duration {
    /// The duration in units of 625 µs. Nil if it is not a multiple of 625 µs or does not fit in 32 bits.
    fileprivate var advertisingUnits: UInt32? {
        let unit: Int64 = 625_000_000_000_000
        guard components.seconds >= 0, components.seconds <= Int64(UInt32.max), components.attoseconds % unit == 0
        else {
            return nil
        }
        return UInt32(exactly: components.seconds * 1600 + components.attoseconds / unit)
    }
}
