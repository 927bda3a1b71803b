internal import BLE

/// What is known about the attributes of a peripheral, from the discovery procedures in a capture.
///
/// An answer replaces what was known of the handles that it covers, so a part can be discovered again.
struct DiscoveredAttributes {
    /// What an attribute handle stands for.
    enum Place: Equatable {
        /// The value of the characteristic with this declaration.
        case characteristic(UInt16)
        /// The client configuration of the characteristic with this declaration.
        case configuration(UInt16)
        /// A descriptor.
        case descriptor(UInt16)
        /// The extended properties of a characteristic, which are a part of its discovery.
        case extendedProperties
        /// The value that tells that the services have changed.
        case serviceChanged
        /// An attribute of a service that the system keeps for itself.
        case hidden
    }

    struct Service {
        var end: UInt16
        var uuid: BluetoothUUID
    }

    struct Characteristic {
        var valueHandle: UInt16
        var uuid: BluetoothUUID
        var properties: UInt8
    }

    private var primary = HandleTable<Service>()
    private var secondary = HandleTable<Service>()
    private var includes = HandleTable<UInt16>()
    private var characteristics = HandleTable<Characteristic>()
    /// The types of attributes, as far as they were asked for. Among them are the descriptors.
    private var types = HandleTable<BluetoothUUID>()
    private var extendedProperties: [UInt16: UInt8] = [:]
    /// The database of the last discovery, and whether it still is as known.
    private var last: GATTDatabase?
    private var isChanged = true

    // MARK: Answers

    mutating func setServices(
        _ services: [(UInt16, Service)], isPrimary: Bool, covering range: ClosedRange<UInt16>
    ) {
        isChanged = true
        if isPrimary { primary.replace(range, with: services) } else { secondary.replace(range, with: services) }
    }

    /// Takes services of one type, which do not tell about others in their range.
    mutating func add(_ services: [(UInt16, Service)]) {
        isChanged = true
        for (handle, service) in services { primary.replace(handle...handle, with: [(handle, service)]) }
    }

    mutating func setIncludes(_ found: [(UInt16, UInt16)], covering range: ClosedRange<UInt16>) {
        isChanged = true
        includes.replace(range, with: found)
    }

    mutating func setCharacteristics(_ found: [(UInt16, Characteristic)], covering range: ClosedRange<UInt16>) {
        isChanged = true
        characteristics.replace(range, with: found)
    }

    mutating func setTypes(_ found: [(UInt16, BluetoothUUID)], covering range: ClosedRange<UInt16>) {
        isChanged = true
        types.replace(range, with: found)
    }

    /// Takes the value of a descriptor of extended properties.
    mutating func setExtendedProperties(_ bits: UInt8, of descriptor: UInt16) {
        isChanged = true
        extendedProperties[descriptor] = bits
    }

    // MARK: Handles

    /// Returns what a handle stands for. A handle of which nothing is known is the value of a characteristic.
    func place(of handle: UInt16) -> Place {
        let characteristic = characteristics.last(atOrBefore: handle)
        let service = [primary, secondary].compactMap { $0.last(atOrBefore: handle) }
            .filter { $0.value.end >= handle }.max { $0.handle < $1.handle }
        let isValue = characteristic?.value.valueHandle == handle
        if let service, service.value.uuid.isHidden {
            return isValue && characteristic?.value.uuid == .serviceChanged ? .serviceChanged : .hidden
        }
        if isValue, let characteristic { return .characteristic(characteristic.handle) }
        guard let characteristic, characteristic.handle < handle,
            service.map({ $0.handle <= characteristic.handle }) ?? false
        else { return .characteristic(handle > 1 ? handle - 1 : handle) }
        switch types[handle] {
        case .clientConfiguration: return .configuration(characteristic.handle)
        case .extendedProperties: return .extendedProperties
        case nil where handle == characteristic.value.valueHandle &+ 1 && characteristic.value.properties & 0x30 != 0:
            return .configuration(characteristic.handle)
        default: return .descriptor(handle)
        }
    }

    /// Whether the characteristic with this declaration permits reliable writes.
    func allowsReliableWrites(_ declaration: UInt16) -> Bool {
        guard let characteristic = characteristics[declaration], let next = characteristic.valueHandle.next else {
            return false
        }
        let end = (characteristics.first(after: declaration)?.handle ?? .max)
        return bits(next, end) & 1 != 0
    }

    // MARK: Database

