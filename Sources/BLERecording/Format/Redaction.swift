internal import BLE

/// What is taken out of a recording before it is given away.
public struct Redaction: OptionSet, Hashable, Codable, Sendable {
    /// The bits.
    public let rawValue: Int
    /// Creates a redaction from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Each device address is replaced with one of its own, `C0:00:00:00:00:01` and so on, also in texts.
    public static let addresses = Redaction(rawValue: 1)
    /// Names of peripherals and adapters are replaced.
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
    private var namesOf: [DeviceID?: [String]] = [:]

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
        if namesOf[id]?.contains(name) != true { namesOf[id, default: []].append(name) }
    }

    mutating func redacted(_ entry: RecordedEntry) -> RecordedEntry {
        var entry = entry
        let about = entry.peripheral ?? entry.error?.peripheral
        entry.peripheral = entry.peripheral.map(replaced)
        if what.contains(.values) { entry.value = entry.value.map(zeros) }
        if let name = entry.advertisement?.localName { entry.advertisement?.localName = names[name] ?? name }
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
        entry.adapters = entry.adapters?.map { adapter in
            Adapter(
                id: adapter.id, address: addresses[adapter.address] ?? adapter.address,
                name: names[adapter.name] ?? adapter.name, isPowered: adapter.isPowered,
                isDiscovering: adapter.isDiscovering, isInUse: adapter.isInUse)
        }
        if let text = entry.text { entry.text = names[text] ?? withoutAddresses(text) }
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
        var text = withoutAddresses(text)
        let names = (namesOf[about] ?? []) + (about == nil ? [] : namesOf[nil] ?? [])
        for name in names.sorted(by: { $0.count > $1.count }) where text.contains(name) {
            text = text.replacing(name, with: self.names[name] ?? "")
        }
        return text
    }

    /// Replaces what has the form of an address, in one pass: six pairs of digits with the same separator.
    private mutating func withoutAddresses(_ text: String) -> String {
        guard what.contains(.addresses) else { return text }
        let bytes = Array(text.utf8)
        var (result, index) = ([UInt8](), 0)
        while index < bytes.count {
            guard let address = Self.address(in: bytes, at: index) else {
                result.append(bytes[index])
                index += 1
                continue
            }
            learn(address)
            result += Array((addresses[address] ?? address).utf8)
            index += 17
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns the address at a position, in upper case with colons. In a path of bluetoothd, it has underscores.
    private static func address(in bytes: [UInt8], at start: Int) -> String? {
        guard start + 17 <= bytes.count, [UInt8]("_-:".utf8).contains(bytes[start + 2]) else { return nil }
        var address: [UInt8] = []
        for (offset, byte) in bytes[start..<start + 17].enumerated() {
            if offset % 3 == 2 {
                guard byte == bytes[start + 2] else { return nil }
                address.append(UInt8(ascii: ":"))
            } else {
                guard Character(UnicodeScalar(byte)).isHexDigit else { return nil }
                address.append(byte >= UInt8(ascii: "a") ? byte - 32 : byte)
            }
        }
        return String(decoding: address, as: UTF8.self)
    }
}
