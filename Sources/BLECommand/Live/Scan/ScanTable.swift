import ArgumentParser
import BLE
import BLEDefinitions

/// The peripherals that a scan has in range, with what was received from each.
///
/// Receiving an advertisement takes constant time.
struct ScanTable {
    /// The order of the rows.
    enum Order: String, ExpressibleByArgument, CaseIterable, Sendable {
        /// By signal strength, the strongest first.
        case rssi
        /// By name, with unnamed peripherals last.
        case name
        /// The most recently heard first.
        case age
        /// By address.
        case address
        /// By number of advertisements, the most first.
        case count
        /// In the order of discovery.
        case found
    }

    /// What was received from a peripheral.
    struct Row {
        let id: Peripheral.ID
        /// The position in the order of discovery.
        let number: Int
        let found: Duration
        fileprivate(set) var heard: Duration
        fileprivate(set) var advertisement = Advertisement()
        /// The name of the device that has this private address.
        fileprivate(set) var identity: String?
        /// The number of advertisements.
        fileprivate(set) var count = 0
        /// The averaged signal strength, so that the order is steady.
        fileprivate(set) var strength: Double?
        fileprivate(set) var trace = SignalTrace(limit: ScanTable.briefLimit)
        /// Whether the scan has lost the peripheral. Only the opened one is kept then.
        fileprivate(set) var isLost = false
        /// The name to sort by.
        fileprivate var sortedName: String?
        /// The words for which it was last determined whether they occur. Nil after the content has changed.
        fileprivate var matchedWords: [String]?
        fileprivate var isMatch = false

        fileprivate var lost: Row {
            var row = self
            row.isLost = true
            return row
        }

        fileprivate mutating func receive(_ new: Advertisement, _ newIdentity: String?, at now: Duration) {
            var old = advertisement
            old.rssi = new.rssi
            if count == 0 || old != new || identity != newIdentity {
                sortedName = new.localName?.lowercased()
                matchedWords = nil
            }
            (advertisement, identity, heard, isLost) = (new, newIdentity, now, false)
            count += 1
            if let rssi = new.rssi.map(Double.init) { strength = strength.map { $0 + (rssi - $0) / 4 } ?? rssi }
        }
    }

    private var rows: [Peripheral.ID: Row] = [:]
    private var lastNumber = 0
    /// The peripheral of which more than the last few advertisements are kept.
    private(set) var opened: Peripheral.ID?
    /// The number of all advertisements.
    private(set) var received = 0

    /// The time from which advertisements are traced.
    private var traceStart = Duration.zero

    /// The numbers of advertisements that are kept of a peripheral, and of the opened one.
    private static let briefLimit = 8
    private static let openedLimit = 240

    /// The maximum number of peripherals. Further ones are left out until others are lost.
    static let limit = 1000
    /// Whether peripherals were left out since there was no room any more.
    private(set) var isFull = false

    /// The number of peripherals in range.
    var count: Int { rows.count - (opened.flatMap { rows[$0]?.isLost } == true ? 1 : 0) }

    subscript(id: Peripheral.ID) -> Row? { rows[id] }

    mutating func update(
        _ id: Peripheral.ID, _ advertisement: Advertisement, identity: String? = nil, now: Duration
    ) {
        received += 1
        if rows[id] == nil {
            guard rows.count < Self.limit else {
                isFull = true
                return
            }
            lastNumber += 1
            rows[id] = Row(id: id, number: lastNumber, found: now, heard: now)
        }
        rows[id]?.receive(advertisement, identity, at: now)
        if now >= traceStart { rows[id]?.trace.append(advertisement, at: now) }
    }

    /// Removes a peripheral that was lost. The opened one stays until it is closed.
    mutating func remove(_ id: Peripheral.ID) {
        if id == opened { rows[id]?.isLost = true } else { rows[id] = nil }
        if rows.count < Self.limit { isFull = false }
    }

    mutating func removeAll() {
        for id in Array(rows.keys) { remove(id) }
    }

