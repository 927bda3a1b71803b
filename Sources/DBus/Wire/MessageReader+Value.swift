extension MessageReader {
    /// Reads the value at the reader's position, whatever its type. A descriptor is read as its index only.
    package mutating func value() throws(DBusError) -> DBusValue {
        switch type {
        case UInt8(ascii: "y"): return .byte(try byte())
        case UInt8(ascii: "b"): return .boolean(try boolean())
        case UInt8(ascii: "n"): return .int16(try int16())
        case UInt8(ascii: "q"): return .uint16(try uint16())
        case UInt8(ascii: "i"): return .int32(try int32())
        case UInt8(ascii: "u"): return .uint32(try uint32())
        case UInt8(ascii: "x"): return .int64(try integer(type, Int64.self))
        case UInt8(ascii: "t"): return .uint64(try integer(type, UInt64.self))
        case UInt8(ascii: "d"): return .double(Double(bitPattern: try integer(type, UInt64.self)))
        case UInt8(ascii: "h"): return .unixFD(Int32(truncatingIfNeeded: try integer(type, UInt32.self)))
        case UInt8(ascii: "s"): return .string(try string())
        case UInt8(ascii: "o"): return .objectPath(try objectPath())
        case UInt8(ascii: "g"): return .signature(try text(type).string)
        case UInt8(ascii: "v"):
            var inner = try variant()
            return .variant(try inner.value())
        case UInt8(ascii: "("):
            var inner = try members()
            var values: [DBusValue] = []
            while !inner.isAtEnd { values.append(try inner.value()) }
            return .structure(values)
        case UInt8(ascii: "a"): return try arrayValue()
        case 0: throw Self.malformed("expected a value, found nothing")
        case let other: throw Self.malformed("a value of type \(UnicodeScalar(other)) cannot be read here")
        }
    }

    private mutating func arrayValue() throws(DBusError) -> DBusValue {
        var copy = self
        var inner = try array()
        switch inner.types[0] {
        case UInt8(ascii: "y"):
            return .bytes(try copy.bytes())
        case UInt8(ascii: "{"):
            var entries: [DBusValue: DBusValue] = [:]
            // "{kv…}": the key is one character.
            let types = String(decoding: inner.types.dropFirst().dropLast(), as: UTF8.self)
            while !inner.isAtEnd {
                var entry = try inner.entry()
                let key = try entry.value()
                entries[key] = try entry.value()
            }
            return .dictionary(key: String(types.prefix(1)), value: String(types.dropFirst()), entries)
        default:
            var values: [DBusValue] = []
            let element = String(decoding: inner.types, as: UTF8.self)
            while !inner.isAtEnd { values.append(try inner.value()) }
            return .array(element: element, values)
        }
    }
}
