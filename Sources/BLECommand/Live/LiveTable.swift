import BLE
import BLEAssignedNumbers

/// The table of a live view: a row for each field of each characteristic, with its recent values.
struct LiveTable {
    /// The maximum number of recent values in a row.
    static let memory = 40

    private struct Row {
        /// Nil for a message in place of a value.
        var field: String?
        var text: String
        /// The recent values, oldest first. Empty if the field is not a number.
        var numbers: [Double] = []
    }

    private struct Section {
        let title: String
        var rows: [Row] = []
    }

    private var sections: [UInt16: Section] = [:]

    /// Adds a characteristic. The table is in order of handles.
    mutating func add(_ handle: UInt16, _ title: String) {
        sections[handle] = Section(title: title)
    }

    /// Sets the current value of a characteristic.
    mutating func update(_ handle: UInt16, _ values: [FieldValue]) {
        guard var section = sections[handle] else { return }
        section.rows.removeAll { $0.field == nil }
        for value in Self.flat(values) {
            let index = section.rows.firstIndex { $0.field == value.name }
            if index == nil { section.rows.append(Row(field: value.name, text: "")) }
            let row = index ?? section.rows.count - 1
            section.rows[row].text = value.text
            if let number = value.number {
                section.rows[row].numbers = (section.rows[row].numbers + [number]).suffix(Self.memory)
            }
        }
        sections[handle] = section
    }

    /// Sets a message in place of a value.
    mutating func update(_ handle: UInt16, _ text: String) {
        sections[handle]?.rows = [Row(field: nil, text: text)]
    }

    /// Returns the table, limited to the given columns and lines. If lines are missing, the last one says how many.
    func lines(width: Int, height: Int) -> [String] {
        let lines = lines(width: width)
        guard lines.count > height else { return lines }
        let kept = lines.prefix(max(0, height - 1))
        return kept + ["… \(lines.count - kept.count) more".prefix(columns: width)]
    }

    /// Returns the table, limited to the given columns.
    func lines(width: Int) -> [String] {
        let sections = sections.sorted { $0.key < $1.key }.map(\.value)
        let titles = sections.flatMap { section in
            section.rows.count > 1
                ? section.rows.map { ($0.field ?? "").columns + 2 } + [section.title.columns] : [section.title.columns]
        }
        let column = (titles.max() ?? 0) + 2
        let valueColumn = (sections.flatMap(\.rows).filter { !$0.numbers.isEmpty }.map(\.text.columns).max() ?? 0) + 2
        func line(_ title: String, _ row: Row?) -> String {
            guard let row else { return title.prefix(columns: width) }
            var line = title.padded(to: column) + row.text
            if row.numbers.count > 1 {
                line = line.padded(to: column + valueColumn)
                line += Sparkline.text(row.numbers.suffix(max(0, width - line.columns)))
            }
            return line.prefix(columns: width)
        }
        return sections.flatMap { section in
            section.rows.count > 1
                ? [line(section.title, nil)] + section.rows.map { line("  " + ($0.field ?? ""), $0) }
                : [line(section.title, section.rows.first ?? Row(field: nil, text: "…"))]
        }
    }

    /// Returns the fields in order, including those of structures. A date and time is one field.
    private static func flat(_ values: [FieldValue]) -> [Cell] {
        values.filter { !$0.isSilent }.flatMap { value -> [Cell] in
            switch value.content {
            case .fields(let fields) where !fields.isEmpty && value.description.first == "(":
                flat(fields).map { Cell(name: "\(value.shortName), \($0.name)", text: $0.text, number: $0.number) }
            case .integer(let number):
                [Cell(name: value.shortName, text: value.description.harmless, number: Double(number))]
            case .number(let number): [Cell(name: value.shortName, text: value.description.harmless, number: number)]
            default: [Cell(name: value.shortName, text: value.description.harmless, number: nil)]
            }
        }
    }

    private struct Cell {
        let name: String
        let text: String
        let number: Double?
    }
}
