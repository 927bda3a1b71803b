/// The lines on a terminal, of which only those that have changed are written again.
struct Screen {
    private var shown: [String] = []
    private let isTerminal: Bool

    /// - Parameter isTerminal: whether the output moves the cursor. Otherwise, each changed line is written once more.
    init(isTerminal: Bool) { self.isTerminal = isTerminal }

    /// What clears the screen and hides the cursor. The terminal cuts lines that are too long.
    func begin() -> String { isTerminal ? "\u{1B}[2J\u{1B}[?25l\u{1B}[?7l" : "" }

    /// What leaves the lines, and shows the cursor below them.
    func end() -> String { isTerminal ? "\u{1B}[\(shown.count + 1);1H\u{1B}[?7h\u{1B}[?25h" : "" }

    /// Returns what changes the lines on the screen to others.
    mutating func update(to lines: [String]) -> String {
        defer { shown = lines }
        var output = ""
        for (index, line) in lines.enumerated() where !shown.indices.contains(index) || shown[index] != line {
            output += isTerminal ? "\u{1B}[\(index + 1);1H\(line)\u{1B}[K" : "\(line)\n"
        }
        if isTerminal, lines.count < shown.count { output += "\u{1B}[\(lines.count + 1);1H\u{1B}[J" }
        return output
    }
}
