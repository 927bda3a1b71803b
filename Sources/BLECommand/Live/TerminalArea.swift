/// The lines at the end of a terminal that are rewritten, and the control sequences for rewriting.
///
/// The cursor is in the row below the lines.
struct TerminalArea {
    private var lines: [String] = []

    /// Returns the text that replaces the current lines with others.
    ///
    /// - Parameter columns: the current width of the terminal. If it has become narrower, a line may take several rows.
    mutating func replace(with lines: [String], columns: Int) -> String {
        defer { self.lines = lines }
        return erasure(columns: columns) + Self.text(lines)
    }

    /// Returns the text that erases the lines, so that something else can be written in their place.
    func erasure(columns: Int) -> String {
        let rows = lines.reduce(0) { $0 + $1.rows(columns: columns) }
        return rows > 0 ? "\r\u{1B}[\(rows)A\u{1B}[J" : ""
    }

    /// The text that writes the lines at the cursor.
    var drawing: String { Self.text(lines) }

    private static func text(_ lines: [String]) -> String { lines.map { $0 + "\n" }.joined() }
}
