internal import BLE

/// What is taken out of a recording before it is given away.
public struct Redaction: OptionSet, Hashable, Codable, Sendable {
    /// The bits.
    public let rawValue: Int
    /// Creates a redaction from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Each device address is replaced with one of its own, `C0:00:00:00:00:01` and so on, also in texts and names. In
    /// those, what has the form of an address counts, and 12 digits in a row that are an address of the recording.
    public static let addresses = Redaction(rawValue: 1)
    /// Names of peripherals and adapters are replaced, also in the texts of errors about them.
    public static let names = Redaction(rawValue: 2)
    /// The bytes of values and packets are replaced with zeros of the same number. Without this, they may contain
    /// names, addresses and serial numbers.
    public static let values = Redaction(rawValue: 4)
    /// All of them.
    public static let all: Redaction = [.addresses, .names, .values]
}

extension Recording {
    /// Returns the recording without addresses, names or values. What is equal stays equal, except values.
    ///
    /// Each redaction also replaces the bytes of advertising data with zeros, and leaves out the system's properties of
    /// peripherals, because they may contain anything.
    public func redacted(_ what: Redaction = .all) -> Recording {
        var redactor = Redactor(what)
        for entry in entries { redactor.learn(entry) }
        var header = header
        header.redacted = (header.redacted ?? []).union(what)
        if what.contains(.addresses) { header.began = nil }
        return Recording(header, entries: entries.map { redactor.redacted($0) })
    }
}

/// The replacements of a recording's addresses and names.
private struct Redactor {
    private let what: Redaction
    /// By the address in upper case, with colons.
    private var addresses: [String: String] = [:]
    private var names: [String: String] = [:]
    /// The names that the texts about a peripheral may contain. Nil for those of adapters.
    private var namesOf: [DeviceID?: Names] = [:]
    /// The peripherals of the calls that have no reply yet.
    private var calls: [Int: DeviceID] = [:]

    init(_ what: Redaction) { self.what = what }

    mutating func learn(_ entry: RecordedEntry) {
        for id in [entry.peripheral, entry.error?.peripheral, entry.pairing?.identity] { learn(id?.rawValue) }
        learn(name: entry.advertisement?.localName, of: entry.peripheral)
        for adapter in entry.adapters ?? [] {
            learn(adapter.address)
            learn(name: adapter.name, of: nil)
        }
        if entry.what == .setAlias { learn(name: entry.text, of: nil) }
        learn(name: entry.properties?["Name"], of: entry.peripheral)
        learn(name: entry.properties?["Alias"], of: entry.peripheral)
    }

    private mutating func learn(_ address: String?) {
        guard what.contains(.addresses), let address, addresses[address] == nil else { return }
        let number = addresses.count + 1
        let digits = [16, 8, 0].map { Hex.string([UInt8(truncatingIfNeeded: number >> $0)]).uppercased() }
        addresses[address] = "C0:00:00:" + digits.joined(separator: ":")
    }

    private mutating func learn(name: String?, of id: DeviceID?) {
        guard what.contains(.names), let name, !name.isEmpty else { return }
        if names[name] == nil { names[name] = "Name \(names.count + 1)" }
        namesOf[id, default: Names()].add(name)
    }

    private mutating func replaced(name: String) -> String { names[name] ?? withoutAddresses(name) }

    mutating func redacted(_ entry: RecordedEntry) -> RecordedEntry {
        var entry = entry
        var about = entry.peripheral ?? entry.error?.peripheral
        if let call = entry.call {
            if entry.what == .reply {
                let called = calls.removeValue(forKey: call)
                about = about ?? called
            } else if let about {
                calls[call] = about
            }
        }
        entry.peripheral = entry.peripheral.map(replaced)
        if what.contains(.values) { entry.value = entry.value.map(zeros) }
        if let name = entry.advertisement?.localName { entry.advertisement?.localName = replaced(name: name) }
        // The data may contain addresses and names in any form.
        if let advertisement = entry.advertisement {
            entry.advertisement?.manufacturerData = advertisement.manufacturerData.mapValues(zeros)
            entry.advertisement?.serviceData = advertisement.serviceData.mapValues(zeros)
            entry.advertisement?.structures = advertisement.structures.map {
                AdvertisingStructure(type: $0.type, bytes: zeros($0.bytes))
            }
        }
        entry.properties = entry.properties.map { _ in [:] }
        if let state = entry.pairing {
            entry.pairing = PairingState(
                isPaired: state.isPaired, isTrusted: state.isTrusted, isBlocked: state.isBlocked,
                identity: replaced(state.identity))
        }
        if let adapters = entry.adapters {
            entry.adapters = []
            for adapter in adapters {
                entry.adapters?.append(
                    Adapter(
                        id: adapter.id, address: addresses[adapter.address] ?? adapter.address,
                        name: replaced(name: adapter.name), isPowered: adapter.isPowered,
                        isDiscovering: adapter.isDiscovering, isInUse: adapter.isInUse))
            }
        }
        // Others are states, adapters and places, which a name may resemble.
        if let text = entry.text {
            entry.text = entry.what == .setAlias ? replaced(name: text) : withoutAddresses(text)
        }
        entry.error = entry.error.map { redacted($0, about) }
        return entry
    }

