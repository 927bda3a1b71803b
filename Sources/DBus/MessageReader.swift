internal import CDBus

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A string inside a received message, compared without making a Swift string of it.
///
/// Valid as long as the message is, that is during the callback that delivers it.
package struct MessageString {
    private let start: UnsafePointer<CChar>?

    init(_ start: UnsafePointer<CChar>?) {
        self.start = start
    }

    package var string: String {
        start.map { String(cString: $0) } ?? ""
    }

    package static func == (text: MessageString, literal: StaticString) -> Bool {
        guard let start = text.start else { return false }
        return literal.withUTF8Buffer { literal in
            strncmp(start, literal.baseAddress!, literal.count) == 0 && start[literal.count] == 0
        }
    }

    package static func == (text: MessageString, other: String) -> Bool {
        guard let start = text.start else { return false }
        return other.withCString { strcmp(start, $0) == 0 }
    }

    package static func ~= (literal: StaticString, text: MessageString) -> Bool {
        text == literal
    }

    package func hasPrefix(_ literal: StaticString) -> Bool {
        guard let start else { return false }
        return literal.withUTF8Buffer { strncmp(start, $0.baseAddress!, $0.count) == 0 }
    }
}

/// A received message. Valid during the callback that delivers it, and not to be kept.
///
/// Sendable so that the callback can enter the actor on whose thread it runs already.
package struct IncomingMessage: @unchecked Sendable {
    private let message: OpaquePointer

    init(_ message: OpaquePointer) {
        self.message = message
    }

    package var sender: MessageString { MessageString(dbus_message_get_sender(message)) }
    package var path: MessageString { MessageString(dbus_message_get_path(message)) }
    package var interface: MessageString { MessageString(dbus_message_get_interface(message)) }
    package var member: MessageString { MessageString(dbus_message_get_member(message)) }

    /// A reader at the start of the body.
    package var body: MessageReader { MessageReader(message) }
}