    /// Returns the services, without those that the system keeps for itself. `reserve` is asked for room for a number
    /// of attributes; if it has none, the result is nil.
    mutating func database(reserve: (Int) -> Bool) -> GATTDatabase? {
        let count = primary.count + secondary.count + includes.count + characteristics.count + types.count
        guard reserve(count) else { return nil }
        if !isChanged, let last { return last }
        let services = (primary.entries.map { ($0, true) } + secondary.entries.map { ($0, false) })
            .sorted { $0.0.handle < $1.0.handle }
        var made: [GATTService] = []
        // Services that overlap would repeat each other's attributes.
        var start = 0
        for (entry, isPrimary) in services where Int(entry.handle) >= start && entry.value.end >= entry.handle {
            start = Int(entry.value.end) + 1
            if entry.value.uuid.isHidden { continue }
            let rest = entry.handle < entry.value.end ? entry.handle + 1...entry.value.end : nil
            made.append(
                GATTService(
                    uuid: entry.value.uuid, handle: entry.handle, isPrimary: isPrimary,
                    characteristics: rest.map(characteristics) ?? [],
                    includedHandles: rest.map { includes.entries(in: $0).map(\.value) } ?? []))
        }
        let database = GATTDatabase(services: made)
        last = database
        isChanged = false
        return database
    }

    private func characteristics(in range: ClosedRange<UInt16>) -> [GATTCharacteristic] {
        let found = Array(characteristics.entries(in: range))
        return found.enumerated().map { index, entry in
            let end = index + 1 < found.count ? found[index + 1].handle - 1 : range.upperBound
            var descriptors: [GATTDescriptor] = []
            var properties = UInt16(entry.value.properties)
            if let next = max(entry.value.valueHandle, entry.handle).next, next <= end {
                descriptors = types.entries(in: next...end).map { GATTDescriptor(uuid: $0.value, handle: $0.handle) }
                // BlueZ does not ask for a single attribute after a value that is notified: it can be nothing else.
                if next == end, descriptors.isEmpty, properties & 0x30 != 0 {
                    descriptors = [GATTDescriptor(uuid: .clientConfiguration, handle: next)]
                }
                properties |= UInt16(bits(next, end)) << 8
            }
            return GATTCharacteristic(
                uuid: entry.value.uuid, handle: entry.handle,
                properties: CharacteristicProperties(rawValue: properties), descriptors: descriptors)
        }
    }

    /// The extended properties of a characteristic whose descriptors are in a range.
    private func bits(_ start: UInt16, _ end: UInt16) -> UInt8 {
        guard !extendedProperties.isEmpty, start <= end else { return 0 }
        let descriptor = types.entries(in: start...end).first { $0.value == .extendedProperties }
        return descriptor.flatMap { extendedProperties[$0.handle] } ?? 0
    }
}

extension UInt16 {
    /// The next handle; nil after the last.
    var next: UInt16? { self == .max ? nil : self + 1 }
}

/// Values by attribute handle, in order.
struct HandleTable<Value> {
    typealias Entry = (handle: UInt16, value: Value)

    private(set) var entries: [Entry] = []

    var count: Int { entries.count }

    subscript(handle: UInt16) -> Value? {
        let found = position(of: handle)
        guard found < entries.count, entries[found].handle == handle else { return nil }
        return entries[found].value
    }

    func last(atOrBefore handle: UInt16) -> Entry? {
        let end = handle.next.map { position(of: $0) } ?? entries.count
        return end > 0 ? entries[end - 1] : nil
    }

    func first(after handle: UInt16) -> Entry? {
        guard let next = handle.next else { return nil }
        let found = position(of: next)
        return found < entries.count ? entries[found] : nil
    }

    func entries(in range: ClosedRange<UInt16>) -> ArraySlice<Entry> {
        let end = range.upperBound.next.map { position(of: $0) } ?? entries.count
        return entries[position(of: range.lowerBound)..<end]
    }

    /// Replaces the values of a range with others. Of those, only the ones in the range, in ascending order, count.
    mutating func replace(_ range: ClosedRange<UInt16>, with values: [(UInt16, Value)]) {
        var ascending: [Entry] = []
        for (handle, value) in values where range.contains(handle) && ascending.last?.handle ?? 0 < handle {
            ascending.append((handle, value))
        }
        let old = entries(in: range)
        entries.replaceSubrange(old.startIndex..<old.endIndex, with: ascending)
    }

    /// Returns the position of the first entry at or after a handle.
    private func position(of handle: UInt16) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].handle < handle { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
