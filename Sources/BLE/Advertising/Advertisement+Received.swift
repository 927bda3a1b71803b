extension Advertisement {
    /// Decodes what a radio has received. Structures that are malformed, or have no end, are omitted.
    package init(received data: [UInt8]) {
        self.init()
        var structures: [AdvertisingStructure] = []
        Self.forEachStructure(of: data[...]) { type, bytes in
            structures.append(AdvertisingStructure(type: type, bytes: Array(bytes)))
            return true
        }
        if let whole = try? Advertisement(AdvertisingData(structures: structures)) {
            self = whole
        } else {
            let decodable = structures.filter { (try? AdvertisingElement($0)) != nil }
            self = (try? Advertisement(AdvertisingData(structures: decodable))) ?? Advertisement()
            self.structures = structures
        }
    }

    /// Whether the structures are those of what a radio has received.
    package func hasStructures(of data: ArraySlice<UInt8>) -> Bool {
        let structures = structures
        var count = 0
        let areEqual = Self.forEachStructure(of: data) { type, bytes in
            guard count < structures.count, structures[count].type == type, structures[count].bytes[...] == bytes else {
                return false
            }
            count += 1
            return true
        }
        return areEqual && count == structures.count
    }

    /// Calls a function with the type and the bytes of each structure that has an end, until it returns false. Returns
    /// whether it never has.
    @discardableResult
    private static func forEachStructure(
        of data: ArraySlice<UInt8>, _ body: (UInt8, ArraySlice<UInt8>) -> Bool
    ) -> Bool {
        var rest = data
        while rest.count > 1 {
            let length = Int(rest[rest.startIndex])
            // What a sender fills its packet up with is skipped: the scan response follows.
            guard length > 0 else {
                rest = rest.dropFirst()
                continue
            }
            guard length < rest.count else { break }
            guard body(rest[rest.startIndex + 1], rest.dropFirst(2).prefix(length - 1)) else { return false }
            rest = rest.dropFirst(1 + length)
        }
        return true
    }

    /// The maximum number of service UUIDs and of services with data that several packets add up to. Of a sender that
    /// puts others into each packet, those of the last one are kept.
    private static let (maximumServices, maximumServiceData) = (64, 32)

    /// Adds what a later packet has. What it lacks may have been in the other packet of a pair, and is kept.
    package mutating func merge(_ later: Advertisement) {
        localName = later.localName ?? localName
        txPower = later.txPower ?? txPower
        if !later.services.isEmpty {
            services.formUnion(later.services)
            if services.count > Self.maximumServices { services = later.services }
        }
        if !later.companyData.isEmpty { companyData = later.companyData }
        if !later.dataOfServices.isEmpty {
            dataOfServices.merge(later.dataOfServices)
            if dataOfServices.count > Self.maximumServiceData { dataOfServices = later.dataOfServices }
        }
        appearance = later.appearance ?? appearance
        flags = later.flags ?? flags
        if !later.solicitedServiceUUIDs.isEmpty { solicitedServiceUUIDs = later.solicitedServiceUUIDs }
        advertisingInterval = later.advertisingInterval ?? advertisingInterval
        structures = later.structures
    }
}
