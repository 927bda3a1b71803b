/// The characters in bytes of UTF-8 that arrive one by one.
struct TypedScalars {
    /// The bytes of a character that is not complete.
    private var pending: [UInt8] = []
    private var complete: [Unicode.Scalar] = []

    /// Takes a byte. A character that is not continued becomes U+FFFD.
    mutating func append(_ byte: UInt8) {
        if !pending.isEmpty, byte & 0xC0 != 0x80 {
            complete.append("\u{FFFD}")
            pending = []
        }
        pending.append(byte)
        guard pending.count == Self.length(pending[0]) else { return }
        complete += String(decoding: pending, as: UTF8.self).unicodeScalars
        pending = []
    }

    /// Returns the next complete character, and removes it.
    mutating func next() -> Unicode.Scalar? { complete.isEmpty ? nil : complete.removeFirst() }

    /// Returns the number of bytes of the character that a byte begins. 1 for a byte that begins none.
    private static func length(_ first: UInt8) -> Int {
        switch first {
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        default: 1
        }
    }
}
