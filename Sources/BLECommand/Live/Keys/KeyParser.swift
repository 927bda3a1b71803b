import BLE

/// Turns the bytes that a terminal sends into keys.
///
/// A key may be a sequence that begins with the byte of the Escape key. Only time tells them apart: when no byte has
/// followed for ``deadline``, call ``timeOut()``. Sequences of unknown keys, replies of the terminal and bytes that are
/// not UTF-8 are ignored. Memory is bounded, whatever arrives.
struct KeyParser {
    private enum State {
        case ground
        /// In a character that takes several bytes.
        case character([UInt8], count: Int)
        case escape
        /// After ESC O, with which some terminals send arrows.
        case singleShift
        /// After ESC [, with the parameters.
        case sequence([UInt8])
        /// After ESC [ [, with which the console of Linux sends function keys.
        case console
        /// In a string for a program, such as the reply to a question that another program asked, with its length.
        case string(afterEscape: Bool, count: Int)
        /// In pasted text, with its length.
        case paste([UInt8], ending: Int, count: Int)
    }

    private var state = State.ground

    private static let escape: UInt8 = 0x1B
    /// What the terminal sends after pasted text.
    private static let pasteEnd = Array("\u{1B}[201~".utf8)
    /// The number of bytes of parameters that are kept. A longer sequence has no meaning.
    private static let maximumParameters = 32
    /// The number of bytes of pasted text that are kept.
    private static let maximumPaste = 1024
    /// The numbers of bytes of a string and of pasted text that are no keys. What follows are keys again.
    private static let maximumString = 65_536
    private static let maximumPasteLength = 1 << 20

    /// How long to wait for the next byte. Nil if no key has begun. In a string or pasted text, it is longer: their
    /// rest must not become keys if the connection to the terminal stalls. Without an end, they must not take all keys.
    var deadline: Duration? {
        switch state {
        case .ground: nil
        case .string, .paste: .seconds(3)
        default: .milliseconds(50)
        }
    }

    /// Returns the keys that these bytes complete.
    mutating func keys(_ bytes: some Sequence<UInt8>) -> [Key] { bytes.compactMap { take($0) } }

    /// Ends a key that has begun. Returns it if it is one as it is.
    mutating func timeOut() -> Key? {
        switch state {
        case .escape:
            state = .ground
            return .escape
        case .paste(let bytes, _, _):
            state = .ground
            return Self.pasted(bytes)
        default:
            state = .ground
            return nil
        }
    }

    private mutating func take(_ byte: UInt8) -> Key? {
        switch state {
        case .ground: return begin(byte)
        case .character(let bytes, let count): return takeContinuation(byte, bytes, count)
        case .escape: return takeAfterEscape(byte)
        case .singleShift:
            // Some terminals put modifiers before the last byte.
            if 0x30...0x3B ~= byte { return nil }
            state = .ground
            return byte < 0x20 ? begin(byte) : Key(final: byte, parameters: [])
        case .sequence(let parameters): return takeInSequence(byte, parameters)
        case .console:
            state = .ground
            return byte < 0x20 ? begin(byte) : nil
        case .string(let afterEscape, let count):
            takeInString(byte, afterEscape, count)
            return nil
        case .paste(let bytes, let ending, let count): return takePasted(byte, bytes, ending, count)
        }
    }

    private mutating func begin(_ byte: UInt8) -> Key? {
        state = .ground
        switch byte {
        case Self.escape: state = .escape
        case 0xC2...0xDF: state = .character([byte], count: 2)
        case 0xE0...0xEF: state = .character([byte], count: 3)
        case 0xF0...0xF4: state = .character([byte], count: 4)
        default: return Key(byte)
        }
        return nil
    }

    private mutating func takeContinuation(_ byte: UInt8, _ bytes: [UInt8], _ count: Int) -> Key? {
        guard byte & 0xC0 == 0x80 else { return begin(byte) }
        let bytes = bytes + [byte]
        guard bytes.count == count else {
            state = .character(bytes, count: count)
            return nil
        }
        state = .ground
        guard let scalar = String(validating: bytes, as: UTF8.self)?.unicodeScalars.first,
            !ForeignText.isCommand(scalar)
        else { return nil }
        return .character(scalar)
    }

    private mutating func takeAfterEscape(_ byte: UInt8) -> Key? {
        switch byte {
        case UInt8(ascii: "["): state = .sequence([])
        case UInt8(ascii: "O"): state = .singleShift
        case UInt8(ascii: "]"), UInt8(ascii: "P"), UInt8(ascii: "X"), UInt8(ascii: "^"), UInt8(ascii: "_"):
            state = .string(afterEscape: false, count: 0)
        case Self.escape: return .escape
        // A key with Alt.
        default: state = .ground
        }
        return nil
    }

    private mutating func takeInSequence(_ byte: UInt8, _ parameters: [UInt8]) -> Key? {
        switch byte {
        case UInt8(ascii: "[") where parameters.isEmpty:
            state = .console
            return nil
        case 0x20...0x3F:
            if parameters.count <= Self.maximumParameters { state = .sequence(parameters + [byte]) }
            return nil
        case 0x40...0x7E:
            state = .ground
            guard parameters.count <= Self.maximumParameters else { return nil }
            if byte == UInt8(ascii: "~"), parameters == Array("200".utf8) { state = .paste([], ending: 0, count: 0) }
            return Key(final: byte, parameters: parameters)
        default: return begin(byte)
        }
    }

    private mutating func takeInString(_ byte: UInt8, _ afterEscape: Bool, _ count: Int) {
        switch byte {
        case 0x07: state = .ground
        case UInt8(ascii: "\\") where afterEscape: state = .ground
        default:
            let isTooLong = count >= Self.maximumString
            state = isTooLong ? .ground : .string(afterEscape: byte == Self.escape, count: count + 1)
        }
    }

    private mutating func takePasted(_ byte: UInt8, _ bytes: [UInt8], _ ending: Int, _ count: Int) -> Key? {
        guard count < Self.maximumPasteLength else {
            state = .ground
            return Self.pasted(bytes)
        }
        if byte == Self.pasteEnd[ending] {
            guard ending + 1 == Self.pasteEnd.count else {
                state = .paste(bytes, ending: ending + 1, count: count + 1)
                return nil
            }
            state = .ground
            return Self.pasted(bytes)
        }
        let begins = byte == Self.escape
        let kept = bytes + Self.pasteEnd.prefix(ending) + (begins ? [] : [byte])
        state = .paste(Array(kept.prefix(Self.maximumPaste)), ending: begins ? 1 : 0, count: count + 1)
        return nil
    }

    private static func pasted(_ bytes: [UInt8]) -> Key { .paste(String(decoding: bytes, as: UTF8.self)) }
}
