/// Encodes the fields of a message in the encoding of protocol buffers.
///
/// As in version 3 of that language, a field with its default value, such as 0 or an empty text, is omitted.
package struct FieldWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Appends a number in groups of 7 bits, the least significant first.
    package static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private mutating func begin(_ field: Int, _ wireType: UInt64) {
        Self.append(UInt64(field) << 3 | wireType, to: &bytes)
    }

    /// Writes an unsigned number.
    package mutating func write(_ number: UInt64, _ field: Int) {
        guard number != 0 else { return }
        begin(field, 0)
        Self.append(number, to: &bytes)
    }

    package mutating func write(_ number: some UnsignedInteger, _ field: Int) { write(UInt64(number), field) }
    package mutating func write(_ value: Bool, _ field: Int) { write(UInt64(value ? 1 : 0), field) }

    /// Writes an `int32`: a negative number has ten bytes.
    package mutating func write(signed number: Int32, _ field: Int) {
        write(UInt64(bitPattern: Int64(number)), field)
    }

    /// Writes a `sint32`, whose sign is the lowest bit.
    package mutating func write(zigzag number: Int32, _ field: Int) {
        write(UInt64(UInt32(bitPattern: number << 1 ^ number >> 31)), field)
    }

    /// Writes bytes.
    package mutating func write(_ value: [UInt8], _ field: Int) {
        if !value.isEmpty { writeMessage(value, field) }
    }

    package mutating func write(_ text: String, _ field: Int) { write(Array(text.utf8), field) }

    /// Writes a message, even if it is empty.
    package mutating func writeMessage(_ message: [UInt8], _ field: Int) {
        begin(field, 2)
        Self.append(UInt64(message.count), to: &bytes)
        bytes += message
    }

    /// Writes a list of numbers.
    package mutating func write(packed numbers: [UInt64], _ field: Int) {
        var list: [UInt8] = []
        for number in numbers { Self.append(number, to: &list) }
        write(list, field)
    }
}