    /// Removes all traces. New ones begin with the first advertisement at or after the given time.
    mutating func restartTraces(at time: Duration) {
        traceStart = time
        for id in Array(rows.keys) { rows[id]?.trace.removeAll() }
    }

    /// Keeps more advertisements of one peripheral, and no longer of the one before. It may be lost already.
    mutating func open(_ row: Row?) {
        if let opened {
            if rows[opened]?.isLost == true { rows[opened] = nil }
            rows[opened]?.trace.limit = Self.briefLimit
        }
        opened = row?.id
        guard var row = row.map({ rows[$0.id] ?? $0.lost }) else { return }
        row.trace.limit = Self.openedLimit
        rows[row.id] = row
    }

    // MARK: Rows

    /// Returns the peripherals in range, in order.
    ///
    /// - Parameters:
    ///   - filter: the words that must occur in the text of a peripheral, in any order. Case is ignored.
    ///   - text: returns the text of a peripheral. Called only for those whose content has changed.
    mutating func ids(
        _ order: Order, isReversed: Bool = false, filter: String = "", text: (Row) -> String = { _ in "" }
    ) -> [Peripheral.ID] {
        let words = filter.lowercased().split(separator: " ").map(String.init)
        if !words.isEmpty {
            for row in rows.values.filter({ $0.matchedWords != words }) {
                let text = text(row).lowercased()
                rows[row.id]?.isMatch = words.allSatisfy { text.contains($0) }
                rows[row.id]?.matchedWords = words
            }
        }
        return rows.values.filter { !$0.isLost && (words.isEmpty || $0.isMatch) }
            .sorted { Self.isBefore($0, $1, order, isReversed) }.map(\.id)
    }

    /// What is unknown is last in both directions.
    private static func isBefore(_ first: Row, _ second: Row, _ order: Order, _ isReversed: Bool) -> Bool {
        func compare<Value: Comparable>(_ left: Value?, _ right: Value?, descending: Bool = false) -> Bool? {
            guard left != right else { return nil }
            guard let left, let right else { return left != nil }
            return (left < right) != (descending != isReversed)
        }
        let isBefore: Bool? =
            switch order {
            case .rssi: compare(first.strength, second.strength, descending: true)
            case .name: compare(first.sortedName, second.sortedName)
            case .age: compare(first.heard, second.heard, descending: true)
            case .address: compare(first.id.rawValue, second.id.rawValue)
            case .count: compare(first.count, second.count, descending: true)
            case .found: nil
            }
        return isBefore ?? ((first.number < second.number) != isReversed)
    }

    /// The titles of the columns.
    static let head = "   RSSI       AGE  ID                 NAME                  SERVICES AND DATA"

    /// Returns the lines of a peripheral: a second one with the advertised data, if both do not fit into one.
    static func lines(_ row: Row, _ contents: String, now: Duration, width: Int) -> [String] {
        let line = [
            (row.advertisement.rssi.map(String.init) ?? "").paddedLeft(to: 7),
            bar(row.strength),
            "\(max(0, (now - row.heard).components.seconds)) s".paddedLeft(to: 4),
            row.id.rawValue.padded(to: 17),
            (row.advertisement.localName ?? "").harmless.clipped(columns: 20).padded(to: 20),
        ].joined(separator: " ")
        let whole = contents.isEmpty ? line : "\(line) \(contents)"
        if whole.columns <= width || contents.isEmpty { return [whole.clipped(columns: width)] }
        return [line.clipped(columns: width), (String(repeating: " ", count: 8) + contents).clipped(columns: width)]
    }

    /// Returns five columns for -100 dBm and less to -50 dBm and more.
    static func bar(_ strength: Double?) -> String {
        guard let strength else { return "     " }
        let filled = min(5, max(0, Int(((strength + 100) / 10).rounded())))
        return String([1, 2, 4, 5, 7].prefix(filled).map { Sparkline.blocks[$0] })
            + String(repeating: "·", count: 5 - filled)
    }
}
