extension AdvertisingParameters {
    /// Checks that the parameters can be advertised.
    ///
    /// Throws `invalidArgument` for the first property that is out of range, conflicts with another, or does not fit.
    /// The error contains the name of the property and a remedy. BlueZ itself does not name the property: it fails with
    /// `org.bluez.Error.Failed`, shortens the name, or ignores the property.
    public func validate() throws(BLEError) {
        try validateTimes()
        try validatePower()
        try validateDiscoverability()
        try validateContent()
        try validateStructures()
        try validateLengths()
    }

    private func validateTimes() throws(BLEError) {
        for (name, time) in [("duration", duration), ("discoverableDuration", discoverableDuration)] {
            guard let time else { continue }
            let (seconds, attoseconds) = time.components
            guard attoseconds == 0, (1...65535).contains(seconds) else {
                throw Self.invalid("`\(name)` is \(time)", "Use whole seconds, 1 to 65,535, or nil for no limit.")
            }
        }
        if let duration, let discoverableDuration, discoverableDuration > duration {
            throw Self.invalid(
                "`discoverableDuration` is \(discoverableDuration), longer than `duration`, which is \(duration)",
                "Shorten `discoverableDuration`, or extend `duration`.")
        }
        if let interval, interval.lowerBound < .milliseconds(20) || interval.upperBound > .seconds(10485) {
            throw Self.invalid(
                "`interval` is \(interval.lowerBound) to \(interval.upperBound)", "Use 20 ms to 10,485 s.")
        }
    }

    private func validatePower() throws(BLEError) {
        if let txPower, !(-127...20).contains(txPower) {
            throw Self.invalid("`txPower` is \(txPower) dBm", "Use −127 to 20 dBm, or nil for the controller's choice.")
        }
    }

    private func validateDiscoverability() throws(BLEError) {
        if !isConnectable, isDiscoverable == true {
            throw Self.invalid(
                "`isDiscoverable` is true, but the advertisement is not connectable",
                "Set `isDiscoverable` to nil, or `isConnectable` to true.")
        }
        if discoverableDuration != nil, isDiscoverable != true {
            throw Self.invalid(
                "`discoverableDuration` is set, but `isDiscoverable` is not true", "Set `isDiscoverable` to true.")
        }
    }

    private func validateContent() throws(BLEError) {
        if localName?.utf8.contains(0) == true {
            throw Self.invalid("`localName` contains a zero byte", "Remove it from the name.")
        }
        if appearance?.rawValue == 0xFFFF {
            throw Self.invalid("`appearance` is 0xFFFF, which cannot be advertised", "Use nil for no appearance.")
        }
        try Self.validateContent(serviceUUIDs, solicitedServiceUUIDs, serviceData, manufacturerData, in: "")
        try Self.validateContent(
            scanResponse.serviceUUIDs, scanResponse.solicitedServiceUUIDs, scanResponse.serviceData,
            scanResponse.manufacturerData, in: "scanResponse.")
        if isConnectable, secondaryPHY != nil, !scanResponse.isEmpty {
            throw Self.invalid(
                "`scanResponse` is set, but a connectable advertisement with a `secondaryPHY` has none",
                "Put its content into the advertisement, or set `secondaryPHY` to nil.")
        }
    }

    private static func validateContent(
        _ serviceUUIDs: [BluetoothUUID], _ solicitedServiceUUIDs: [BluetoothUUID],
        _ serviceData: [BluetoothUUID: [UInt8]], _ manufacturerData: [UInt16: [UInt8]], in place: String
    ) throws(BLEError) {
        for (name, uuids) in [("serviceUUIDs", serviceUUIDs), ("solicitedServiceUUIDs", solicitedServiceUUIDs)] {
            var seen: Set<BluetoothUUID> = []
            if let uuid = uuids.first(where: { !seen.insert($0).inserted }) {
                throw invalid("`\(place)\(name)` contains \(uuid) twice", "Remove one of them.")
            }
        }
        if let uuid = serviceData.filter({ $0.value.isEmpty }).keys.min() {
            throw invalid(
                "`\(place)serviceData` of \(uuid) is empty, which cannot be advertised",
                "Add a byte, or advertise the service in `serviceUUIDs`.")
        }
        if let company = manufacturerData.filter({ $0.value.isEmpty }).keys.min() {
            throw invalid(
                "`\(place)manufacturerData` of \(hex(company)) is empty, which cannot be advertised", "Add a byte.")
        }
    }

    private func validateStructures() throws(BLEError) {
        try Self.validate(structures, in: "")
        try Self.validate(scanResponse.structures, in: "scanResponse.")
    }

    private static func validate(_ structures: [AdvertisingStructure], in place: String) throws(BLEError) {
        var types: Set<UInt8> = []
        for structure in structures {
            let name = "`\(place)structures` contains type 0x\(Hex.string([structure.type]))"
            guard !isReserved(structure.type) else {
                throw invalid(
                    "\(name), which cannot be advertised",
                    "Use the property for it, such as `serviceData`. Types without one cannot be advertised.")
            }
            guard types.insert(structure.type).inserted else {
                throw invalid("\(name) twice", "Use one structure of each type.")
            }
            guard !structure.bytes.isEmpty else {
                throw invalid("\(name) without bytes, which cannot be advertised", "Add a byte, or remove it.")
            }
        }
    }

    private func validateLengths() throws(BLEError) {
        let budget = budget()
        if let field = budget.firstOverflowing {
            let space = budget.space(in: field.packet)
            let packet = field.packet == .advertisement ? "advertisement" : "scan response"
            let excess = space.used - space.capacity
            var remedy = "Shorten it by \(excess) \(excess == 1 ? "byte" : "bytes")"
            if field.packet == .advertisement { remedy += ", or remove as many from other fields" }
            if secondaryPHY == nil { remedy += ", or use extended advertising with a `secondaryPHY`" }
            throw Self.invalid(
                "the \(field.name) does not fit: the \(packet) has \(space.used) bytes, and at most \(space.capacity) "
                    + "are possible", remedy + ".")
        }
        // A scannable extended advertisement has no data besides the scan response.
        if secondaryPHY != nil, budget.scanResponse.used > 0, budget.advertisement.used > 0 {
            throw Self.invalid(
                "`localName` needs a scan response, which an extended advertisement that is not connectable can only "
                    + "have without other content",
                "Remove `localName` or `secondaryPHY`, or set `isConnectable` to true.")
        }
    }

    /// Whether bluetoothd rejects the AD type as a raw structure (bluez, src/shared/ad.c, `type_reject_list`).
    private static func isReserved(_ type: UInt8) -> Bool {
        switch type {
        case 0x01...0x0A, 0x0D...0x12, 0x14...0x23, 0x27...0x2B, 0x3D, 0xFF: true
        default: false
        }
    }

    private static func invalid(_ message: String, _ remedy: String) -> BLEError {
        BLEError(.invalidArgument, message, remedy: remedy)
    }
}
