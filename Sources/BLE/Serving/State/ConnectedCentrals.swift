/// The centrals with a link, and the ATT MTU of each as far as it is known.
struct ConnectedCentrals {
    private var attMTUs: [DeviceID: Int?] = [:]

    var all: Set<DeviceID> { Set(attMTUs.keys) }

    func contains(_ central: DeviceID) -> Bool { attMTUs[central] != nil }

    func attMTU(of central: DeviceID) -> Int? { attMTUs[central] ?? nil }

    /// The largest ATT MTU. Nil if that of a link is not known.
    var largestATTMTU: Int? { attMTUs.values.contains(nil) ? nil : attMTUs.values.compactMap(\.self).max() }

    /// Adds a central, and what has become known of its link. Returns whether it is new.
    mutating func add(_ central: DeviceID, attMTU: Int? = nil) -> Bool {
        let isNew = !contains(central)
        if isNew || attMTU != nil { attMTUs.updateValue(attMTU, forKey: central) }
        return isNew
    }

    /// Returns whether it was connected.
    mutating func remove(_ central: DeviceID) -> Bool { attMTUs.removeValue(forKey: central) != nil }
}
