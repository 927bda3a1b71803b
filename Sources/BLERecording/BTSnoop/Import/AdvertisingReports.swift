internal import BLE

/// Turns advertising reports into what bluetoothd reports of them (Core Specification 5.4, volume 4, part E, sections
/// 7.7.65.2 and 7.7.65.13).
///
/// As in the Linux kernel, a packet and the scan response that follows it are one advertisement. As in bluetoothd with
/// `DuplicateData`, names and services stay when later packets omit them, and data is replaced with newer data of its
/// kind.
struct AdvertisingReports {
    private struct Report {
        var peripheral: DeviceID
        var addressType: AddressType
        var isConnectable: Bool
        var isScannable: Bool
        var isScanResponse: Bool
        var rssi: Int
        var structures: [AdvertisingStructure] = []
    }

    fileprivate struct Heard {
        var advertisement = Advertisement()
        var isNameComplete = false
    }

    private struct Chain: Hashable {
        var peripheral: DeviceID
        var set: UInt8
        var isScanResponse: Bool
    }

    private var heard: [DeviceID: Heard] = [:]
    /// A packet that a scan response may follow.
    private var pending: (report: Report, moment: Moment)?
    /// The data of extended packets, of which the rest follows. Nil for what is too long: the end of another
    /// advertisement was lost.
    private var chains: [Chain: [UInt8]?] = [:]

    /// The number of bytes that an advertisement has at most (Core Specification 5.4, volume 4, part E, section
    /// 7.8.57).
    private static let maximumLength = 1650

    /// The number of services that are remembered of a peripheral.
    private static let maximumServices = 64

    // MARK: Events

    /// Takes an LE Advertising Report, after its subevent code. False if it is malformed.
    mutating func take(legacy event: inout PacketReader, _ log: inout EntryLog) -> Bool {
        guard let count = event.uint8() else { return false }
        for _ in 0..<count {
            guard let type = event.uint8(), let addressType = event.uint8(), let peripheral = event.address(),
                let length = event.uint8(), let data = event.bytes(Int(length)), let rssi = event.int8()
            else { return false }
            guard let addressType = Self.addressType(addressType) else { continue }
            take(
                Report(
                    peripheral: peripheral, addressType: addressType, isConnectable: type < 2,
                    isScannable: type == 0 || type == 2, isScanResponse: type == 4, rssi: rssi,
                    structures: Self.structures(data)), &log)
        }
        return true
    }

    /// Takes an LE Extended Advertising Report, after its subevent code. False if it is malformed, or the end of one is
    /// that was too long.
    mutating func take(extended event: inout PacketReader, _ log: inout EntryLog) -> Bool {
        guard let count = event.uint8() else { return false }
        var isWhole = true
        for _ in 0..<count {
            // The PHYs come before the advertising set; the interval and a directed address follow the strength.
            guard let type = event.uint16(), let addressType = event.uint8(), let peripheral = event.address(),
                event.bytes(2) != nil, let set = event.uint8(), event.bytes(1) != nil, let rssi = event.int8(),
                event.bytes(9) != nil, let length = event.uint8(), let data = event.bytes(Int(length))
            else { return false }
            guard let addressType = Self.addressType(addressType) else { continue }
            let isScanResponse = type & 8 != 0
            let chain = Chain(peripheral: peripheral, set: set, isScanResponse: isScanResponse)
            var whole = chains.removeValue(forKey: chain) ?? []
            whole? += data
            if let length = whole?.count, length > Self.maximumLength { whole = nil }
            if type & 0x60 == 0x20 {
                chains.updateValue(whole, forKey: chain)
                continue
            }
            guard let whole else {
                isWhole = false
                continue
            }
            take(
                Report(
                    peripheral: peripheral, addressType: addressType, isConnectable: type & 1 != 0,
                    isScannable: type & 2 != 0, isScanResponse: isScanResponse, rssi: rssi,
                    structures: Self.structures(whole[...])), &log)
        }
        return isWhole
    }

