public import BLE

/// Something that one of two recordings has, and the other has not.
public struct RecordingDifference: Hashable, Sendable, CustomStringConvertible {
    /// Whether the later recording has it.
    public let isAdded: Bool
    /// The peripheral, or the central of a host. Nil for the adapter and the scan.
    public let peripheral: DeviceID?
    /// The time in its recording.
    public let time: Duration
    /// What happened, such as `read 180f/2a19 = 5a`.
    public let text: String

    /// The difference as a line, such as `+ 1.250 F0:F1:F2:F3:F4:F5 read 180f/2a19 = 5a`.
    public var description: String {
        let milliseconds = Int(time.microseconds / 1000)
        let fraction = String(1000 + milliseconds % 1000).dropFirst()
        let subject = peripheral.map { "\($0) " } ?? ""
        return "\(isAdded ? "+" : "-") \(milliseconds / 1000).\(fraction) \(subject)\(text)"
    }
}

/// What does not count as a difference.
public struct IgnoredDifferences: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: Int
    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// What peripherals advertise.
    public static let advertisements = IgnoredDifferences(rawValue: 1)
    /// The bytes that are read, written, notified and sent; that it happened still counts.
    public static let values = IgnoredDifferences(rawValue: 2)
    /// Values that peripherals notify, and how many.
    public static let notifications = IgnoredDifferences(rawValue: 4)
}

extension Recording {
    /// Returns what has changed since an earlier recording, peripheral by peripheral.
    ///
    /// The order of what concerns one peripheral counts, that among several does not, nor do times, handles, signal
    /// strengths, and how often the same is advertised. Attributes are named by their types, such as `180f/2a19`, with
    /// `#2` for the second of a type. Errors are compared by their codes.
    public func differences(
        from earlier: Recording, ignoring ignored: IgnoredDifferences = []
    ) -> [RecordingDifference] {
        let (old, new) = (earlier.story(ignored), story(ignored))
        var subjects = old.order
        for subject in new.order where old.steps[subject] == nil { subjects.append(subject) }
        return subjects.flatMap { subject in
            Self.differences(subject, old.steps[subject] ?? [], new.steps[subject] ?? [])
        }
    }

    private static func differences(
        _ subject: DeviceID?, _ old: [Story.Step], _ new: [Story.Step]
    ) -> [RecordingDifference] {
        var found: [RecordingDifference] = []
        func add(_ steps: ArraySlice<Story.Step>, isAdded: Bool) {
            for step in steps {
                found.append(
                    RecordingDifference(isAdded: isAdded, peripheral: subject, time: step.time, text: step.text))
            }
        }
        SequenceComparison(old.map(\.text), new.map(\.text)).report { removed, inserted in
            add(old[removed], isAdded: false)
            add(new[inserted], isAdded: true)
        }
        return found
    }
}

/// What happened in a recording, in words, by peripheral.
struct Story {
    struct Step {
        let time: Duration
        var text: String
    }

    private(set) var order: [DeviceID?] = []
    private(set) var steps: [DeviceID?: [Step]] = [:]

    mutating func add(_ text: String, of subject: DeviceID?, at time: Duration) -> Int {
        if steps[subject] == nil { order.append(subject) }
        steps[subject, default: []].append(Step(time: time, text: text))
        return steps[subject, default: []].count - 1
    }

    mutating func append(_ text: String, to position: Int, of subject: DeviceID?) {
        steps[subject]?[position].text += text
    }
}

