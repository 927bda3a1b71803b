import BLE

/// The completion of the word before the cursor.
struct ShellCompletion: Equatable, Sendable {
    /// The number of characters before the cursor that ``replacement`` takes the place of.
    let replacedLength: Int
    /// The word, as far as it is certain, as it is written in a line. A space follows it if it is whole; a directory is
    /// not, because a file in it follows.
    let replacement: String
    /// The words that are possible, in order. They are safe to show.
    let candidates: [String]

    /// Completes the beginning of a line, up to the cursor. Nil if nothing is possible.
    init?(of text: String, in vocabulary: ShellVocabulary) {
        let line = ShellWords(partial: text)
        guard !line.endsInComment else { return nil }
        let word = line.last ?? ""
        let possible = Self.words(after: line.words, beginning: word, vocabulary)
        let candidates = Set(possible.filter { $0.lowercased().hasPrefix(word.lowercased()) }).sorted()
        guard let first = candidates.first else { return nil }
        self.candidates = candidates
        replacedLength = line.lastLength
        guard candidates.count > 1 else {
            replacement =
                first.hasSuffix("/")
                ? ShellWords.quoted(first, isWhole: false) : ShellWords.quoted(first) + " "
            return
        }
        // Candidates may differ in case from what was typed, and from each other.
        let common = candidates.dropFirst().reduce(first[...]) { $0.commonPrefix(ignoringCaseOf: $1) }
        guard common.count > word.count else {
            replacement = String(text.suffix(line.lastLength))
            return
        }
        replacement =
            line.openQuote == "\"" ? "\"" + Self.escaped(common) : ShellWords.quoted(String(common), isWhole: false)
    }

    private static func escaped(_ text: Substring) -> String {
        String(text).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }

    /// Returns the words that are possible after others, regardless of how the word begins, unless that decides of what
    /// kind it is.
    private static func words(
        after words: [String], beginning word: String, _ vocabulary: ShellVocabulary
    ) -> [String] {
        guard let name = words.first else { return commands() + ["help"] }
        let arguments = Arguments(words, vocabulary)
        if let values = arguments.values { return values }
        if word.hasPrefix("-") { return arguments.options }
        return arguments.places(of: name).flatMap { place in
            switch place {
            case .command: commands()
            case .peripheral:
                // What the held link offers comes first.
                word.isEmpty && arguments.prefersHeld(name)
                    ? [] : vocabulary.peripheralWords + (word.isEmpty ? [] : vocabulary.addresses)
            case .service: vocabulary.serviceWords
            case .attribute(let properties): attributes(arguments.isHeld, word, vocabulary, having: properties)
            case .file: ShellFiles.words(beginning: word)
            }
        }
    }

    private static func commands() -> [String] { ShellVocabulary.commands.flatMap { [$0.name] + $0.aliases } }

    /// - Parameter isHeld: whether the characteristics are those of the peripheral whose link is held.
    private static func attributes(
        _ isHeld: Bool, _ word: String, _ vocabulary: ShellVocabulary, having properties: CharacteristicProperties
    ) -> [String] {
        var vocabulary = vocabulary
        if !isHeld { vocabulary.database = nil }
        return vocabulary.attributeWords(having: properties)
            + (word.isEmpty ? [] : vocabulary.attributeNumbers(having: properties))
    }
}

extension ShellCompletion {
    /// The words between the name of a command and the cursor.
    private struct Arguments {
        /// The values of the option before the cursor. Nil if there is no such option, or if it takes no value.
        private(set) var values: [String]?
        /// The options of the command.
        let options: [String]
        private var positional: [String] = []
        private let isHolding: Bool
        private let peripherals: Set<String>

        init(_ words: [String], _ vocabulary: ShellVocabulary) {
            isHolding = vocabulary.isHolding
            peripherals = Set((vocabulary.peripheralWords + vocabulary.addresses).map { $0.lowercased() })
            let command = ShellVocabulary.commands.first { $0.name == words[0] || $0.aliases.contains(words[0]) }
            let known = command?.options ?? [:]
            options = known.keys.filter { $0.hasPrefix("--") && !ShellAction.sessionOptions.contains($0) }.sorted()
            for word in words.dropFirst() {
                if values != nil {
                    values = nil
                } else if word.hasPrefix("-") {
                    values = (known[word] ?? nil).map { $0 }
                } else {
                    positional.append(word)
                }
            }
            if let last = words.last, last == "--service" || last == "--service-data", values != nil {
                values = vocabulary.serviceWords
            }
        }

        /// Whether the command uses the link that is held.
        var isHeld: Bool { isHolding && !positional.contains { peripherals.contains($0.lowercased()) } }

        /// Whether the next argument is more likely one of the held peripheral than another peripheral.
        func prefersHeld(_ name: String) -> Bool {
            isHeld && positional.isEmpty && name != "use" && name != "connect"
                && (ShellAction.places[name]?.count ?? 0) > 1
        }

        /// Returns what the next argument can be.
        func places(of name: String) -> [ShellAction.Place] {
            guard let places = ShellAction.places[name] else { return [] }
            let next = places.dropFirst(positional.count).first
            guard isHeld, name != "use", name != "connect", places.first == .peripheral else {
                return next.map { [$0] } ?? []
            }
            // The peripheral may be left out, and is, unless the first argument is to be one.
            let held = places.dropFirst(positional.count + 1).first
            // The only argument of update is its file.
            return [held, positional.isEmpty && name != "update" ? next : nil].compactMap(\.self)
        }
    }
}

extension Substring {
    /// Returns the beginning that this text has in common with another, regardless of case.
    fileprivate func commonPrefix(ignoringCaseOf other: String) -> Substring {
        let length = zip(self, other).prefix { $0.lowercased() == $1.lowercased() }.count
        return prefix(length)
    }
}
