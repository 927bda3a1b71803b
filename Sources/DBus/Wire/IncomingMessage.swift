#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A string in a received message, compared without making a Swift string.
///
/// Valid as long as the message, that is, during the callback that delivers it.
package struct MessageString {
    let characters: UnsafeRawBufferPointer

    package init(_ characters: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)) {
        self.characters = characters
    }

    /// The text in UTF-8.
    package var utf8: UnsafeRawBufferPointer { characters }

    package var string: String { String(decoding: characters, as: UTF8.self) }

    /// Whether the string is valid by the specification's chapter "Valid Object Paths".
    var isObjectPath: Bool {
        guard characters.first == UInt8(ascii: "/") else { return false }
        var before = UInt8(ascii: "/")
        for character in characters.dropFirst() {
            switch character {
            case UInt8(ascii: "/"): if before == character { return false }
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                break
            default: return false
            }
            before = character
        }
        return characters.count == 1 || before != UInt8(ascii: "/")
    }

    private func begins(with other: UnsafeRawPointer?, _ count: Int) -> Bool {
        guard count <= characters.count else { return false }
        guard count > 0, let other, let start = characters.baseAddress else { return true }
        return memcmp(start, other, count) == 0
    }

    package static func == (text: MessageString, literal: StaticString) -> Bool {
        text.characters.count == literal.utf8CodeUnitCount && text.hasPrefix(literal)
    }

    package static func == (text: MessageString, other: String) -> Bool {
        var other = other
        return other.withUTF8 { $0.count == text.characters.count && text.begins(with: $0.baseAddress, $0.count) }
    }

    package static func ~= (literal: StaticString, text: MessageString) -> Bool {
        text == literal
    }

    package func hasPrefix(_ literal: StaticString) -> Bool {
        literal.withUTF8Buffer { begins(with: $0.baseAddress, $0.count) }
    }
}

/// A received message. Valid only during the callback that delivers it.
///
/// Sendable so that the callback can enter the actor on whose thread it already runs.
package struct IncomingMessage: @unchecked Sendable {
    /// The message types of the specification.
    enum Kind: UInt8 {
        case call = 1
        case answer = 2
        case error = 3
        case signal = 4
    }

    /// Nil for a type that the specification may add later. Such messages are ignored.
    let kind: Kind?
    let serial: UInt32
    let wantsNoReply: Bool
    private(set) var replySerial: UInt32 = 0
    private(set) var errorName = MessageString()
    package private(set) var sender = MessageString()
    package private(set) var path = MessageString()
    package private(set) var interface = MessageString()
    package private(set) var member = MessageString()
    /// The number of descriptors that came with it.
    private(set) var descriptorCount: UInt32 = 0

    /// A reader at the start of the body.
    package let body: MessageReader

    /// The length of the fixed part of a header, including the length of the array of fields.
    static let fixedHeader = 16
    /// The maximum length of a message, by the specification.
    private static let maximum = 1 << 27

    /// Returns the length of the message that begins with this fixed part of a header.
    static func length(_ header: UnsafeRawBufferPointer) throws(DBusError) -> Int {
        let length = bodyStart(header) + Int(number(header, at: 4))
        guard isOrder(header[0]), header[3] == 1, length <= maximum else {
            throw DBusError(.malformed, message: "the bus sent bytes that are not a message")
        }
        return length
    }

    /// Reads the header of a complete message.
    init(_ bytes: UnsafeRawBufferPointer) throws(DBusError) {
        kind = Kind(rawValue: bytes[1])
        wantsNoReply = bytes[2] & 1 != 0
        serial = Self.number(bytes, at: 8)
        let isSwapped = bytes[0] != MessageWriter.byteOrder
        var fields = HeaderFields(bytes, isSwapped: isSwapped)
        var types = MessageString()
        while let (code, field) = try fields.next() {
            // The header fields of the specification.
            switch (code, field) {
            case (1, .text(let text)): path = text
            case (2, .text(let text)): interface = text
            case (3, .text(let text)): member = text
            case (4, .text(let text)): errorName = text
            case (5, .number(let number)): replySerial = number
            case (7, .text(let text)): sender = text
            case (8, .text(let text)): types = text
            case (9, .number(let number)): descriptorCount = number
            default: break
            }
        }
        body = MessageReader(
            message: bytes.baseAddress!, body: Self.bodyStart(bytes)..<bytes.count, types: types.characters,
            isSwapped: isSwapped)
    }

    private static func bodyStart(_ header: UnsafeRawBufferPointer) -> Int {
        (fixedHeader + Int(number(header, at: 12)) + 7) & ~7
    }

    fileprivate static func number(_ header: UnsafeRawBufferPointer, at offset: Int) -> UInt32 {
        let number = header.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        return header[0] == MessageWriter.byteOrder ? number : number.byteSwapped
    }

    private static func isOrder(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "l") || byte == UInt8(ascii: "B") }

    /// Changes the serial number that an answer refers to.
    static func setReplySerial(_ serial: UInt32, in answer: inout [UInt8]) {
        answer.withUnsafeMutableBytes { answer in
            let isSwapped = answer[0] != MessageWriter.byteOrder
            var fields = HeaderFields(UnsafeRawBufferPointer(answer), isSwapped: isSwapped)
            while let (code, _) = try? fields.next() {
                guard code == MessageHeader.Field.replySerial.rawValue else { continue }
                // The number is the last part of the field.
                answer.storeBytes(
                    of: isSwapped ? serial.byteSwapped : serial, toByteOffset: fields.offset - 4, as: UInt32.self)
            }
        }
    }
}

