/// Words in columns, as a shell lists what is possible.
enum ShellColumns {
    /// Returns the lines of a list that reads downward. If there are more than `rows`, the last line says how many
    /// words are missing.
    static func lines(_ words: [String], columns: Int, rows limit: Int) -> [String] {
        let width = (words.map(\.columns).max() ?? 0) + 2
        let perLine = max(1, columns / width)
        let rows = (words.count + perLine - 1) / perLine
        func line(_ row: Int, of rows: Int, _ words: [String]) -> String {
            let cells = stride(from: row, to: words.count, by: rows).map { words[$0] }
            let last = cells.last.map { $0.clipped(columns: columns - 1) } ?? ""
            return cells.dropLast().map { $0.padded(to: width) }.joined() + last
        }
        let limit = max(2, limit)
        guard rows > limit else { return (0..<rows).map { line($0, of: rows, words) } }
        let shown = Array(words.prefix((limit - 1) * perLine))
        return (0..<limit - 1).map { line($0, of: limit - 1, shown) } + ["and \(words.count - shown.count) more"]
    }
}
