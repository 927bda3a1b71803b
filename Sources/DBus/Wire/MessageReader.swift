/// Reads the values of a message body in order.
///
/// Each read returns the value at the reader's position and moves on. A value of another type, or one that exceeds the
/// message, throws ``DBusError/Kind/malformed``; ``skip()`` skips a value of any type. Only the requested values are
/// copied. Valid as long as the message.
///
/// The format is that of the D-Bus specification, chapter "Message Protocol".
package struct MessageReader {
    /// The start of the message, to which alignment is relative.
    private let message: UnsafeRawPointer
    /// The position of the next value, or of the padding before it.
    private(set) var offset: Int
    private let end: Int
    /// The types of the remaining values; in an array, the type of one element.
    private(set) var types: UnsafeRawBufferPointer
    /// Whether the reader is in an array, where the types stay the same from value to value.
    private let isArray: Bool
    /// Whether the message's numbers are not in the machine's byte order.
    private let isSwapped: Bool
    /// The number of containers around this reader.
    private let depth: Int

    /// The specification permits 32 nested arrays and 32 nested structures. Deeper nesting could exhaust the stack.
    private static let maximumDepth = 64
    /// The maximum length of an array, in bytes, by the specification.
    private static let maximumArray = 1 << 26

    init(message: UnsafeRawPointer, body: Range<Int>, types: UnsafeRawBufferPointer, isSwapped: Bool) {
        self.message = message
        offset = body.lowerBound
        end = body.upperBound
        self.types = types
        isArray = false
        self.isSwapped = isSwapped
        depth = 0
    }

    private init(inside outer: borrowing MessageReader, end: Int, types: UnsafeRawBufferPointer, isArray: Bool) {
        message = outer.message
        offset = outer.offset
        self.end = end
        self.types = types
        self.isArray = isArray
        isSwapped = outer.isSwapped
        depth = outer.depth + 1
    }

    /// The type of the value at the reader's position; 0 after the last value.
    var type: UInt8 {
        guard let type = types.first, !isArray || offset < end else { return 0 }
        return type
    }

    /// Whether the last value has been read.
    package var isAtEnd: Bool { type == 0 }

    // MARK: Bytes

    static func malformed(_ what: String) -> DBusError { DBusError(.malformed, message: what) }

    private static let truncated = malformed("the message ends within a value")

    private func expect(_ expected: UInt8) throws(DBusError) {
        guard type != expected else { return }
        let found = type == 0 ? "nothing" : String(UnicodeScalar(type))
        throw Self.malformed("expected a value of type \(UnicodeScalar(expected)), found \(found)")
    }

    private mutating func align(to alignment: Int) {
        offset = (offset + alignment - 1) & ~(alignment - 1)
    }

    /// Moves over `count` bytes, and returns their start.
    private mutating func pass(_ count: Int) throws(DBusError) -> UnsafeRawPointer {
        guard count <= end - offset else { throw Self.truncated }
        defer { offset += count }
        return message + offset
    }

    private mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(
        _: Number.Type
    ) throws(DBusError) -> Number {
        align(to: MemoryLayout<Number>.size)
        let value = try pass(MemoryLayout<Number>.size).loadUnaligned(as: Number.self)
        return isSwapped ? value.byteSwapped : value
    }

    /// Reads text of `count` bytes, and the zero after it.
    private mutating func characters(_ count: Int) throws(DBusError) -> UnsafeRawBufferPointer {
        let start = try pass(count + 1)
        guard start.load(fromByteOffset: count, as: UInt8.self) == 0 else {
            throw Self.malformed("a text without a zero at its end")
        }
        return UnsafeRawBufferPointer(start: start, count: count)
    }

    // MARK: Types

    /// Moves on to the types after those of the value that was read.
    private mutating func moveOn(over count: Int = 1) {
        if !isArray { types = UnsafeRawBufferPointer(rebasing: types.dropFirst(count)) }
    }

    /// Returns the number of characters of the first complete type.
    private static func length(ofTypeIn types: UnsafeRawBufferPointer) throws(DBusError) -> Int {
        var depth = 0
        for (index, type) in types.enumerated() {
            switch type {
            case UInt8(ascii: "a"): continue
            case UInt8(ascii: "("), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
            if depth == 0 { return index + 1 }
            if depth < 0 { break }
        }
        throw malformed("an invalid signature")
    }

    static func alignment(of type: UInt8) -> Int {
        switch type {
        case UInt8(ascii: "n"), UInt8(ascii: "q"): 2
        case UInt8(ascii: "b"), UInt8(ascii: "i"), UInt8(ascii: "u"), UInt8(ascii: "h"), UInt8(ascii: "s"),
            UInt8(ascii: "o"), UInt8(ascii: "a"):
            4
        case UInt8(ascii: "x"), UInt8(ascii: "t"), UInt8(ascii: "d"), UInt8(ascii: "("), UInt8(ascii: "{"): 8
        default: 1
        }
    }

    // MARK: Skipping

    /// Skips the value at the reader's position. If it cannot be read, the reader moves to its end.
    package mutating func skip() {
        do throws(DBusError) {
            try pass()
        } catch {
            offset = end
            types = UnsafeRawBufferPointer(rebasing: types.prefix(0))
        }
    }

    private mutating func pass() throws(DBusError) {
        switch type {
        case UInt8(ascii: "y"): _ = try pass(1)
        case UInt8(ascii: "n"), UInt8(ascii: "q"): _ = try number(UInt16.self)
        case UInt8(ascii: "b"), UInt8(ascii: "i"), UInt8(ascii: "u"), UInt8(ascii: "h"): _ = try number(UInt32.self)
        case UInt8(ascii: "x"), UInt8(ascii: "t"), UInt8(ascii: "d"): _ = try number(UInt64.self)
        case UInt8(ascii: "s"), UInt8(ascii: "o"): _ = try characters(Int(try number(UInt32.self)))
        case UInt8(ascii: "g"): _ = try characters(Int(try number(UInt8.self)))
        case UInt8(ascii: "v"):
            _ = try variant()
            return
        case UInt8(ascii: "a"):
            _ = try array()
            return
        case UInt8(ascii: "("), UInt8(ascii: "{"):
            _ = try members()
            return
        case 0: return
        case let other: throw Self.malformed("a value of type \(UnicodeScalar(other)) is unknown")
        }
        moveOn()
    }

    // MARK: Basic values

    mutating func integer<Number: FixedWidthInteger & BitwiseCopyable>(
        _ type: UInt8, _ number: Number.Type
    ) throws(DBusError) -> Number {
        try expect(type)
        let value = try self.number(number)
        moveOn()
        return value
    }

    package mutating func boolean() throws(DBusError) -> Bool { try integer(UInt8(ascii: "b"), UInt32.self) != 0 }
    package mutating func byte() throws(DBusError) -> UInt8 { try integer(UInt8(ascii: "y"), UInt8.self) }
    package mutating func int16() throws(DBusError) -> Int16 { try integer(UInt8(ascii: "n"), Int16.self) }
    package mutating func uint16() throws(DBusError) -> UInt16 { try integer(UInt8(ascii: "q"), UInt16.self) }
    package mutating func uint32() throws(DBusError) -> UInt32 { try integer(UInt8(ascii: "u"), UInt32.self) }
    package mutating func int32() throws(DBusError) -> Int32 { try integer(UInt8(ascii: "i"), Int32.self) }

    mutating func text(_ type: UInt8) throws(DBusError) -> MessageString {
        try expect(type)
        let count = type == UInt8(ascii: "g") ? Int(try number(UInt8.self)) : Int(try number(UInt32.self))
        let text = MessageString(try characters(count))
        moveOn()
        return text
    }

    package mutating func text() throws(DBusError) -> MessageString { try text(UInt8(ascii: "s")) }

    package mutating func string() throws(DBusError) -> String { try text().string }

    /// Reads an object path. Throws ``DBusError/Kind/malformed`` for an invalid one, because no call could be sent
    /// there.
    package mutating func path() throws(DBusError) -> MessageString {
        let path = try text(UInt8(ascii: "o"))
        guard path.isObjectPath else { throw Self.malformed("an invalid object path") }
        return path
    }

    package mutating func objectPath() throws(DBusError) -> String { try path().string }

    // MARK: Containers

    /// Returns a reader at the one value in a variant.
    package mutating func variant() throws(DBusError) -> MessageReader {
        try expect(UInt8(ascii: "v"))
        let inner = try variantHere()
        moveOn()
        return inner
    }

    /// Returns a reader at the value of the variant at the reader's position, and moves over it.
    private mutating func variantHere() throws(DBusError) -> MessageReader {
        guard depth < Self.maximumDepth else { throw Self.malformed("values nested too deeply") }
        let types = try characters(Int(try number(UInt8.self)))
        guard types.count > 0, try Self.length(ofTypeIn: types) == types.count else {
            throw Self.malformed("a variant that does not contain exactly one value")
        }
        let inner = MessageReader(inside: self, end: end, types: types, isArray: false)
        var behind = inner
        try behind.pass()
        offset = behind.offset
        return inner
    }

    /// Returns a reader at the first element of an array or dictionary.
    package mutating func array() throws(DBusError) -> MessageReader {
        try expect(UInt8(ascii: "a"))
        guard depth < Self.maximumDepth else { throw Self.malformed("values nested too deeply") }
        let count = Int(try number(UInt32.self))
        let elements = UnsafeRawBufferPointer(rebasing: types.dropFirst())
        let length = try Self.length(ofTypeIn: elements)
        align(to: Self.alignment(of: elements[0]))
        guard count <= Self.maximumArray, count <= end - offset else { throw Self.truncated }
        let inner = MessageReader(
            inside: self, end: offset + count, types: UnsafeRawBufferPointer(rebasing: elements.prefix(length)),
            isArray: true)
        offset += count
        moveOn(over: 1 + length)
        return inner
    }

    /// Returns a reader at the first member of a structure.
    package mutating func structure() throws(DBusError) -> MessageReader {
        try expect(UInt8(ascii: "("))
        return try members()
    }

    /// Returns a reader at the key of a dictionary entry, which the value follows.
    package mutating func entry() throws(DBusError) -> MessageReader {
        try expect(UInt8(ascii: "{"))
        return try members()
    }

    mutating func members() throws(DBusError) -> MessageReader {
        guard depth < Self.maximumDepth else { throw Self.malformed("values nested too deeply") }
        let length = try Self.length(ofTypeIn: types)
        align(to: 8)
        let inner = MessageReader(
            inside: self, end: end, types: UnsafeRawBufferPointer(rebasing: types.prefix(length - 1).dropFirst()),
            isArray: false)
        var behind = inner
        while behind.type != 0 { try behind.pass() }
        // An array could contain any number of empty structures.
        guard behind.offset > offset else { throw Self.malformed("a structure without members") }
        offset = behind.offset
        moveOn(over: length)
        return inner
    }

    /// Reads an `ay`, and copies it.
    package mutating func bytes() throws(DBusError) -> [UInt8] {
        var inner = try array()
        guard inner.types.first == UInt8(ascii: "y") else { throw Self.malformed("expected an array of bytes") }
        let count = inner.end - inner.offset
        return [UInt8](UnsafeRawBufferPointer(start: try inner.pass(count), count: count))
    }

    /// Reads an `as`, and copies it.
    package mutating func strings() throws(DBusError) -> [String] {
        var elements = try array()
        var strings: [String] = []
        while !elements.isAtEnd { strings.append(try elements.string()) }
        return strings
    }

    /// Calls `body` for each element of an `as`.
    package mutating func forEachText(_ body: (MessageString) -> Void) throws(DBusError) {
        var elements = try array()
        while !elements.isAtEnd { body(try elements.text()) }
    }

    /// Calls `body` for each property of an `a{sv}`, with a reader in the variant. Values that `body` does not read are
    /// skipped.
    package mutating func forEachProperty(
        _ body: (MessageString, inout MessageReader) throws(DBusError) -> Void
    ) throws(DBusError) {
        var entries = try array()
        guard entries.types.elementsEqual("{sv}".utf8) else { throw Self.malformed("expected an array of properties") }
        while !entries.isAtEnd {
            // Aligns to the entry's members, without checking what follows.
            entries.align(to: 8)
            let name = MessageString(try entries.characters(Int(try entries.number(UInt32.self))))
            var value = try entries.variantHere()
            try body(name, &value)
        }
    }
}