/// Walks over the values of a message body in order.
///
/// Each read takes the value at the reader's position and moves on. A value of another type throws
/// ``DBusError/Kind/malformed``; ``skip()`` passes over a value whatever its type. Nothing is copied that is not asked
/// for. Valid as long as the message is.
package struct MessageReader {
    private var iterator = DBusMessageIter()

    init(_ message: OpaquePointer) {
        dbus_message_iter_init(message, &iterator)
    }

    private init(iterator: DBusMessageIter) {
        self.iterator = iterator
    }

    private mutating func type() -> UInt8 {
        UInt8(truncatingIfNeeded: dbus_message_iter_get_arg_type(&iterator))
    }

    /// True after the last value.
    package var isAtEnd: Bool {
        var copy = iterator
        return dbus_message_iter_get_arg_type(&copy) == 0
    }

    private mutating func expect(_ expected: Unicode.Scalar) throws(DBusError) {
        let found = type()
        guard found == UInt8(ascii: expected) else {
            let name = found == 0 ? "nothing" : String(UnicodeScalar(found))
            throw DBusError(.malformed, message: "expected a value of type \(expected), found \(name)")
        }
    }

    package mutating func skip() {
        dbus_message_iter_next(&iterator)
    }

    // MARK: Basic values

    private mutating func basic<T: BitwiseCopyable>(_ expected: Unicode.Scalar, _ zero: T) throws(DBusError) -> T {
        try expect(expected)
        var value = zero
        dbus_message_iter_get_basic(&iterator, &value)
        skip()
        return value
    }

    package mutating func boolean() throws(DBusError) -> Bool { try basic("b", UInt32(0)) != 0 }
    package mutating func byte() throws(DBusError) -> UInt8 { try basic("y", 0) }
    package mutating func int16() throws(DBusError) -> Int16 { try basic("n", 0) }
    package mutating func uint16() throws(DBusError) -> UInt16 { try basic("q", 0) }
    package mutating func uint32() throws(DBusError) -> UInt32 { try basic("u", 0) }
    package mutating func int32() throws(DBusError) -> Int32 { try basic("i", 0) }

    package mutating func text() throws(DBusError) -> MessageString {
        MessageString(try basic("s", UnsafePointer<CChar>?.none))
    }

    package mutating func string() throws(DBusError) -> String { try text().string }

    package mutating func objectPath() throws(DBusError) -> String {
        MessageString(try basic("o", UnsafePointer<CChar>?.none)).string
    }

    // MARK: Containers

    private mutating func entered(_ expected: Unicode.Scalar) throws(DBusError) -> MessageReader {
        try expect(expected)
        var inner = DBusMessageIter()
        dbus_message_iter_recurse(&iterator, &inner)
        skip()
        return MessageReader(iterator: inner)
    }

    /// A reader at the one value inside a variant.
    package mutating func variant() throws(DBusError) -> MessageReader { try entered("v") }

    /// A reader at the first element of an array or dictionary.
    package mutating func array() throws(DBusError) -> MessageReader { try entered("a") }

    /// A reader at the key of a dictionary entry, the value behind it.
    package mutating func entry() throws(DBusError) -> MessageReader { try entered("e") }

    /// `ay`, copied.
    package mutating func bytes() throws(DBusError) -> [UInt8] {
        try expect("a")
        guard dbus_message_iter_get_element_type(&iterator) == Int32(UInt8(ascii: "y")) else {
            throw DBusError(.malformed, message: "expected an array of bytes")
        }
        var inner = DBusMessageIter()
        dbus_message_iter_recurse(&iterator, &inner)
        var start: UnsafePointer<UInt8>?
        var count: Int32 = 0
        dbus_message_iter_get_fixed_array(&inner, &start, &count)
        skip()
        return [UInt8](UnsafeBufferPointer(start: start, count: Int(count)))
    }

    /// `as`, copied.
    package mutating func strings() throws(DBusError) -> [String] {
        var elements = try array()
        var strings: [String] = []
        while !elements.isAtEnd { strings.append(try elements.string()) }
        return strings
    }

    /// Each property of an `a{sv}`; the value reader stands inside the variant. What `body` leaves unread is skipped.
    package mutating func forEachProperty(
        _ body: (MessageString, inout MessageReader) throws(DBusError) -> Void
    ) throws(DBusError) {
        var entries = try array()
        while !entries.isAtEnd {
            var entry = try entries.entry()
            let name = try entry.text()
            var value = try entry.variant()
            try body(name, &value)
        }
    }

    /// Whatever stands here, as a value. Descriptors are not taken over and read as their type alone.
    package mutating func value() throws(DBusError) -> DBusValue {
        switch Unicode.Scalar(type()) {
        case "y": return .byte(try byte())
        case "b": return .boolean(try boolean())
        case "n": return .int16(try int16())
        case "q": return .uint16(try uint16())
        case "i": return .int32(try int32())
        case "u": return .uint32(try uint32())
        case "x": return .int64(try basic("x", 0))
        case "t": return .uint64(try basic("t", 0))
        case "d": return .double(try basic("d", 0))
        case "s": return .string(try string())
        case "o": return .objectPath(try objectPath())
        case "g": return .signature(MessageString(try basic("g", UnsafePointer<CChar>?.none)).string)
        case "v":
            var inner = try variant()
            return .variant(try inner.value())
        case "(":
            return .structure(try members())
        case "r":
            return .structure(try members())
        case "a": return try arrayValue()
        case let other:
            skip()
            throw DBusError(.malformed, message: "a value of type \(other) cannot be read here")
        }
    }

    private mutating func members() throws(DBusError) -> [DBusValue] {
        var inner = try entered("r")
        var values: [DBusValue] = []
        while !inner.isAtEnd { values.append(try inner.value()) }
        return values
    }

    private mutating func arrayValue() throws(DBusError) -> DBusValue {
        switch Unicode.Scalar(UInt8(truncatingIfNeeded: dbus_message_iter_get_element_type(&iterator))) {
        case "y":
            return .bytes(try bytes())
        case "e":
            var inner = try array()
            let signature = inner.signature
            var entries: [DBusValue: DBusValue] = [:]
            while !inner.isAtEnd {
                var entry = try inner.entry()
                let key = try entry.value()
                entries[key] = try entry.value()
            }
            // "{kv…}": the key is one character.
            let types = signature.dropFirst().dropLast()
            return .dictionary(key: String(types.prefix(1)), value: String(types.dropFirst()), entries)
        default:
            var inner = try array()
            let signature = inner.signature
            var values: [DBusValue] = []
            while !inner.isAtEnd { values.append(try inner.value()) }
            return .array(element: signature, values)
        }
    }

    /// The type of the value here; in an empty array, of the elements it would have.
    private var signature: String {
        var copy = iterator
        let text = dbus_message_iter_get_signature(&copy)
        defer { dbus_free(text) }
        return text.map { String(cString: $0) } ?? ""
    }
}
