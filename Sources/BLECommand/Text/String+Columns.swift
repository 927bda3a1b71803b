extension Unicode.Scalar {
    /// The number of terminal columns of this scalar alone: 2 for East Asian wide and full-width characters (Unicode
    /// Standard Annex 11) and for emoji, 0 for combining characters.
    fileprivate var columns: Int {
        if value < 0x300 { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // Hangul vowels and final consonants are drawn as part of the syllable.
        if 0x1160...0x11FF ~= value { return 0 }
        return properties.isEmojiPresentation || Self.wide.contains { $0 ~= value } ? 2 : 1
    }

    /// The blocks of wide characters.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
        0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F2FF, 0x20000...0x2FFFD, 0x30000...0x3FFFD,
    ]
}

extension Character {
    /// The number of terminal columns.
    var columns: Int {
        let isEmoji = unicodeScalars.count > 1 && unicodeScalars.contains { $0.properties.isEmojiPresentation }
        // U+FE0F requests the emoji form of a character that may also be text. A joined sequence is one emoji.
        return isEmoji || unicodeScalars.contains("\u{FE0F}") ? 2 : unicodeScalars.reduce(0) { $0 + $1.columns }
    }
}

extension String {
    /// The number of terminal columns. The text must not contain control characters.
    var columns: Int { reduce(0) { $0 + $1.columns } }

    /// Returns the number of rows on a terminal with the given width, which does not split characters.
    func rows(columns: Int) -> Int {
        var (rows, used) = (1, 0)
        for character in self {
            used += character.columns
            if used > columns, used > character.columns { (rows, used) = (rows + 1, character.columns) }
        }
        return rows
    }

    /// Returns the longest prefix that fits in the given number of columns.
    func prefix(columns: Int) -> String {
        var left = columns
        return String(
            prefix { character in
                left -= character.columns
                return left >= 0
            })
    }

    /// Returns the text, limited to the given number of columns. An ellipsis takes the place of what does not fit.
    func clipped(columns: Int) -> String {
        self.columns <= columns ? self : prefix(columns: max(0, columns - 1)) + "…"
    }

    /// Returns the text, padded with trailing spaces to the given number of columns.
    func padded(to columns: Int) -> String {
        self + String(repeating: " ", count: max(0, columns - self.columns))
    }

    /// Returns the text, padded with leading spaces to the given number of columns.
    func paddedLeft(to columns: Int) -> String {
        String(repeating: " ", count: max(0, columns - self.columns)) + self
    }
}
