#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Reads JSON text (RFC 8259), and refuses text that readers interpret differently: a duplicate key in an object, a
/// comma after the last value, and numbers out of range.
///
/// The time is proportional to the length of the text.
package struct JSONReader {
    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0
    /// The place of the value that is read, such as `services[0].uuid`.
    private var place = Entry.Place()

    /// The depth of lists and objects at which reading ends.
    private static let maximumDepth = 64

    private init(_ text: Data) { bytes = Array(text) }

    /// The length of a text whose reading ends with its task, in bytes.
    private static let longText = 1 << 16

    /// Reads a whole text. Throws `CancellationError` if the task is cancelled and the text is long.
    package static func read(_ text: Data) throws -> JSON {
        var reader = JSONReader(text)
        if reader.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
        let value = try reader.value()
        reader.skipSpace()
        guard reader.next == nil else { throw reader.mistake("more text follows its end") }
        return value
    }

    // MARK: Bytes

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, [0x20, 0x0A, 0x0D, 0x09].contains(byte) { position += 1 }
    }

    /// Skips whitespace and the given character. Returns whether the character was present.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    /// Returns an error at the current position.
    private func mistake(_ message: String) -> DefinitionError {
        let before = bytes[..<min(position, bytes.count)]
        let line = before.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
        let column = before.count - (before.lastIndex(of: 0x0A) ?? -1)
        return DefinitionError(place: place, message: "not JSON in line \(line), column \(column): \(message)")
    }

    // MARK: Values

    private mutating func value() throws -> JSON {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try nested { reader throws in try reader.object() }
        case UInt8(ascii: "["): return try nested { reader throws in try reader.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw mistake("the text ends too early")
        case let byte?:
            guard byte == UInt8(ascii: "-") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else {
                throw mistake("a value is missing")
            }
            return try number()
        }
    }

    private mutating func nested(_ read: (inout JSONReader) throws -> JSON) throws -> JSON {
        guard depth < Self.maximumDepth else { throw mistake("values are nested too deeply") }
        if bytes.count > Self.longText { try Task.checkCancellation() }
        position += 1
        depth += 1
        defer { depth -= 1 }
        return try read(&self)
    }

    private mutating func word(_ word: String, _ value: JSON) throws -> JSON {
        guard bytes[position...].starts(with: word.utf8) else { throw mistake("a value is missing") }
        position += word.utf8.count
        return value
    }

    private mutating func array() throws -> JSON {
        var values: [JSON] = []
        if take("]") { return .array(values) }
        let list = place
        defer { place = list }
        repeat {
            place = list[values.count]
            skipSpace()
            if next == UInt8(ascii: "]") { throw mistake("a comma is before the end of the list") }
            values.append(try value())
        } while take(",")
        guard take("]") else { throw mistake("a comma or the end of the list is missing") }
        return .array(values)
    }

    private mutating func object() throws -> JSON {
        var values: [String: JSON] = [:]
        if take("}") { return .object(values) }
        let object = place
        defer { place = object }
        repeat {
            place = object
            skipSpace()
            if next == UInt8(ascii: "}") { throw mistake("a comma is before the end of the object") }
            guard next == UInt8(ascii: "\"") else { throw mistake("a key is missing") }
            let key = try string()
            place = object[key]
            guard take(":") else { throw mistake("a colon is missing") }
            guard values.updateValue(try value(), forKey: key) == nil else {
                throw DefinitionError(place: object[key], message: "the key occurs twice")
            }
        } while take(",")
        place = object
        guard take("}") else { throw mistake("a comma or the end of the object is missing") }
        return .object(values)
    }

    // MARK: Numbers

    private mutating func number() throws -> JSON {
        let start = position
        if next == UInt8(ascii: "-") { position += 1 }
        let first = next
        let digits = skipDigits()
        guard digits == 1 || digits > 0 && first != UInt8(ascii: "0") else { throw mistake("not a number") }
        var isWhole = true
        if next == UInt8(ascii: ".") {
            isWhole = false
            position += 1
            guard skipDigits() > 0 else { throw mistake("not a number") }
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            isWhole = false
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            guard skipDigits() > 0 else { throw mistake("not a number") }
        }
        // No number in a definition has that many digits, and converting them would take long.
        guard position - start <= 400 else { throw mistake("the number is too long") }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isWhole, let value = Int(text) { return .int(value) }
        guard let value = Double(text), value.isFinite else { throw mistake("the number is too large") }
        return Int(exactly: value).map(JSON.int) ?? .double(value)
    }

    /// Returns the number of digits skipped.
    private mutating func skipDigits() -> Int {
        let start = position
        while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { position += 1 }
        return position - start
    }

    // MARK: Strings

    private mutating func string() throws -> String {
        position += 1
        var text = ""
        var start = position
        func piece(_ end: Int) throws -> String {
            guard let piece = String(validating: bytes[start..<end], as: UTF8.self) else {
                throw mistake("a string is not UTF-8")
            }
            return piece
        }
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                text += try piece(position)
                position += 1
                return text
            case UInt8(ascii: "\\"):
                text += try piece(position)
                position += 1
                text.unicodeScalars.append(try escaped())
                start = position
            case 0..<0x20: throw mistake("a control character in a string is not escaped")
            default: position += 1
            }
        }
        throw mistake("a string is not terminated")
    }

    /// Reads the rest of an escape after its backslash.
    private mutating func escaped() throws -> Unicode.Scalar {
        guard let byte = next else { throw mistake("a string is not terminated") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw mistake("an escape is unknown")
        }
        let unit = try codeUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        // The first half of a pair of surrogates.
        guard 0xD800...0xDBFF ~= unit, bytes[position...].starts(with: Array("\\u".utf8)) else {
            throw mistake("half of a surrogate pair")
        }
        position += 2
        let second = try codeUnit()
        guard 0xDC00...0xDFFF ~= second,
            let scalar = Unicode.Scalar(0x10000 + (UInt32(unit - 0xD800) << 10 | UInt32(second - 0xDC00)))
        else { throw mistake("half of a surrogate pair") }
        return scalar
    }

    /// Reads four hexadecimal digits.
    private mutating func codeUnit() throws -> UInt16 {
        guard position + 4 <= bytes.count else { throw mistake("a string is not terminated") }
        let digits = String(decoding: bytes[position..<position + 4], as: UTF8.self)
        guard digits.allSatisfy(\.isHexDigit), let value = UInt16(digits, radix: 16) else {
            throw mistake("an escape is unknown")
        }
        position += 4
        return value
    }
}
