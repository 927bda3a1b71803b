/// The bytes that ``AdvertisingParameters`` need, field by field.
///
/// ```
/// advertisement       24 of 31 bytes
///   flags              3
///   transmit power     3
///   128-bit services  18
/// scan response       32 of 31 bytes
///   local name        32  does not fit
/// ```
public struct AdvertisingBudget: Hashable, Sendable {
    /// The packet in which a field is sent.
    public enum Packet: String, Hashable, Codable, Sendable, CaseIterable {
        /// The advertisement itself.
        case advertisement
        /// The response to an active scan.
        case scanResponse
    }

    /// One AD structure.
    public struct Field: Hashable, Sendable {
        /// The field's name, such as `service data fcd2`.
        public let name: String
        /// The packet that contains the field.
        public let packet: Packet
        /// The number of bytes, including the two bytes for the structure's length and type.
        public let count: Int
        /// Whether the packet has room for the field after all fields before it.
        public let fits: Bool
    }

    /// The use of a packet, in bytes.
    public struct Space: Hashable, Sendable {
        /// The bytes of all fields, including those that do not fit.
        public fileprivate(set) var used = 0
        /// The bytes that the packet can contain. 0 if there is no such packet.
        public let capacity: Int

        /// The remaining bytes. Negative if the fields do not fit.
        public var available: Int { capacity - used }
    }

    /// The fields. The fields that the system adds come first, because their room is reserved. The others follow in the
    /// order of the packet.
    public private(set) var fields: [Field] = []
    /// The use of the advertisement.
    public private(set) var advertisement: Space
    /// The use of the scan response.
    public private(set) var scanResponse: Space

    /// Whether all fields fit.
    public var isWithinLimits: Bool { firstOverflowing == nil }

    /// The first field that does not fit.
    public var firstOverflowing: Field? { fields.first { !$0.fits } }

    init(advertisementCapacity: Int, scanResponseCapacity: Int) {
        advertisement = Space(capacity: advertisementCapacity)
        scanResponse = Space(capacity: scanResponseCapacity)
    }

    /// Returns the use of a packet.
    public func space(in packet: Packet) -> Space { packet == .advertisement ? advertisement : scanResponse }

    /// Adds a structure with `count` bytes after its length and type.
    mutating func add(_ name: String, _ count: Int, to packet: Packet = .advertisement) {
        switch packet {
        case .advertisement: advertisement.used += 2 + count
        case .scanResponse: scanResponse.used += 2 + count
        }
        fields.append(Field(name: name, packet: packet, count: 2 + count, fits: space(in: packet).available >= 0))
    }
}

extension AdvertisingBudget: CustomStringConvertible {
    /// A table with a line for each packet and each of its fields. Fields that do not fit are marked. There is no
    /// newline at the end.
    public var description: String {
        let width = (fields.map { 2 + $0.name.count } + [13]).max()!
        func line(_ name: String, _ count: Int, _ rest: String) -> String {
            let digits = String(count)
            let padding = String(repeating: " ", count: max(width - name.count + 4 - digits.count, 1))
            return name + padding + digits + rest
        }
        var lines: [String] = []
        for (name, packet) in [("advertisement", Packet.advertisement), ("scan response", .scanResponse)] {
            let space = space(in: packet)
            guard space.capacity > 0 || space.used > 0 else { continue }
            lines.append(line(name, space.used, " of \(space.capacity) bytes"))
            for field in fields where field.packet == packet {
                lines.append(line("  " + field.name, field.count, field.fits ? "" : "  does not fit"))
            }
        }
        return lines.joined(separator: "\n")
    }
}

extension AdvertisingParameters {
    /// Returns the bytes that each field needs.
    ///
    /// - Parameter limit: the capacity of a packet. By default, `legacy` without a ``secondaryPHY``, otherwise
    ///   `extended`. At most 251 bytes are available, because BlueZ sends them in a single command of the controller
    ///   (Core Specification 5.4, volume 4, part E, section 7.8.54).
    ///
    /// The budget follows BlueZ. 3 bytes of a connectable advertisement are reserved for the flags. UUIDs without a
    /// 16-bit form have 128 bits. With the limit `legacy`, the name is in the scan response. With other limits, a
    /// connectable advertisement has no scan response and contains the name itself.
    public func budget(limit: AdvertisingData.Limit? = nil) -> AdvertisingBudget {
        let limit = limit ?? (secondaryPHY == nil ? .legacy : .extended)
        let capacity = min(limit.rawValue, Self.commandCapacity)
        let hasScanResponse = limit == .legacy || !isConnectable
        var budget = AdvertisingBudget(
            advertisementCapacity: capacity, scanResponseCapacity: hasScanResponse ? capacity : 0)
        if isConnectable || isDiscoverable == true { budget.add("flags", 1) }
        if includesTxPower { budget.add("transmit power", 1) }
        Self.add(serviceUUIDs, solicitedServiceUUIDs, manufacturerData, serviceData, to: .advertisement, of: &budget)
        if let localName, !localName.isEmpty {
            budget.add("local name", localName.utf8.count, to: hasScanResponse ? .scanResponse : .advertisement)
        }
        if appearance != nil { budget.add("appearance", 2) }
        Self.add(structures, to: .advertisement, of: &budget)
        Self.add(
            scanResponse.serviceUUIDs, scanResponse.solicitedServiceUUIDs, scanResponse.manufacturerData,
            scanResponse.serviceData, to: .scanResponse, of: &budget)
        Self.add(scanResponse.structures, to: .scanResponse, of: &budget)
        return budget
    }

    private static func add(
        _ services: [BluetoothUUID], _ solicited: [BluetoothUUID], _ manufacturerData: [UInt16: [UInt8]],
        _ serviceData: [BluetoothUUID: [UInt8]], to packet: AdvertisingBudget.Packet, of budget: inout AdvertisingBudget
    ) {
        add(services, "services", to: packet, of: &budget)
        add(solicited, "solicited services", to: packet, of: &budget)
        for (company, data) in manufacturerData.sorted(by: { $0.key < $1.key }) {
            budget.add("manufacturer data \(hex(company))", 2 + data.count, to: packet)
        }
        for (uuid, data) in serviceData.sorted(by: { $0.key < $1.key }) {
            budget.add("service data \(uuid)", width(uuid).rawValue + data.count, to: packet)
        }
    }

    private static func add(
        _ structures: [AdvertisingStructure], to packet: AdvertisingBudget.Packet, of budget: inout AdvertisingBudget
    ) {
        for structure in structures {
            budget.add("structure 0x\(Hex.string([structure.type]))", structure.bytes.count, to: packet)
        }
    }

    /// The data that one HCI command can contain.
    private static let commandCapacity = 251

    /// BlueZ recognizes 16-bit UUIDs among the 128-bit forms it receives, but not 32-bit UUIDs.
    private static func width(_ uuid: BluetoothUUID) -> UUIDWidth { uuid.short == nil ? .bits128 : .bits16 }

    private static func add(
        _ uuids: [BluetoothUUID], _ name: String, to packet: AdvertisingBudget.Packet,
        of budget: inout AdvertisingBudget
    ) {
        for (width, prefix) in [(UUIDWidth.bits16, "16-bit"), (.bits128, "128-bit")] {
            let count = uuids.count { Self.width($0) == width }
            if count > 0 { budget.add("\(prefix) \(name)", count * width.rawValue, to: packet) }
        }
    }

    static func hex(_ company: UInt16) -> String { Hex.string([UInt8(company >> 8), UInt8(company & 0xFF)]) }
}
