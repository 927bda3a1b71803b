import ArgumentParser
import BLE

/// The table of a scan on a terminal: a row for each peripheral in range, with its signal strength and the time since
/// it was last heard.
struct ScanTable {
    /// The order of the rows.
    enum Order: String, ExpressibleByArgument, CaseIterable, Sendable {
        /// By signal strength, the strongest first.
        case rssi
        /// By name, with unnamed peripherals last.
        case name
        /// The most recently heard first.
        case age
        /// In the order of discovery.
        case found
    }

    private struct Row {
        let number: Int
        var advertisement: Advertisement
        var heard: Duration
        /// The averaged signal strength, so that the order is steady.
        var strength: Double?
    }

    private var rows: [Peripheral.ID: Row] = [:]
    private var lastNumber = 0

    var count: Int { rows.count }

    mutating func update(_ id: Peripheral.ID, _ advertisement: Advertisement, now: Duration) {
        let new = advertisement.rssi.map(Double.init)
        if rows[id] == nil {
            lastNumber += 1
            rows[id] = Row(number: lastNumber, advertisement: advertisement, heard: now, strength: new)
            return
        }
        rows[id]?.advertisement = advertisement
        rows[id]?.heard = now
        let old = rows[id]?.strength ?? new
        rows[id]?.strength = new.flatMap { new in old.map { $0 + (new - $0) / 4 } } ?? old
    }

    mutating func remove(_ id: Peripheral.ID) { rows[id] = nil }

    /// Returns the table, limited to the given columns and lines. If lines are missing, the last one says how many.
    ///
    /// - Parameter contents: returns the text for an advertisement. Called only for the rows that are shown, and for
    ///   the first row without room.
    func lines(
        order: Order, now: Duration, width: Int, height: Int,
        contents: (Advertisement) -> String = ScanCommand.contents(of:), heading: (String) -> String
    ) -> [String] {
        let head = "   RSSI       AGE  ID                 NAME                  SERVICES AND DATA"
        var shown = [heading(head.prefix(columns: width))]
        var rest = rows.count
        for (id, row) in rows.sorted(by: { before($0, $1, order) }) {
            let lines = lines(line(id, row, now), contents(row.advertisement), width)
            guard shown.count + lines.count + (rest > 1 ? 1 : 0) <= height else { break }
            shown += lines
            rest -= 1
        }
        return shown + (rest > 0 ? ["… \(rest) more".prefix(columns: width)] : [])
    }

    /// Returns the line of a peripheral. The advertised data is in a second line if both do not fit into one.
    private func lines(_ line: String, _ contents: String, _ width: Int) -> [String] {
        let whole = contents.isEmpty ? line : "\(line) \(contents)"
        if whole.columns <= width || contents.isEmpty { return [whole.clipped(columns: width)] }
        return [line.clipped(columns: width), (String(repeating: " ", count: 8) + contents).clipped(columns: width)]
    }

    private func line(_ id: Peripheral.ID, _ row: Row, _ now: Duration) -> String {
        [
            (row.advertisement.rssi.map(String.init) ?? "").paddedLeft(to: 7),
            Self.bar(row.strength),
            "\(max(0, (now - row.heard).components.seconds)) s".paddedLeft(to: 4),
            id.rawValue.padded(to: 17),
            (row.advertisement.localName ?? "").harmless.clipped(columns: 20).padded(to: 20),
        ].joined(separator: " ")
    }

    /// Returns five columns for -100 dBm and less to -50 dBm and more.
    static func bar(_ strength: Double?) -> String {
        guard let strength else { return "     " }
        let filled = min(5, max(0, Int(((strength + 100) / 10).rounded())))
        return String("▂▃▅▆█".prefix(filled)) + String(repeating: "·", count: 5 - filled)
    }

    private typealias Entry = (key: Peripheral.ID, value: Row)

    private func before(_ first: Entry, _ second: Entry, _ order: Order) -> Bool {
        switch order {
        case .rssi:
            let (left, right) = (first.value.strength ?? -200, second.value.strength ?? -200)
            if left != right { return left > right }
        case .name:
            let (left, right) = (first.value.advertisement.localName, second.value.advertisement.localName)
            if left != right { return (left ?? "\u{10FFFF}").lowercased() < (right ?? "\u{10FFFF}").lowercased() }
        case .age: if first.value.heard != second.value.heard { return first.value.heard > second.value.heard }
        case .found: break
        }
        return first.value.number < second.value.number
    }
}

/// Shows a scan as a table that is rewritten while it changes.
actor ScanView {
    private let output: Output
    private let order: ScanTable.Order
    private let now: @Sendable () -> Duration
    private var table = ScanTable()
    /// The advertisements in the current table.
    private var shown: [Peripheral.ID: Advertisement] = [:]

    init(_ output: Output, order: ScanTable.Order) {
        (self.output, self.order) = (output, order)
        now = CommandClock.elapsed(CommandClock.current)
    }

    /// The pause between two drawings, independent of the number of advertisements.
    private static let pause = Duration.milliseconds(250)

    /// Shows the lists as they change.
    func show(_ lists: Nearby) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await list in lists { await self.update(list) }
            }
            group.addTask {
                while true {
                    try await self.draw()
                    try await CommandClock.sleep(for: Self.pause)
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func update(_ list: NearbyList) {
        for found in list where shown[found.peripheral.id] != found.advertisement {
            table.update(found.peripheral.id, found.advertisement, now: now())
        }
        let current = Dictionary(uniqueKeysWithValues: list.map { ($0.peripheral.id, $0.advertisement) })
        for id in shown.keys where current[id] == nil { table.remove(id) }
        shown = current
    }

    private func draw() throws {
        guard let size = output.terminalSize else { return }
        try output.rewrite(
            table.lines(order: order, now: now(), width: size.columns, height: size.rows - 1) {
                output.paint($0, .bold)
            })
    }
}
