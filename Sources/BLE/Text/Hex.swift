/// Bytes as hexadecimal text.
public enum Hex {
    /// Two lowercase digits per byte, without separators.
    public static func string(_ bytes: some Sequence<UInt8>) -> String {
        var digits: [UInt8] = []
        for byte in bytes {
            digits.append(digit(byte >> 4))
            digits.append(digit(byte & 0xF))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// Parses bytes of two digits each, in upper or lower case.
    ///
    /// Spaces, colons and dashes between bytes, and a leading `0x`, are allowed. Nil for any other text. An empty text
    /// has no bytes.
    public static func bytes(_ text: String) -> [UInt8]? {
        var text = Substring(text)
        if text.hasPrefix("0x") || text.hasPrefix("0X") { text = text.dropFirst(2) }
        var bytes: [UInt8] = []
        var high: UInt8?
        for scalar in text.unicodeScalars {
            if high == nil, scalar == " " || scalar == ":" || scalar == "-" { continue }
            guard scalar.isASCII, let value = Character(scalar).hexDigitValue else { return nil }
            if let first = high {
                bytes.append(first << 4 | UInt8(value))
                high = nil
            } else {
                high = UInt8(value)
            }
        }
        return high == nil ? bytes : nil
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
