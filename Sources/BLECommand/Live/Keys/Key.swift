/// A key that was pressed on a terminal.
enum Key: Equatable, Sendable {
    /// A character without a command of the terminal in it.
    case character(Unicode.Scalar)
    case up, down, left, right, pageUp, pageDown, home, end
    case enter, escape, backspace
    /// Ctrl-U, which erases the line.
    case eraseLine
    /// Ctrl-W, which erases the last word.
    case eraseWord
    /// Ctrl-L.
    case redraw
    /// Ctrl-Z.
    case suspend
    /// Ctrl-D.
    case endOfInput
    /// Text that was pasted, unchanged. It may contain anything.
    case paste(String)

    /// Returns the key of a byte that is a character of its own. Nil for a control character without a meaning here.
    init?(_ byte: UInt8) {
        switch byte {
        case 0x04: self = .endOfInput
        case 0x08, 0x7F: self = .backspace
        case 0x0A, 0x0D: self = .enter
        case 0x0C: self = .redraw
        case 0x15: self = .eraseLine
        case 0x17: self = .eraseWord
        case 0x1A: self = .suspend
        case 0x20..<0x7F: self = .character(Unicode.Scalar(byte))
        default: return nil
        }
    }

    /// Returns the key of a control sequence (ECMA-48, section 5.4, with the numbers of xterm). Modifiers are ignored.
    init?(final: UInt8, parameters: [UInt8]) {
        switch final {
        case UInt8(ascii: "A"): self = .up
        case UInt8(ascii: "B"): self = .down
        case UInt8(ascii: "C"): self = .right
        case UInt8(ascii: "D"): self = .left
        case UInt8(ascii: "H"): self = .home
        case UInt8(ascii: "F"): self = .end
        case UInt8(ascii: "~"):
            switch String(decoding: parameters.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self) {
            case "1", "7": self = .home
            case "4", "8": self = .end
            case "5": self = .pageUp
            case "6": self = .pageDown
            default: return nil
            }
        default: return nil
        }
    }
}
