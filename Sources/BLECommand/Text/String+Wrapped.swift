extension String {
    /// Returns the text in lines of at most the given number of columns, broken at spaces if possible.
    ///
    /// - Parameter indent: the number of spaces before each line that continues another.
    func wrapped(columns: Int, indent: Int = 0) -> String {
        split(separator: "\n", omittingEmptySubsequences: false)
            .flatMap { Self.wrap($0, columns, indent) }
            .joined(separator: "\n")
    }

    private static func wrap(_ line: Substring, _ columns: Int, _ indent: Int) -> [String] {
        // If there is too little room for words, the terminal breaks the line.
        guard columns >= indent + 10, String(line).columns > columns else { return [String(line)] }
        var (lines, current, used) = ([String](), "", 0)
        let margin = String(repeating: " ", count: indent)
        for (index, word) in line.split(separator: " ", omittingEmptySubsequences: false).enumerated() {
            let width = String(word).columns
            if index > 0, used + 1 + width > columns {
                lines.append(current)
                (current, used) = (margin + word, indent + width)
            } else {
                current += (index > 0 ? " " : "") + word
                used += (index > 0 ? 1 : 0) + width
            }
        }
        return lines + [current]
    }
}
