extension Advertisement {
    /// Decodes what a radio has received. Structures that are malformed, or have no end, are omitted.
    package init(received data: [UInt8]) {
        self.init()
        var (structures, position): ([AdvertisingStructure], Int) = ([], 0)
        while position + 1 < data.count {
            let end = position + 1 + Int(data[position])
            // What a sender fills its packet up with is skipped: the scan response follows.
            guard data[position] > 0 else {
                position += 1
                continue
            }
            guard end <= data.count else { break }
            structures.append(AdvertisingStructure(type: data[position + 1], bytes: Array(data[position + 2..<end])))
            position = end
        }
        if let whole = try? Advertisement(AdvertisingData(structures: structures)) {
            self = whole
        } else {
            let decodable = structures.filter { (try? AdvertisingElement($0)) != nil }
            self = (try? Advertisement(AdvertisingData(structures: decodable))) ?? Advertisement()
            self.structures = structures
        }
    }

    /// The maximum number of service UUIDs and of services with data that several packets add up to. Of a sender that
    /// puts others into each packet, those of the last one are kept.
    private static let (maximumServices, maximumServiceData) = (64, 32)

    /// Adds what a later packet has. What it lacks may have been in the other packet of a pair, and is kept.
    package mutating func merge(_ later: Advertisement) {
        localName = later.localName ?? localName
        txPower = later.txPower ?? txPower
        if !later.serviceUUIDs.isEmpty {
            serviceUUIDs.formUnion(later.serviceUUIDs)
            if serviceUUIDs.count > Self.maximumServices { serviceUUIDs = later.serviceUUIDs }
        }
        if !later.manufacturerData.isEmpty { manufacturerData = later.manufacturerData }
        if !later.serviceData.isEmpty {
            serviceData.merge(later.serviceData) { $1 }
            if serviceData.count > Self.maximumServiceData { serviceData = later.serviceData }
        }
        appearance = later.appearance ?? appearance
        flags = later.flags ?? flags
        if !later.solicitedServiceUUIDs.isEmpty { solicitedServiceUUIDs = later.solicitedServiceUUIDs }
        advertisingInterval = later.advertisingInterval ?? advertisingInterval
        structures = later.structures
    }
}
