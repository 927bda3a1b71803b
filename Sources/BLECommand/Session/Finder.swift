import BLE
import BLEAssignedNumbers
import BLEProfiles
import Logging
import Synchronization

/// Finds the peripheral that a command line refers to.
struct Finder {
    let central: Central
    let output: Output
    let timeout: Duration
    /// Whether the command waits for a peripheral with a known address without a time limit.
    var isPatient = false

    /// The number of peripherals in range, after which there is nothing to wait for. Nil if it is not known.
    @TaskLocal static var inRange: Int?

    /// How long to keep scanning after the first candidate for a better match or an ambiguity.
    private static let window = Duration.seconds(1)
    /// The maximum number of peripherals to check for a service that none advertises, in order of signal strength.
    private static let askedAtMost = 8

    /// Returns the peripheral with the given address or name prefix.
    ///
    /// - Parameter byWords: whether, if there is none when the search ends, the only one whose name has all words of
    ///   the text is meant. Only for commands that read: one that changes a device must not change another one.
    func find(_ id: String, byWords: Bool = false) async throws -> Peripheral {
        let known = await central.knownPeripherals()
        let address = Peripheral.ID(rawValue: id)
        if address.isAddress {
            if isPatient || known.contains(where: { $0.id == address }) { return central.peripheral(address) }
            let found = try await search(id) { $0.peripheral.id == address ? .this : .no }
            return try found.first.orNotFound(id, timeout).peripheral
        }
        // A connected peripheral does not advertise.
        let wanted = id.lowercased()
        let connected = known.filter {
            $0.isConnected && $0.advertisement.localName?.lowercased().hasPrefix(wanted) == true
        }
        if connected.count == 1 { return central.peripheral(connected[0].id) }
        let heard = HeardNames()
        var found = try await search("\"\(id)\"") { found in
            guard let name = found.advertisement.localName else { return .no }
            heard.add(found, name)
            return name == id ? .this : name.lowercased().hasPrefix(wanted) ? .candidate : .no
        } hint: {
            heard.nearest(to: id).map {
                "nothing is called \"\(id.excerpt)\" so far; did you mean \"\($0.excerpt)\"? Still looking"
            }
        }
        let isPrefix = !found.isEmpty
        if !isPrefix, byWords { found = heard.with(wordsOf: id) }
        guard found.count <= 1 else {
            let list = found.map { "\($0.advertisement.localName ?? "?") (\($0.peripheral.id))" }.sorted()
            throw BLEError(
                .ambiguousPeripheral, "several peripherals match: \(list.joined(separator: ", "))",
                remedy: "Use more of the name, or the address.")
        }
        let peripheral = try found.first.orNotFound("\"\(id)\"", timeout, meant: heard.nearest(to: id)).peripheral
        if !isPrefix, let name = found.first?.advertisement.localName {
            output.note("\"\(id.excerpt)\" is taken for \(name.excerpt) (\(peripheral))")
        }
        return peripheral
    }

    /// Returns the peripheral with the given address, name prefix or words, to read from it. If `id` is nil, the first
    /// one that offers `service`.
    ///
    /// In the latter case, writes which peripheral was chosen. If no peripheral advertises the service, connects to the
    /// peripherals in range to check for it, in order of signal strength.
    func find(_ id: String?, offering service: BluetoothUUID) async throws -> Peripheral {
        if let id { return try await find(id, byWords: true) }
        let (peripheral, name) = try await choose(offering: service)
        if !output.json { output.note(name.map { "\($0) (\(peripheral))" } ?? "\(peripheral)") }
        return peripheral
    }

    private func choose(offering service: BluetoothUUID) async throws -> (Peripheral, name: String?) {
        let known = await central.knownPeripherals()
        if let found = known.first(where: { $0.isConnected && $0.advertisement.serviceUUIDs.contains(service) }) {
            return (central.peripheral(found.id), found.advertisement.localName)
        }
        let what = "a peripheral with service \(service.name(in: .shown) ?? service.description)"
        let found = try await search(what) {
            $0.advertisement.serviceUUIDs.contains(service) ? .this : .candidate
        }
        if let advertised = found.first(where: { $0.advertisement.serviceUUIDs.contains(service) }) {
            return (advertised.peripheral, advertised.advertisement.localName)
        }
        let strongest = found.sorted { $0.advertisement.rssi ?? -127 > $1.advertisement.rssi ?? -127 }
        for candidate in strongest.prefix(Self.askedAtMost) {
            let has = try await output.progress.during("Asking \(candidate.peripheral) for its services") {
                try await offers(candidate.peripheral, service)
            }
            if has { return (candidate.peripheral, candidate.advertisement.localName) }
        }
        return (try Discovery?.none.orNotFound(what, timeout).peripheral, nil)
    }

    /// Whether a peripheral has the service. False if the connection fails. If the peripheral has the service, the link
    /// stays.
    private func offers(_ peripheral: Peripheral, _ service: BluetoothUUID) async throws -> Bool {
        do throws(BLEError) {
            if try await peripheral.services()[service] != nil { return true }
            try await peripheral.disconnect()
        } catch {
            if [.cancelled, .bluetoothLost, .poweredOff].contains(error.code) { throw error }
        }
        return false
    }

