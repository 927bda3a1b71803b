/// A line of a shell, divided into words at spaces.
///
/// Single quotes keep everything as it is. Double quotes keep everything except a backslash before a double quote or
/// another backslash. Elsewhere, a backslash keeps the next character. A `#` at the beginning of a word starts a
/// comment. No other character has a meaning, so that there are no variables, patterns or pipes.
struct ShellWords: Equatable, Sendable {
    /// The reason why a line cannot be divided.
    enum Mistake: Error, Equatable, CustomStringConvertible {
        case openQuote(Character)
        case trailingBackslash

        var description: String {
            switch self {
            case .openQuote(let quote): "the line ends inside of \(quote)…\(quote)"
            case .trailingBackslash: "the line ends with a backslash"
            }
        }
    }

    /// The words that are complete.
    private(set) var words: [String] = []
    /// The word at the end of the text, if no space follows it.
    private(set) var last: String?
    /// The number of characters that the last word has in the text, with its quotes.
    private(set) var lastLength = 0
    /// The quote that the last word has open.
    private(set) var openQuote: Character?
    /// Whether the text ends in a comment.
    private(set) var endsInComment = false
    private var endsWithBackslash = false

    /// Divides the beginning of a line, up to the cursor.
    init(partial text: String) {
        var rest = text[...]
        while let character = rest.popFirst() {
            lastLength += last == nil ? 0 : 1
            if character == "\\", openQuote != "'" {
                take(escaped: &rest)
            } else if character == openQuote {
                openQuote = nil
            } else if openQuote != nil {
                append(character)
            } else if character == "'" || character == "\"" {
                begin()
                openQuote = character
            } else if character.isWhitespace {
                endWord()
            } else if character == "#", last == nil {
                endsInComment = true
                return
            } else {
                append(character)
            }
        }
    }

    /// Returns the words of a whole line.
    static func split(_ line: String) throws(Mistake) -> [String] {
        var line = ShellWords(partial: line)
        if let quote = line.openQuote { throw .openQuote(quote) }
        if line.endsWithBackslash { throw .trailingBackslash }
        line.endWord()
        return line.words
    }

    private mutating func begin() {
        guard last == nil else { return }
        (last, lastLength) = ("", 1)
    }

    private mutating func append(_ character: Character) {
        begin()
        last?.append(character)
    }

    private mutating func take(escaped rest: inout Substring) {
        begin()
        guard let next = rest.first else {
            endsWithBackslash = true
            return
        }
        // Between double quotes, a backslash before another character is a character.
        guard openQuote == nil || next == "\"" || next == "\\" else { return append("\\") }
        rest.removeFirst()
        lastLength += 1
        append(next)
    }

    private mutating func endWord() {
        if let last { words.append(last) }
        (last, lastLength) = (nil, 0)
    }
}

extension ShellWords {
    /// Returns a word as it is written in a line, with quotes if it needs them.
    ///
    /// - Parameter isWhole: whether the word ends here. Otherwise, its quote stays open.
    static func quoted(_ word: String, isWhole: Bool = true) -> String {
        let isPlain =
            !word.isEmpty && !word.hasPrefix("#") && !word.contains { $0.isWhitespace || "\\\"'".contains($0) }
        guard !isPlain else { return word }
        let escaped = word.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"" + escaped + (isWhole ? "\"" : "")
    }
}
