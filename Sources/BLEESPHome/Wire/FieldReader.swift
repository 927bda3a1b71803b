/// Decodes the fields of a message in the encoding of protocol buffers, one after the other.
package struct FieldReader {
    /// The value of a field.
    package enum Value: Equatable {
        case number(UInt64)
        case bytes(ArraySlice<UInt8>)
    }

    private var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Returns the next field. Nil at the end of the message. Throws `truncated`, `numberTooLong` or `invalidField`.
    package mutating func next() throws(WireError) -> (field: Int, value: Value)? {
        guard !rest.isEmpty else { return nil }
        let key = try number()
        // Field numbers have 29 bits.
        guard key >= 8, let field = Int32(exactly: key >> 3) else { throw .invalidField }
        switch key & 7 {
        case 0: return (Int(field), .number(try number()))
        case 1: return (Int(field), .number(try fixed(8)))
        case 2:
            guard let count = Int(exactly: try number()), count <= rest.count else { throw .truncated }
            defer { rest.removeFirst(count) }
            return (Int(field), .bytes(rest.prefix(count)))
        case 5: return (Int(field), .number(try fixed(4)))
        default: throw .invalidField
        }
    }

    private mutating func number() throws(WireError) -> UInt64 {
        guard let (number, count) = try Self.number(in: rest) else { throw .truncated }
        rest.removeFirst(count)
        return number
    }

    private mutating func fixed(_ count: Int) throws(WireError) -> UInt64 {
        guard count <= rest.count else { throw .truncated }
        defer { rest.removeFirst(count) }
        return rest.prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Reads a number at the beginning of `bytes`. Nil if its end is missing. Throws `numberTooLong`.
    package static func number(
        in bytes: ArraySlice<UInt8>
    ) throws(WireError) -> (number: UInt64, count: Int)? {
        var (result, shift): (UInt64, UInt64) = (0, 0)
        for (index, byte) in bytes.enumerated() {
            // The tenth byte holds the highest bit alone.
            guard shift < 63 || byte <= 1 else { throw .numberTooLong }
            result |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return (result, index + 1) }
            shift += 7
        }
        return nil
    }
}

extension FieldReader.Value {
    /// The number. 0 for bytes, as if the field were missing.
    package var number: UInt64 { if case .number(let number) = self { number } else { 0 } }
    package var isTrue: Bool { number != 0 }
    /// The number as an `int32`.
    package var signed: Int32 { Int32(truncatingIfNeeded: number) }
    /// The number as a `sint32`.
    package var zigzag: Int32 {
        let bits = UInt32(truncatingIfNeeded: number)
        return Int32(bitPattern: bits >> 1) ^ -Int32(bitPattern: bits & 1)
    }
    /// The bytes. Empty for a number.
    package var bytes: ArraySlice<UInt8> { if case .bytes(let bytes) = self { bytes } else { [] } }
    package var array: [UInt8] { Array(bytes) }

    /// The bytes as text. Throws `invalidText`.
    package func text() throws(WireError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .invalidText }
        return text
    }

    /// Appends the numbers of a list, or the one number of a field that is not a list. Throws `truncated` and
    /// `numberTooLong`.
    package func append(to numbers: inout [UInt64]) throws(WireError) {
        guard case .bytes(var rest) = self else { return numbers.append(number) }
        while !rest.isEmpty {
            guard let (number, count) = try FieldReader.number(in: rest) else { throw .truncated }
            numbers.append(number)
            rest.removeFirst(count)
        }
    }
}