    private enum Match {
        case no
        /// A match, unless there is a better one, or a second one.
        case candidate
        case this
    }

    /// Scans until there is a definite match, until shortly after the first candidate, or until everything in range was
    /// heard. Returns everything found by then.
    ///
    /// - Parameter hint: returns what to tell the user while there is no candidate. It is told once.
    private func search(
        _ what: String, _ match: @escaping @Sendable (Discovery) -> Match,
        hint: (@Sendable () -> String?)? = nil
    ) async throws -> [Discovery] {
        let (central, timeout, output, inRange) = (central, timeout, output, Self.inRange)
        let candidates = Candidates()
        return try await output.progress.during("Looking for \(what)", limit: timeout) {
            try await withThrowingTaskGroup(of: [Discovery]?.self) { group in
                group.addTask {
                    var heard: Set<Peripheral.ID> = []
                    for try await event in central.discoveryEvents(staleAfter: nil) {
                        guard let discovery = event.discovery else { continue }
                        heard.insert(discovery.id)
                        let isLast = heard.count == inRange
                        switch match(discovery) {
                        case .no where isLast: return candidates.all
                        case .no: continue
                        case .this: return [discovery]
                        case .candidate:
                            candidates.add(discovery)
                            let name = (discovery.advertisement.localName ?? "").harmless
                            central.configuration.logger.debug(
                                "may be meant", metadata: ["peripheral": "\(discovery.peripheral)", "name": "\(name)"])
                            if isLast { return candidates.all }
                        }
                    }
                    return []
                }
                group.addTask {
                    try await CommandClock.sleep(for: timeout)
                    return candidates.all
                }
                group.addTask {
                    try await candidates.first()
                    try await CommandClock.sleep(for: Self.window)
                    return candidates.all
                }
                if let hint, inRange == nil {
                    group.addTask {
                        while true {
                            try await CommandClock.sleep(for: Self.window)
                            guard candidates.all.isEmpty else { return nil }
                            guard let hint = hint() else { continue }
                            output.note(hint)
                            return nil
                        }
                    }
                }
                defer { group.cancelAll() }
                for try await found in group { if let found { return found } }
                return []
            }
        }
    }
}

/// The names that were received during a search, up to a limit.
private final class HeardNames: Sendable {
    private static let limit = 1000
    private let heard = Mutex<[Peripheral.ID: (name: String, discovery: Discovery)]>([:])

    func add(_ discovery: Discovery, _ name: String) {
        heard.withLock { heard in
            guard heard.count < Self.limit || heard[discovery.id] != nil else { return }
            heard[discovery.id] = (name, discovery)
        }
    }

    /// Returns the peripherals whose names have all words of the text.
    func with(wordsOf text: String) -> [Discovery] {
        heard.withLock { $0.values.filter { $0.name.hasWords(of: text) }.map(\.discovery) }
    }

    /// The name that was probably meant: a name that contains the text, has its words, or has nearly the same spelling.
    func nearest(to text: String) -> String? {
        let names = Set(heard.withLock { $0.values.map(\.name) }).sorted()
        let wanted = text.lowercased()
        if let name = names.first(where: { $0.lowercased().contains(wanted) }) { return name }
        if let name = names.first(where: { $0.hasWords(of: text) }) { return name }
        // The text may be similar to a single word of a name, but only the beginning of the whole name finds a
        // peripheral.
        let words = names.flatMap { name in ([name] + name.split(separator: " ").map(String.init)).map { ($0, name) } }
        guard let word = Spelling.nearest(to: text, in: words.map(\.0)) else { return nil }
        return words.first { $0.0 == word }?.1
    }
}

extension String {
    /// Whether each word of the text, of letters and digits, is a whole word of this one, in any order. Case is
    /// ignored. False for a text without words.
    func hasWords(of text: String) -> Bool {
        let wanted = text.words
        return !wanted.isEmpty && words.isSuperset(of: wanted)
    }

    private var words: Set<Substring> { Set(lowercased().split { !$0.isLetter && !$0.isNumber }) }
}

extension DiscoveryEvent {
    /// The discovery, if the event has one.
    fileprivate var discovery: Discovery? {
        switch self {
        case .found(let discovery), .updated(let discovery): discovery
        case .lost, .waiting: nil
        }
    }
}

extension Discovery? {
    fileprivate func orNotFound(_ what: String, _ timeout: Duration, meant: String? = nil) throws -> Discovery {
        guard let self else {
            let isWhole = Finder.inRange != nil
            throw BLEError(
                .peripheralNotFound,
                isWhole ? "\(what) is not in the simulation" : "\(what) was not found within \(timeout)",
                remedy: meant.map { "Did you mean \"\($0)\"?" }
                    ?? "Check that it is on, in range, and not connected to another central; see ble scan.")
        }
        return self
    }
}
