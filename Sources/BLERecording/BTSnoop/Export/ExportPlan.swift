internal import BLE

/// What an export has to know of a peripheral before its first packet.
struct ExportPlan {
    let address: PacketAddress
    /// The ATT MTU that the recording tells of, in bytes.
    private(set) var mtu: Int?
    /// The handle at which a GATT service is added, to tell of changed services. Nil if there is none to tell of, or if
    /// the peripheral has one.
    private(set) var addedService: UInt16?

    /// The MTU that BlueZ asks for.
    static let usualMTU = 517

    /// Returns the plans of the peripherals that have addresses.
    static func plans(of entries: [RecordedEntry]) -> [DeviceID: ExportPlan] {
        var plans: [DeviceID: ExportPlan] = [:]
        var calls: [Int: (what: RecordedEntry.What, peripheral: DeviceID)] = [:]
        var databases: [DeviceID: [GATTDatabase]] = [:]
        var changed: Set<DeviceID> = []
        for entry in entries {
            if let id = entry.peripheral {
                if plans[id] == nil { plans[id] = PacketAddress(id).map { ExportPlan(address: $0) } }
                if let call = entry.call { calls[call] = (entry.what, id) }
                if entry.what == .servicesChanged { changed.insert(id) }
            }
            guard entry.what == .reply, let (what, id) = entry.call.flatMap({ calls[$0] }) else { continue }
            if let services = entry.services { databases[id, default: []].append(services) }
            if what == .attMTU, let number = entry.number, (ATTOpcode.defaultMTU...0xFFFF).contains(number),
                plans[id]?.mtu == nil
            {
                plans[id]?.mtu = number
            }
        }
        for id in changed {
            let found = databases[id] ?? []
            let hasOne = found.contains { $0.contains { $0.uuid == .attributeProfile } }
            if !hasOne, !found.isEmpty { plans[id]?.addedService = gap(in: found) }
        }
        return plans
    }

    private init(address: PacketAddress) { self.address = address }

    /// Returns the first of four handles that no database uses. Nil if there are none.
    private static func gap(in databases: [GATTDatabase]) -> UInt16? {
        let used = databases.flatMap { $0.map { (start: Int($0.handle), end: $0.lastHandle) } }.sorted { $0 < $1 }
        var free = 1
        for range in used {
            if range.start - free >= 4 { break }
            free = max(free, range.end + 1)
        }
        return free + 3 <= 0xFFFF ? UInt16(free) : nil
    }

    /// Returns the database with the added service.
    func completed(_ database: GATTDatabase) -> GATTDatabase {
        guard let handle = addedService else { return database }
        let configuration = GATTDescriptor(uuid: .clientConfiguration, handle: handle + 3)
        let service = GATTService(
            uuid: .attributeProfile, handle: handle,
            characteristics: [
                GATTCharacteristic(
                    uuid: .serviceChanged, handle: handle + 1, properties: .indicate, descriptors: [configuration])
            ])
        return GATTDatabase(services: database.services + [service])
    }
}
