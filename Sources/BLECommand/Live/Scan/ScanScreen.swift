import BLE
import BLEDefinitions

/// The screen of a scan on a terminal: keys and events of the scan in, lines out.
struct ScanScreen {
    /// What a key asks of the program.
    enum Request: Equatable {
        case quit
        case suspend
        case redraw
    }

    /// What is shown, which stands still while the screen is frozen.
    struct Content {
        var table = ScanTable()
        var sensors: SensorTable
    }

    enum Mode: Equatable {
        case list
        /// The list, while the words of the filter are typed.
        case filter
        case details
        case help
    }

    /// The scan, also while the screen is frozen.
    private var live: Content
    /// The content at the time when the screen was frozen, and that time.
    private var frozen: (content: Content, time: Duration)?
    /// What is shown.
    private var content: Content { frozen?.content ?? live }
    private let clock: @Sendable () -> Duration

    private(set) var mode = Mode.list
    private var list: ScanList
    /// The number of lines of the details or the help, the first one on the screen, and how many are.
    private var (detailCount, detailTop, detailPage) = (0, 0, 1)
    /// Whether keys are read. If not, they are not mentioned.
    private(set) var hasKeys: Bool
    /// The time after which the scan ends, unless a key is pressed. Nil if it does not.
    private(set) var end: Duration?
    var isOver: Bool { end.map { clock() >= $0 } ?? false }

    private static let maximumFilter = 100
    /// The fewest rows of a terminal with more than a list.
    private static let minimumRows = 6

    init(
        order: ScanTable.Order = .rssi, hasKeys: Bool = true, end: Duration? = nil, clock: some Clock<Duration>
    ) {
        (list, self.hasKeys, self.end) = (ScanList(order: order), hasKeys, end)
        live = Content(sensors: SensorTable(formats: .shown, clock: clock))
        let start = clock.now
        self.clock = { start.duration(to: clock.now) }
    }

    // MARK: The scan

    mutating func apply(_ event: DiscoveryEvent) {
        switch event {
        case .found(let discovery), .updated(let discovery):
            live.table.update(discovery.id, discovery.advertisement, identity: discovery.identity, now: clock())
            live.sensors.update(discovery)
        case .lost(let peripheral): live.table.remove(peripheral.id)
        case .waiting: break
        }
    }

    /// Forgets the peripherals in range, after events were missed. Those that are still there are found again.
    mutating func removeAll() { live.table.removeAll() }

    /// Forgets when advertisements were received, after a time in which the program did not run. Those of that time are
    /// received now, all at once, and are not traced.
    mutating func restartTraces() { live.table.restartTraces(at: clock() + .seconds(1)) }

    // MARK: Keys

    /// Sets whether keys are read. If not, the list shows the scan as it is, because a user could not thaw it.
    mutating func readKeys(_ reads: Bool) {
        hasKeys = reads
        if !reads { frozen = nil }
    }

    /// Closes what is open: the list of what is in range remains.
    mutating func finish() {
        readKeys(false)
        close()
    }

    /// Changes the screen. Returns what the program has to do.
    mutating func press(_ key: Key) -> Request? {
        switch key {
        case .suspend: return .suspend
        case .redraw: return .redraw
        case .endOfInput: return .quit
        // Text may be pasted by mistake.
        case .paste where mode != .filter: return nil
        default: end = nil
        }
        switch mode {
        case .list: return pressInList(key)
        case .filter: pressInFilter(key)
        case .details: return pressInDetails(key)
        case .help:
            if key == .character("q") { return .quit }
            if detailPage >= detailCount || !scroll(key) { mode = .list }
        }
        return nil
    }

    private mutating func pressInList(_ key: Key) -> Request? {
        switch key {
        case .character("q"): return .quit
        case .character("s"): list.changeOrder(by: 1)
        case .character("S"): list.changeOrder(by: -1)
        case .character("r"): list.reverse()
        case .character("f"), .character(" "): toggleFrozen()
        case .character("/"): mode = .filter
        case .character("?"): (mode, detailTop) = (.help, 0)
        case .enter, .right, .character("l"): open()
        case .escape:
            if list.filter.isEmpty { list.deselect() } else { list.filter = "" }
        default: list.move(key)
        }
        return nil
    }

    private mutating func toggleFrozen() { frozen = frozen == nil ? (live, clock()) : nil }

    private mutating func pressInFilter(_ key: Key) {
        switch key {
        case .character(let scalar): addToFilter([scalar])
        case .paste(let text): addToFilter(text.unicodeScalars)
        case .backspace: if list.filter.isEmpty { mode = .list } else { list.filter.removeLast() }
        case .eraseLine: list.filter = ""
        case .eraseWord:
            while list.filter.last == " " { list.filter.removeLast() }
            while let last = list.filter.last, last != " " { list.filter.removeLast() }
        case .enter: mode = .list
        case .escape: (list.filter, mode) = ("", .list)
        default: list.move(key)
        }
    }

    /// Adds the characters that do not command a terminal, as far as there is room.
    private mutating func addToFilter(_ scalars: some Sequence<Unicode.Scalar>) {
        let room = max(0, Self.maximumFilter - list.filter.unicodeScalars.count)
        list.filter.unicodeScalars.append(contentsOf: scalars.lazy.filter { !ForeignText.isCommand($0) }.prefix(room))
    }