extension Recording {
    func story(_ ignored: IgnoredDifferences) -> Story {
        var story = Story()
        var calls: [Int: (subject: DeviceID?, position: Int, what: RecordedEntry.What)] = [:]
        // What opened a socket or a channel, and for whom.
        var openers: [Int: DeviceID?] = [:]
        var places: [DeviceID: [UInt16: String]] = [:]
        func place(_ entry: RecordedEntry) -> String {
            guard let handle = entry.handle else { return "" }
            return entry.peripheral.flatMap { places[$0]?[handle] } ?? "handle \(handle)"
        }
        // The advertisement that was told last, by peripheral.
        var told: [DeviceID: Advertisement] = [:]
        func bytes(_ value: [UInt8]?) -> String {
            guard let value else { return "" }
            return ignored.contains(.values) ? " = …" : " = \(value.isEmpty ? "nothing" : Hex.string(value))"
        }
        for entry in entries {
            switch entry.what {
            case .advertisement:
                guard !ignored.contains(.advertisements), let id = entry.peripheral, var heard = entry.advertisement
                else { continue }
                heard.rssi = nil
                guard told.updateValue(heard, forKey: id) != heard else { continue }
                _ = story.add("advertises " + heard.summary, of: id, at: entry.time)
            case .value:
                guard !ignored.contains(.notifications) else { continue }
                _ = story.add(
                    "value " + place(entry) + bytes(entry.value), of: entry.peripheral, at: entry.time)
            case .reply:
                guard let call = entry.call, let (subject, position, what) = calls.removeValue(forKey: call)
                else { continue }
                if let id = subject, let services = entry.services { places[id] = services.places }
                var result = entry.value.map { bytes($0) } ?? ""
                if let number = entry.number, what != .signalStrength { result += " = \(number)" }
                if let services = entry.services { result += " = " + services.summary }
                if let state = entry.pairing {
                    result += state.isPaired ? " = paired" : " = not paired"
                    result += (state.isTrusted ? ", trusted" : "") + (state.isBlocked ? ", blocked" : "")
                }
                if let error = entry.error { result += " ! \(error.attError.map { "\($0)" } ?? error.code.rawValue)" }
                story.append(result, to: position, of: subject)
            case .known, .cancel, .removed: continue
            default:
                var text = entry.what.rawValue
                if entry.handle != nil { text += " " + place(entry) }
                for detail in [entry.text, entry.number.map { "\($0)" }, entry.isOn.map { "\($0)" }].compactMap({ $0 })
                where entry.what != .signalStrength { text += " " + detail }
                if let offset = entry.offset { text += " from \(offset)" }
                if let filter = entry.filter { text += " for " + filter.summary }
                if let advertisement = entry.advertisement { text += " " + advertisement.summary }
                if let services = entry.services { text += " " + services.summary }
                text += bytes(entry.value)
                if let error = entry.error { text += " ! \(error.code)" }
                let isPacket = entry.what == .packetSent || entry.what == .packetReceived
                let subject = isPacket ? entry.call.flatMap { openers[$0] } ?? nil : entry.peripheral
                let position = story.add(text, of: subject, at: entry.time)
                guard let call = entry.call, !isPacket else { continue }
                calls[call] = (subject, position, entry.what)
                if [.openChannel, .acquireWriting, .acceptChannel].contains(entry.what) { openers[call] = subject }
            }
        }
        return story
    }
}

extension GATTDatabase {
    /// The types that lead to each attribute, such as `180f/2a19` or `180f/2a19#2/2902`, by handle.
    var places: [UInt16: String] {
        var places: [UInt16: String] = [:]
        var services: [BluetoothUUID: Int] = [:]
        for service in self {
            services[service.uuid, default: 0] += 1
            var counts: [BluetoothUUID: Int] = [:]
            for characteristic in service {
                counts[characteristic.uuid, default: 0] += 1
                let path =
                    Self.named(service.uuid, services[service.uuid]) + "/"
                    + Self.named(characteristic.uuid, counts[characteristic.uuid])
                places[characteristic.handle] = path
                for descriptor in characteristic.descriptors {
                    places[descriptor.handle] = "\(path)/\(descriptor.uuid)"
                }
            }
        }
        return places
    }

    private static func named(_ uuid: BluetoothUUID, _ number: Int?) -> String {
        number == 1 ? "\(uuid)" : "\(uuid)#\(number ?? 1)"
    }

    /// The services with their characteristics, without handles.
    var summary: String {
        map { service in
            let characteristics = service.map { characteristic in
                let descriptors = characteristic.descriptors.map { "/\($0.uuid)" }.joined()
                return "\(characteristic.uuid)[\(characteristic.properties)]\(descriptors)"
            }
            return "\(service.uuid)(\(characteristics.joined(separator: " ")))"
        }.joined(separator: " ")
    }
}

extension Advertisement {
    /// What it contains, on one line.
    fileprivate var summary: String {
        var parts: [String] = []
        if let localName { parts.append("“\(localName)”") }
        parts += serviceUUIDs.sorted().map { "\($0)" }
        parts += manufacturerData.sorted { $0.key < $1.key }.map {
            "\(Hex.string([UInt8($0.key >> 8), UInt8($0.key & 0xFF)])):\(Hex.string($0.value))"
        }
        parts += serviceData.sorted { $0.key < $1.key }.map { "\($0.key):\(Hex.string($0.value))" }
        if let txPower { parts.append("\(txPower) dBm") }
        if let appearance { parts.append("appearance \(appearance.rawValue)") }
        if isConnectable == false { parts.append("not connectable") }
        parts += structures.map { "type \($0.type):\(Hex.string($0.bytes))" }
        return parts.isEmpty ? "nothing" : parts.joined(separator: " ")
    }
}

extension DiscoveryFilter {
    /// What it passes, on one line.
    fileprivate var summary: String {
        var parts = services.sorted().map { "\($0)" }
        if let minimumRSSI { parts.append("from \(minimumRSSI) dBm") }
        parts += manufacturers.sorted().map { "company \($0)" }
        if transport != .le { parts.append(transport.rawValue) }
        if isPassive { parts.append("passively") }
        return parts.isEmpty ? "all" : parts.joined(separator: " ")
    }
}
