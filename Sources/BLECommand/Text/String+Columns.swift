extension Unicode.Scalar {
    /// How many columns of a terminal it takes by itself: 2 for East Asian wide and full-width ones and for emoji (Unicode Standard
    /// Annex 11), none for what combines with others.
    fileprivate var columns: Int {
        if value < 0x300 { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // Vowels and final consonants of Hangul are drawn into the syllable.
        if 0x1160...0x11FF ~= value { return 0 }
        return properties.isEmojiPresentation || Self.wide.contains { $0 ~= value } ? 2 : 1
    }

    /// Blocks whose characters are wide.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
        0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F2FF, 0x20000...0x2FFFD, 0x30000...0x3FFFD,
    ]
}

extension Character {
    /// How many columns of a terminal it takes.
    var columns: Int {
        let isEmoji = unicodeScalars.count > 1 && unicodeScalars.contains { $0.properties.isEmojiPresentation }
        // U+FE0F asks for the emoji of what may be text as well; several that are joined are one.
        return isEmoji || unicodeScalars.contains("\u{FE0F}") ? 2 : unicodeScalars.reduce(0) { $0 + $1.columns }
    }
}

extension String {
    /// How many columns of a terminal it takes. It has no control characters.
    var columns: Int { reduce(0) { $0 + $1.columns } }

    /// How many rows it takes on a terminal of so many columns, which does not break a character.
    func rows(columns: Int) -> Int {
        var (rows, used) = (1, 0)
        for character in self {
            used += character.columns
            if used > columns, used > character.columns { (rows, used) = (rows + 1, character.columns) }
        }
        return rows
    }

    /// As much of the beginning as goes into so many columns.
    func prefix(columns: Int) -> String {
        var left = columns
        return String(
            prefix { character in
                left -= character.columns
                return left >= 0
            })
    }

    /// With spaces behind it, up to so many columns.
    func padded(to columns: Int) -> String {
        self + String(repeating: " ", count: max(0, columns - self.columns))
    }

    /// With spaces before it, up to so many columns.
    func paddedLeft(to columns: Int) -> String {
        String(repeating: " ", count: max(0, columns - self.columns)) + self
    }
}