    private mutating func open() {
        guard let id = list.selected, let row = content.table[id] else { return }
        (mode, detailTop) = (.details, 0)
        live.table.open(row)
        frozen?.content.table.open(row)
    }

    private mutating func close() {
        mode = .list
        live.table.open(nil)
        frozen?.content.table.open(nil)
    }

    private mutating func pressInDetails(_ key: Key) -> Request? {
        switch key {
        case .character("q"): return .quit
        case .character("f"), .character(" "): toggleFrozen()
        case .escape, .left, .backspace, .character("h"): close()
        default: _ = scroll(key)
        }
        return nil
    }

    /// Moves the lines of the details or the help. Returns false for a key of another kind.
    private mutating func scroll(_ key: Key) -> Bool {
        guard let step = ScanList.step(of: key, page: detailPage) else { return false }
        // Drawing limits it to the lines that there are.
        detailTop = max(0, min(ScanList.far, detailTop + step))
        return true
    }

    // MARK: Lines

    typealias Paint = (String, Output.Style) -> String

    /// Returns the lines for a terminal of the given size, of which one row is left for the cursor.
    mutating func lines(columns: Int, rows: Int, paint: Paint = { text, _ in text }) -> [String] {
        let now = frozen?.time ?? clock()
        guard hasKeys, rows >= Self.minimumRows else {
            return Array(list(width: columns, height: rows - 1, now, paint).prefix(max(0, rows - 1)))
        }
        let height = rows - 3
        let body =
            switch mode {
            case .list, .filter: list(width: columns, height: height, now, paint)
            case .details: details(width: columns, height: height, now, paint)
            case .help: scrolled(Self.help.map { $0.clipped(columns: columns) }, height: height)
            }
        return body + [status, keys].map { paint($0.clipped(columns: columns), .dim) }
    }

    private mutating func list(width: Int, height: Int, _ now: Duration, _ paint: Paint) -> [String] {
        func lines(_ list: inout ScanList, _ content: inout Content) -> [String] {
            list.lines(
                of: &content, now: now, width: width, height: height, hasSelection: hasKeys, paint: paint)
        }
        guard var frozen else { return lines(&list, &live) }
        defer { self.frozen = frozen }
        return lines(&list, &frozen.content)
    }

    private mutating func details(width: Int, height: Int, _ now: Duration, _ paint: Paint) -> [String] {
        guard let row = content.table.opened.flatMap({ content.table[$0] }) else { return [] }
        let details = ScanDetails(
            row: row, sensor: content.sensors.sensor(row.id), now: now, readingsAge: clock() - now, width: width)
        let body = details.lines(graphHeight: height < 30 ? 4 : 8)
        return [paint(details.title, .bold)] + scrolled(body, height: max(1, height - 1))
    }

    /// Returns the lines that are on the screen.
    private mutating func scrolled(_ lines: [String], height: Int) -> [String] {
        detailTop = min(detailTop, max(0, lines.count - height))
        (detailPage, detailCount) = (height, lines.count)
        return Array(lines.dropFirst(detailTop).prefix(height))
    }

    // MARK: The last two lines

    private var status: String {
        var parts: [String] = []
        if let frozen {
            let received = live.table.received - frozen.content.table.received
            let seconds = (clock() - frozen.time).components.seconds
            parts.append("frozen for \(seconds) s, \(received) advertisements since")
        }
        switch mode {
        case .help, .details:
            if detailPage < detailCount {
                parts.append("lines \(detailTop + 1)–\(detailTop + detailPage) of \(detailCount)")
            }
        case .list, .filter: parts += list.status(of: content.table)
        }
        if let end { parts.append("ends in \(max(0, (end - clock()).components.seconds)) s unless a key is pressed") }
        return parts.joined(separator: " · ")
    }

    private var keys: String {
        switch mode {
        case .list:
            "↑↓ select  ⏎ open  s sort  r reverse  / filter  f \(frozen == nil ? "freeze" : "thaw")  ? help  q quit"
        case .filter: "Filter: \(list.filter)▏ ⏎ done  Esc clear"
        case .details: "Esc back  ↑↓ scroll  f \(frozen == nil ? "freeze" : "thaw")  q quit"
        case .help: (detailPage < detailCount ? "↑↓ scroll  any other key back" : "any key back") + "  q quit"
        }
    }

    private static let orders = ScanTable.Order.allCases.map(\.title).joined(separator: ", ")

    private static let help = [
        "↑ ↓, k j            select a peripheral, or scroll its details",
        "Page Up, Page Down  the same by a screen",
        "Home End, g G       to the first, to the last",
        "Enter, →, l         open the selected peripheral",
        "Esc, ←, h           back; in the list, remove the filter and the selection",
        "s, S                sort by the next, the previous of",
        "                    \(orders)",
        "r                   reverse the order",
        "/                   show only those with these words in their names, addresses,",
        "                    services, vendors or readings; Esc ends that",
        "f, Space            freeze the screen while the scan continues, and thaw it",
        "Ctrl-L              draw the screen again",
        "Ctrl-Z              suspend; the shell's fg resumes",
        "q, Ctrl-D, Ctrl-C   quit",
    ]
}
