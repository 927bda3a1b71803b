/// A name to search for. Considers only letters and digits, and ignores case: `heart-rate` matches `Heart Rate`.
struct NamePattern {
    private let wanted: [UInt8]

    init(_ text: String) {
        wanted = text.lowercased().utf8.compactMap(Self.counted)
    }

    /// Whether a name in UTF-8 matches the pattern.
    func isName(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        !wanted.isEmpty && Self.withLowercased(name) { begins($0, at: 0) == .whole }
    }

    /// Whether a name in UTF-8 contains the pattern, beginning at a word.
    func isPart(of name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard !wanted.isEmpty else { return false }
        return Self.withLowercased(name) { name in
            var isInWord = false
            for start in name.indices {
                guard Self.counted(name[start]) != nil else {
                    isInWord = false
                    continue
                }
                if !isInWord, begins(name, at: start) != .no { return true }
                isInWord = true
            }
            return false
        }
    }

    func isName(_ name: String) -> Bool {
        var name = name
        return name.withUTF8(isName)
    }

    func isPart(of name: String) -> Bool {
        var name = name
        return name.withUTF8(isPart)
    }

    private enum Match {
        case no
        case part
        case whole
    }

    /// Whether the pattern matches at an index of a name, and whether letters or digits follow the match.
    private func begins(_ name: UnsafeBufferPointer<UInt8>, at start: Int) -> Match {
        var position = 0
        for index in start..<name.count {
            guard let byte = Self.counted(name[index]) else { continue }
            guard position < wanted.count else { return .part }
            guard byte == wanted[position] else { return .no }
            position += 1
        }
        return position == wanted.count ? .whole : .no
    }

    /// Converts letters outside of ASCII to lowercase, which ``counted(_:)`` does not do.
    private static func withLowercased<Result>(
        _ name: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        guard name.contains(where: { $0 >= 0x80 }) else { return body(name) }
        var lowercased = String(decoding: name, as: UTF8.self).lowercased()
        return lowercased.withUTF8(body)
    }

    /// Returns the lowercase form of a letter or digit, or nil for other bytes. All bytes outside of ASCII count as
    /// letters.
    private static func counted(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...: byte
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
        default: nil
        }
    }
}
