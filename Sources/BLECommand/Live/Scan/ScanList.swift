import BLE
import BLEDefinitions

/// The list of a scan: the order, the filter, and the selected peripheral.
struct ScanList {
    private(set) var order: ScanTable.Order
    private(set) var isReversed = false
    var filter = ""
    private(set) var selection: Peripheral.ID?
    /// The peripherals that were drawn last, in order, including those without room.
    private(set) var ids: [Peripheral.ID] = []
    /// The selected peripheral, if it is in the list.
    var selected: Peripheral.ID? { selection.flatMap { ids.contains($0) ? $0 : nil } }
    /// Where the selected peripheral is, or was before it left the list.
    private var place: Int?
    /// The first row on the screen.
    private var top = 0
    /// The number of rows on the screen.
    private var page = 1

    /// More rows than there can be.
    static let far = Int.max / 4

    init(order: ScanTable.Order) { self.order = order }

    // MARK: Keys

    mutating func changeOrder(by step: Int) {
        let orders = ScanTable.Order.allCases
        let index = orders.firstIndex(of: order) ?? 0
        order = orders[(index + step + orders.count) % orders.count]
    }

    mutating func reverse() { isReversed.toggle() }

    /// Moves the selection in the list that was drawn last.
    mutating func move(_ key: Key) {
        let last = ids.count - 1
        guard last >= 0, let step = Self.step(of: key, page: page) else { return }
        let index = place.map { place in
            // Below a peripheral that has left is the one in its place.
            selected == nil && step > 0 ? place + step - 1 : place + step
        }
        let target = min(last, max(0, index ?? (step == Self.far ? last : 0)))
        (selection, place) = (ids[target], target)
    }

    mutating func deselect() { (selection, place, top) = (nil, nil, 0) }

    /// Returns by how many rows a key moves. Nil if it does not.
    static func step(of key: Key, page: Int) -> Int? {
        switch key {
        case .up, .character("k"): -1
        case .down, .character("j"): 1
        case .pageUp: -page
        case .pageDown: page
        case .home, .character("g"): -far
        case .end, .character("G"): far
        default: nil
        }
    }

    // MARK: Lines

    /// Returns the list, limited to the given columns and lines.
    ///
    /// - Parameter hasSelection: whether the list shows the selection, and the rows around it. If not, it begins with
    ///   the first row, and the last line counts those without room or tells the filter.
    mutating func lines(
        of content: inout ScanScreen.Content, now: Duration, width: Int, height: Int, hasSelection: Bool,
        paint: ScanScreen.Paint
    ) -> [String] {
        update(&content)
        let content = content
        let selected = hasSelection ? selection.flatMap { ids.firstIndex(of: $0) } : nil
        var cells: [Int: [String]] = [:]
        func cell(_ index: Int) -> [String] {
            if let cell = cells[index] { return cell }
            guard let row = content.table[ids[index]] else { return [] }
            let contents = ScanCommand.contents(
                of: row.advertisement, identity: row.identity, content.sensors.sensor(row.id))
            let cell = ScanTable.lines(row, contents, now: now, width: width)
            cells[index] = cell
            return cell
        }
        let room = max(1, height - 1)
        // Without keys, no other line mentions the filter, and what was left out.
        let isWhole = filter.isEmpty && !content.table.isFull
        let filtered = hasSelection || isWhole ? nil : found(in: content.table)
        top = hasSelection ? Self.top(top, showing: selected, count: ids.count, room: room) { cell($0).count } : 0
        var lines = [paint(ScanTable.head.prefix(columns: width), .bold)]
        var shown = 0
        for index in ids.indices.dropFirst(top) {
            let cell = cell(index)
            let counter = !hasSelection && (filtered != nil || index < ids.count - 1) ? 1 : 0
            guard lines.count + cell.count + counter <= height else { break }
            lines += index == selected ? Self.marked(cell, width, paint) : cell
            shown += 1
        }
        if !hasSelection, filtered != nil || shown < ids.count {
            let more = shown < ids.count ? "… \(ids.count - shown) more" : nil
            lines.append([more, filtered].compactMap(\.self).joined(separator: " · ").clipped(columns: width))
        }
        page = max(1, shown)
        return lines
    }

    /// Determines what is in the list. If the selected peripheral has left, it stays selected, but nothing is marked.
    private mutating func update(_ content: inout ScanScreen.Content) {
        let sensors = content.sensors
        ids = content.table.ids(order, isReversed: isReversed, filter: filter) { Self.text(of: $0, sensors) }
        place = selection.flatMap { ids.firstIndex(of: $0) } ?? place
    }

    private static func marked(_ cell: [String], _ width: Int, _ paint: ScanScreen.Paint) -> [String] {
        cell.enumerated().map { index, line in
            paint(((index == 0 ? ">" : " ") + line.dropFirst()).padded(to: width), .inverse)
        }
    }

    /// Returns the first row to show, so that the selected one is on the screen and the screen is full.
    private static func top(
        _ top: Int, showing selected: Int?, count: Int, room: Int, lines: (Int) -> Int
    ) -> Int {
        /// The first row of a screen that ends with the given one.
        func first(before end: Int) -> Int {
            var (first, used) = (end, 0)
            while first > 0 {
                used += lines(first - 1)
                if used > room { break }
                first -= 1
            }
            return min(first, max(0, end - 1))
        }
        guard top > 0 || selected != nil else { return 0 }
        let top = min(top, first(before: count))
        guard let selected else { return top }
        return selected < top ? selected : max(top, first(before: selected + 1))
    }

    /// Returns the text in which the filter looks for its words: what the list shows, and longer names.
    private static func text(of row: ScanTable.Row, _ sensors: SensorTable) -> String {
        let advertisement = row.advertisement
        return
            ([row.id.rawValue, advertisement.localName ?? ""]
            + [ScanCommand.contents(of: advertisement, identity: row.identity, sensors.sensor(row.id))]
            + ScanDetails.vendors(of: advertisement) + ScanDetails.services(advertisement.serviceUUIDs))
            .joined(separator: " ")
    }

    /// Returns how many peripherals are in the list, and why not more.
    private func found(in table: ScanTable) -> String {
        let total = table.count
        let all = (table.isFull ? "the first " : "") + (total == 1 ? "1 peripheral" : "\(total) peripherals")
        return filter.isEmpty ? all : "\(ids.count) of \(all) with “\(filter)”"
    }

    /// Returns what is in the list, for the line below it.
    ///
    /// - Parameter table: the peripherals, including those that the filter excludes.
    func status(of table: ScanTable) -> [String] {
        let range = page < ids.count ? ["\(top + 1)–\(min(ids.count, top + page)) shown"] : []
        return [found(in: table)] + range + ["by \(order.title)" + (isReversed ? ", reversed" : "")]
    }
}

extension ScanTable.Order {
    /// The order for people.
    var title: String {
        switch self {
        case .rssi: "strength"
        case .name: "name"
        case .age: "age"
        case .address: "address"
        case .count: "advertisements"
        case .found: "discovery"
        }
    }
}
