/// A D-Bus value with its type.
///
/// Containers carry the signature of their elements, so that an empty one still has a type.
package indirect enum DBusValue: Hashable, Sendable {
    case byte(UInt8)
    case boolean(Bool)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    case string(String)
    case objectPath(String)
    case signature(String)
    /// The index of a file descriptor in the message's list.
    case unixFD(Int32)
    /// `ay`, the type of every attribute value.
    case bytes([UInt8])
    case array(element: String, [DBusValue])
    case dictionary(key: String, value: String, [DBusValue: DBusValue])
    case structure([DBusValue])
    case variant(DBusValue)

    /// The value's type in D-Bus notation.
    package var signature: String {
        switch self {
        case .byte: "y"
        case .boolean: "b"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .unixFD: "h"
        case .bytes: "ay"
        case .array(let element, _): "a\(element)"
        case .dictionary(let key, let value, _): "a{\(key)\(value)}"
        case .structure(let members): "(\(members.map(\.signature).joined()))"
        case .variant: "v"
        }
    }

    /// Returns an `a{sv}`, the type of every option list, with each value in a variant.
    package static func options(_ options: [String: DBusValue] = [:]) -> DBusValue {
        .dictionary(
            key: "s", value: "v",
            Dictionary(uniqueKeysWithValues: options.map { (.string($0), .variant($1)) }))
    }

    /// Returns a dictionary whose entries keep their order on the bus.
    package static func orderedDictionary(
        key: String, value: String, _ entries: [(DBusValue, DBusValue)]
    ) -> DBusValue {
        .array(element: "{\(key)\(value)}", entries.map { .structure([$0, $1]) })
    }

    package static func strings(_ strings: [String]) -> DBusValue {
        .array(element: "s", strings.map { .string($0) })
    }

    /// The value inside the variants around it.
    package var unwrapped: DBusValue {
        if case .variant(let value) = self { value.unwrapped } else { self }
    }

    // MARK: Values by type, nil for other types

    package var string: String? {
        switch self {
        case .string(let value), .objectPath(let value), .signature(let value): value
        case .variant(let value): value.string
        default: nil
        }
    }

    package var boolean: Bool? {
        switch self {
        case .boolean(let value): value
        case .variant(let value): value.boolean
        default: nil
        }
    }

    package var bytes: [UInt8]? {
        switch self {
        case .bytes(let value): value
        case .variant(let value): value.bytes
        default: nil
        }
    }

    /// The value of any integer type, as an `Int`.
    package var integer: Int? {
        switch self {
        case .byte(let value): Int(value)
        case .int16(let value): Int(value)
        case .uint16(let value): Int(value)
        case .int32(let value): Int(value)
        case .uint32(let value): Int(value)
        case .int64(let value): Int(value)
        case .uint64(let value): Int(exactly: value)
        case .unixFD(let value): Int(value)
        case .variant(let value): value.integer
        default: nil
        }
    }

    package var elements: [DBusValue]? {
        switch self {
        case .array(_, let values), .structure(let values): values
        case .variant(let value): value.elements
        default: nil
        }
    }

    /// Returns an entry of a dictionary with string keys, such as `a{sv}`, without its variant.
    package subscript(key key: String) -> DBusValue? {
        guard case .dictionary(_, _, let entries) = unwrapped else { return nil }
        return entries[.string(key)]?.unwrapped
    }
}