    /// Reports what no scan response has followed.
    mutating func finish(_ log: inout EntryLog) {
        guard let (report, moment) = pending else { return }
        pending = nil
        add(report, at: moment, &log)
    }

    private mutating func take(_ report: Report, _ log: inout EntryLog) {
        if report.isScanResponse, let first = pending?.report, first.peripheral == report.peripheral {
            pending = nil
            var both = first
            both.rssi = report.rssi
            both.structures += report.structures
            return add(both, at: log.now, &log)
        }
        finish(&log)
        if report.isScannable, !report.isScanResponse {
            pending = (report, log.now)
        } else {
            add(report, at: log.now, &log)
        }
    }

    // MARK: Advertisements

    private mutating func add(_ report: Report, at moment: Moment, _ log: inout EntryLog) {
        var heard = heard[report.peripheral] ?? Heard()
        heard.update(with: report.structures, maximumServices: Self.maximumServices)
        heard.advertisement.rssi = report.rssi
        heard.advertisement.addressType = report.addressType
        if !report.isScanResponse { heard.advertisement.isConnectable = report.isConnectable }
        self.heard[report.peripheral] = heard
        var entry = RecordedEntry(.advertisement, peripheral: report.peripheral)
        entry.advertisement = heard.advertisement
        log.add(entry, at: moment)
    }

    /// Nil for advertisements without an address.
    private static func addressType(_ number: UInt8) -> AddressType? {
        switch number {
        case 0, 2: .public
        case 1, 3: .random
        default: nil
        }
    }

    /// Returns the structures of a packet, up to one that is cut off.
    private static func structures(_ packet: ArraySlice<UInt8>) -> [AdvertisingStructure] {
        do throws(AdvertisingDataError) {
            return try AdvertisingData(decoding: packet.span).structures
        } catch {
            guard case .truncated(_, let available) = error, available < packet.count else { return [] }
            return structures(packet.dropLast(available + 1))
        }
    }
}

extension AdvertisingReports.Heard {
    fileprivate mutating func update(with structures: [AdvertisingStructure], maximumServices: Int) {
        var manufacturerData: [UInt16: [UInt8]] = [:]
        var serviceData: [BluetoothUUID: [UInt8]] = [:]
        var services: Set<BluetoothUUID> = []
        var solicited: Set<BluetoothUUID> = []
        var others: [AdvertisingStructure] = []
        for structure in structures {
            switch try? AdvertisingElement(structure) {
            case .localName(let name, let isComplete):
                guard isComplete || !isNameComplete else { break }
                advertisement.localName = name
                isNameComplete = isComplete
            case .txPower(let power): advertisement.txPower = power
            case .serviceUUIDs(let uuids, _, _): services.formUnion(uuids)
            case .serviceData(let uuid, let bytes, _): serviceData[uuid] = bytes
            case .manufacturerData(let company, let bytes): manufacturerData[company] = bytes
            case .appearance(let value): advertisement.appearance = value
            case .flags(let value): advertisement.flags = value
            case .solicitedServiceUUIDs(let uuids, _): solicited.formUnion(uuids)
            case .advertisingInterval(let units): advertisement.advertisingInterval = .microseconds(625 * Int64(units))
            case .raw, nil: others.append(structure)
            }
        }
        if !manufacturerData.isEmpty { advertisement.manufacturerData = manufacturerData }
        if !serviceData.isEmpty { advertisement.serviceData = serviceData }
        if !solicited.isEmpty { advertisement.solicitedServiceUUIDs = solicited }
        if !others.isEmpty { advertisement.structures = others }
        guard !services.isSubset(of: advertisement.serviceUUIDs) else { return }
        let all = advertisement.serviceUUIDs.union(services)
        advertisement.serviceUUIDs = all.count <= maximumServices ? all : services
    }
}
