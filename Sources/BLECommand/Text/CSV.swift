import BLE

/// Comma-separated values (RFC 4180).
enum CSV {
    /// Returns a line of cells, with its end.
    static func line(_ cells: [String]) -> String { cells.joined(separator: ",") + "\r\n" }

    /// Returns the cell of a foreign text.
    ///
    /// A spreadsheet takes a text that begins with `=`, `+`, `-` or `@` for a formula: such a text gets an apostrophe
    /// before it. Control characters become U+FFFD.
    static func cell(_ text: String) -> String {
        let text = text.harmless
        let isFormula = text.first.map { "=+-@".contains($0) } ?? false
        let cell = isFormula ? "'" + text : text
        guard cell.contains(where: { "\",\r\n".contains($0) }) else { return cell }
        return "\"" + cell.replacing("\"", with: "\"\"") + "\""
    }
}
