/// The lines at the end of a terminal that are written again and again, and the control sequences for it.
///
/// The cursor is in the row below the lines.
struct TerminalArea {
    private var lines: [String] = []

    /// What writes other lines in the place of those that are there.
    ///
    /// - Parameter columns: how wide the terminal is now. One that has become narrower shows a line in several rows.
    mutating func replace(with lines: [String], columns: Int) -> String {
        defer { self.lines = lines }
        return erasure(columns: columns) + Self.text(lines)
    }

    /// What takes the lines away, so that something else can be written there.
    func erasure(columns: Int) -> String {
        let rows = lines.reduce(0) { $0 + $1.rows(columns: columns) }
        return rows > 0 ? "\r\u{1B}[\(rows)A\u{1B}[J" : ""
    }

    /// What writes the lines below whatever stands there.
    var drawing: String { Self.text(lines) }

    private static func text(_ lines: [String]) -> String { lines.map { $0 + "\n" }.joined() }
}
