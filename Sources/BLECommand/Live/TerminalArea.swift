/// The lines at the end of a terminal that are rewritten, and the control sequences for rewriting.
///
/// The cursor is in the row below the lines. Terminals disagree about the width of some characters, such as joined
/// emoji, so lines are written without wrapping: each takes one row, and what does not fit is lost.
struct TerminalArea {
    private var lines: [String] = []
    /// The width for which the lines were written.
    private var columns = 0

    /// Makes the terminal wrap what does not fit in a row, or not (DECAWM).
    static let (wrapping, noWrapping) = ("\u{1B}[?7h", "\u{1B}[?7l")

    /// Returns the text that replaces the current lines with others.
    ///
    /// - Parameter columns: the current width of the terminal. If it has become narrower, a line may take several rows.
    mutating func replace(with lines: [String], columns: Int) -> String {
        defer { (self.lines, self.columns) = (lines, columns) }
        return erasure(columns: columns) + Self.text(lines)
    }

    /// Returns the text that erases the lines, so that something else can be written in their place.
    func erasure(columns: Int) -> String {
        let rows =
            columns < self.columns ? lines.reduce(0) { $0 + Self.plain($1).rows(columns: columns) } : lines.count
        return rows > 0 ? "\r\u{1B}[\(rows)A\u{1B}[J" : ""
    }

    /// The text that writes the lines at the cursor.
    var drawing: String { Self.text(lines) }

    /// Returns the line without the sequences of colors, which take no columns.
    private static func plain(_ line: String) -> String {
        var (plain, rest) = (String.UnicodeScalarView(), line.unicodeScalars[...])
        while let scalar = rest.popFirst() {
            if scalar == "\u{1B}" {
                rest = rest.drop { $0 != "m" }.dropFirst()
            } else {
                plain.append(scalar)
            }
        }
        return String(plain)
    }

    private static func text(_ lines: [String]) -> String {
        lines.isEmpty ? "" : noWrapping + lines.joined(separator: "\n") + wrapping + "\n"
    }
}