/// Iterates over the header fields of a message, an `a(yv)` whose values are nearly all strings.
private struct HeaderFields {
    enum Value {
        case text(MessageString)
        case number(UInt32)
        /// A type that no field of the current specification has.
        case other
    }

    private let message: UnsafeRawBufferPointer
    private let isSwapped: Bool
    private(set) var offset = IncomingMessage.fixedHeader
    private let end: Int

    init(_ message: UnsafeRawBufferPointer, isSwapped: Bool) {
        self.message = message
        self.isSwapped = isSwapped
        end = offset + Int(IncomingMessage.number(message, at: 12))
    }

    mutating func next() throws(DBusError) -> (code: UInt8, Value)? {
        offset = (offset + 7) & ~7
        guard offset < end else { return nil }
        // The code, the length and text of the signature, and the shortest value.
        guard offset + 6 <= end else { throw Self.malformed }
        let code = message[offset]
        guard message[offset + 1] == 1, message[offset + 3] == 0 else { return (code, try other()) }
        switch message[offset + 2] {
        case UInt8(ascii: "s"), UInt8(ascii: "o"):
            return (code, .text(try text(at: offset + 8, Int(try number()))))
        case UInt8(ascii: "g"):
            return (code, .text(try text(at: offset + 5, Int(message[offset + 4]))))
        case UInt8(ascii: "u"):
            defer { offset += 8 }
            return (code, .number(try number()))
        default:
            return (code, try other())
        }
    }

    private static let malformed = DBusError(.malformed, message: "an invalid message header")

    /// Returns the number after the field's signature.
    private func number() throws(DBusError) -> UInt32 {
        guard offset + 8 <= end else { throw Self.malformed }
        return IncomingMessage.number(message, at: offset + 4)
    }

    private mutating func text(at start: Int, _ count: Int) throws(DBusError) -> MessageString {
        guard count < end - start, message[start + count] == 0 else { throw Self.malformed }
        offset = start + count + 1
        return MessageString(UnsafeRawBufferPointer(rebasing: message[start..<start + count]))
    }

    private mutating func other() throws(DBusError) -> Value {
        let types: StaticString = "v"
        var reader = MessageReader(
            message: message.baseAddress!, body: offset + 1..<end,
            types: UnsafeRawBufferPointer(start: types.utf8Start, count: 1), isSwapped: isSwapped)
        _ = try reader.variant()
        offset = reader.offset
        return .other
    }
}