    private func replaced(_ id: DeviceID) -> DeviceID {
        addresses[id.rawValue].map { DeviceID(rawValue: $0) } ?? id
    }

    private func zeros(_ bytes: [UInt8]) -> [UInt8] { [UInt8](repeating: 0, count: bytes.count) }

    private mutating func redacted(_ error: BLEError, _ about: DeviceID?) -> BLEError {
        var error = error
        error.message = redacted(error.message, about)
        error.remedy = error.remedy.map { redacted($0, about) }
        error.cause = (error.cause as? BLEError).map { redacted($0, about) }
        if let id = error.peripheral {
            learn(id.rawValue)
            error.peripheral = replaced(id)
        }
        return error
    }

    private mutating func redacted(_ text: String, _ about: DeviceID?) -> String {
        // The names first, because one may contain an address.
        let sources = about == nil ? [namesOf[nil]] : [namesOf[about], namesOf[nil]]
        let replaced = Self.replacing(in: text) { bytes, start in
            let found = sources.compactMap { $0?.longest(in: bytes, at: start) }.max { $0.utf8.count < $1.utf8.count }
            return found.map { ($0.utf8.count, names[$0] ?? "") }
        }
        return withoutAddresses(replaced)
    }

    private mutating func withoutAddresses(_ text: String) -> String {
        guard what.contains(.addresses) else { return text }
        return Self.replacing(in: text) { bytes, start in
            if let address = Self.address(in: bytes, at: start) {
                learn(address)
                return (17, addresses[address] ?? address)
            }
            return Self.plainAddress(in: bytes, at: start).flatMap { addresses[$0] }.map { (12, $0) }
        }
    }

    /// Returns the text with something else in place of what `find` finds at a position of it, in one pass: the number
    /// of bytes there, and what replaces them.
    private static func replacing(in text: String, _ find: ([UInt8], Int) -> (count: Int, other: String)?) -> String {
        let bytes = Array(text.utf8)
        var (result, index) = ([UInt8](), 0)
        while index < bytes.count {
            if let (count, other) = find(bytes, index) {
                result += Array(other.utf8)
                index += count
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns the address at a position, in upper case with colons: six pairs of digits with the same separator. In a
    /// path of bluetoothd, it has underscores.
    private static func address(in bytes: [UInt8], at start: Int) -> String? {
        guard start + 17 <= bytes.count, [UInt8]("_-:".utf8).contains(bytes[start + 2]) else { return nil }
        for offset in stride(from: 2, to: 17, by: 3) where bytes[start + offset] != bytes[start + 2] { return nil }
        return address((0..<17).filter { $0 % 3 != 2 }.map { bytes[start + $0] })
    }

    /// Returns the address of the 12 digits at a position, between which nothing is.
    private static func plainAddress(in bytes: [UInt8], at start: Int) -> String? {
        guard start + 12 <= bytes.count, isDigit(bytes[start]), start == 0 || !isDigit(bytes[start - 1]),
            start + 12 == bytes.count || !isDigit(bytes[start + 12])
        else { return nil }
        return address(Array(bytes[start..<start + 12]))
    }

    private static func isDigit(_ byte: UInt8) -> Bool { Character(UnicodeScalar(byte)).isHexDigit }

    private static func address(_ digits: [UInt8]) -> String? {
        guard digits.allSatisfy(isDigit) else { return nil }
        let pairs = stride(from: 0, to: 12, by: 2).map { String(decoding: digits[$0..<$0 + 2], as: UTF8.self) }
        return pairs.joined(separator: ":").uppercased()
    }
}

/// The names of a peripheral, to be found in texts, as a tree by their bytes.
private struct Names {
    private struct Node {
        var name: String?
        var next: [UInt8: Int] = [:]
    }

    private var nodes = [Node()]

    /// The bytes of the longest name (Core Specification 5.4, volume 3, part C, section 12.1). What is longer is not
    /// looked for in texts.
    private static let maximumLength = 248

    mutating func add(_ name: String) {
        guard name.utf8.count <= Self.maximumLength else { return }
        var node = 0
        for byte in name.utf8 {
            if let next = nodes[node].next[byte] {
                node = next
            } else {
                nodes[node].next[byte] = nodes.count
                node = nodes.count
                nodes.append(Node())
            }
        }
        nodes[node].name = name
    }

    /// Returns the longest name at a position of a text.
    func longest(in bytes: [UInt8], at start: Int) -> String? {
        var (node, found): (Int, String?) = (0, nil)
        for byte in bytes[start...] {
            guard let next = nodes[node].next[byte] else { break }
            node = next
            found = nodes[node].name ?? found
        }
        return found
    }
}
