extension Advertisement {
    /// What a packet says. Of a whole and a shortened name the whole one counts, of repeated elements the last, but for lists of
    /// services, which are united. Throws what ``AdvertisingElement/init(_:)`` throws.
    public init(_ data: AdvertisingData) throws(AdvertisingDataError) {
        self.init(structures: data.structures)
        var isNameComplete = false
        for element in try data.elements() {
            switch element {
            case .localName(let name, let isComplete):
                if isComplete || !isNameComplete { localName = name }
                isNameComplete = isNameComplete || isComplete
            case .txPower(let power): txPower = power
            case .serviceUUIDs(let uuids, _, _): serviceUUIDs.formUnion(uuids)
            case .serviceData(let uuid, let bytes, _): serviceData[uuid] = bytes
            case .manufacturerData(let company, let bytes): manufacturerData[company] = bytes
            case .appearance(let value): appearance = value
            case .flags(let value): flags = value
            case .solicitedServiceUUIDs, .advertisingInterval: adopt(element)
            case .raw: break
            }
        }
    }

    /// Takes over what structures tell that no property of bluetoothd does. A malformed one is only kept as it is.
    package mutating func adopt(_ structures: [AdvertisingStructure]) {
        self.structures = structures
        solicitedServiceUUIDs = []
        advertisingInterval = nil
        for structure in structures {
            if let element = try? AdvertisingElement(structure) { adopt(element) }
        }
    }

    private mutating func adopt(_ element: AdvertisingElement) {
        switch element {
        case .solicitedServiceUUIDs(let uuids, _): solicitedServiceUUIDs.formUnion(uuids)
        case .advertisingInterval(let units): advertisingInterval = .microseconds(625 * Int64(units))
        default: break
        }
    }

    /// The packet that says this: flags, services, solicited services, service data, manufacturer data, name, power, appearance,
    /// interval, and then ``structures`` of other types. Lists are ordered, and each UUID is sent as short as it can be.
    ///
    /// Throws `invalidValue` for a power out of range and an interval that is no multiple of 625 µs, `structureTooLong` for what
    /// does not fit a structure. Whether the packet is short enough, only ``AdvertisingData/encode(limit:)`` tells.
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
    /// How many times 625 µs it is, nil when that is no number of 32 bits.
    fileprivate var advertisingUnits: UInt32? {
        let unit: Int64 = 625_000_000_000_000
        guard components.seconds >= 0, components.seconds <= Int64(UInt32.max), components.attoseconds % unit == 0
        else {
            return nil
        }
        return UInt32(exactly: components.seconds * 1600 + components.attoseconds / unit)
    }
}
