internal import BLE

/// What is taken out of a recording before it is given away.
public struct Redaction: OptionSet, Hashable, Codable, Sendable {
    /// The bits.
    public let rawValue: Int
    /// Creates a redaction from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Each device address is replaced with one of its own, `C0:00:00:00:00:01` and so on, everywhere. The system's
    /// properties of peripherals are left out.
    public static let addresses = Redaction(rawValue: 1)
    /// Names of peripherals and adapters are replaced, and the system's properties of peripherals are left out.
    public static let names = Redaction(rawValue: 2)
    /// The bytes of values, of packets and of advertising data are replaced with zeros of the same number.
    public static let values = Redaction(rawValue: 4)
    /// All of them.
    public static let all: Redaction = [.addresses, .names, .values]
}

extension Recording {
    /// Returns the recording without addresses, names or values. What is equal stays equal, except values.
    ///
    /// The texts of errors lose addresses and names, too.
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
    private var addresses: [String: String] = [:]
    private var names: [String: String] = [:]
    /// What is looked for in the texts of errors, the longest first.
    private lazy var texts = addresses.merging(names) { $1 }.sorted { ($0.key.count, $0.key) > ($1.key.count, $1.key) }

    init(_ what: Redaction) { self.what = what }

    mutating func learn(_ entry: RecordedEntry) {
        for id in [entry.peripheral, entry.error?.peripheral, entry.pairing?.identity] { learn(id?.rawValue) }
        learn(name: entry.advertisement?.localName)
        for adapter in entry.adapters ?? [] {
            learn(adapter.address)
            learn(name: adapter.name)
        }
        if entry.what == .setAlias { learn(name: entry.text) }
        learn(name: entry.properties?["Name"])
        learn(name: entry.properties?["Alias"])
    }

    private mutating func learn(_ address: String?) {
        guard what.contains(.addresses), let address, addresses[address] == nil else { return }
        let number = addresses.count + 1
        let digits = [16, 8, 0].map { Hex.string([UInt8(truncatingIfNeeded: number >> $0)]).uppercased() }
        addresses[address] = "C0:00:00:" + digits.joined(separator: ":")
    }

    private mutating func learn(name: String?) {
        guard what.contains(.names), let name, !name.isEmpty, names[name] == nil else { return }
        names[name] = "Name \(names.count + 1)"
    }

    mutating func redacted(_ entry: RecordedEntry) -> RecordedEntry {
        var entry = entry
        entry.peripheral = entry.peripheral.map(replaced)
        if what.contains(.values) { entry.value = entry.value.map(zeros) }
        if let name = entry.advertisement?.localName { entry.advertisement?.localName = names[name] ?? name }
        if what.contains(.values), let advertisement = entry.advertisement {
            entry.advertisement?.manufacturerData = advertisement.manufacturerData.mapValues(zeros)
            entry.advertisement?.serviceData = advertisement.serviceData.mapValues(zeros)
            entry.advertisement?.structures = advertisement.structures.map {
                AdvertisingStructure(type: $0.type, bytes: zeros($0.bytes))
            }
        } else if !what.isDisjoint(with: [.addresses, .names]) {
            // They may contain either, in any form.
            entry.advertisement?.structures = []
        }
        if !what.isDisjoint(with: [.addresses, .names]) { entry.properties = entry.properties.map { _ in [:] } }
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
        if entry.what == .setAlias, let text = entry.text { entry.text = names[text] ?? text }
        entry.error = entry.error.map { redacted($0) }
        return entry
    }

    private func replaced(_ id: DeviceID) -> DeviceID { addresses[id.rawValue].map { DeviceID(rawValue: $0) } ?? id }

    private func zeros(_ bytes: [UInt8]) -> [UInt8] { [UInt8](repeating: 0, count: bytes.count) }

    private mutating func redacted(_ error: BLEError) -> BLEError {
        var error = error
        error.peripheral = error.peripheral.map(replaced)
        error.message = redacted(error.message)
        error.remedy = error.remedy.map { redacted($0) }
        error.cause = (error.cause as? BLEError).map { redacted($0) }
        return error
    }

    private mutating func redacted(_ text: String) -> String {
        texts.reduce(text) { text, replacement in
            guard text.contains(replacement.key) else { return text }
            return text.replacing(replacement.key, with: replacement.value)
        }
    }
}
