import CGLib
import Testing

@testable import DBus

/// Messages as GDBus writes and reads them.
enum GDBusMessage {
    /// Returns a method call.
    static func call(_ arguments: [DBusValue], serial: UInt32) throws -> [UInt8] {
        let message = g_dbus_message_new_method_call("a.b", "/c/d", "e.f", "Method")!
        defer { g_object_unref(UnsafeMutableRawPointer(message)) }
        g_dbus_message_set_body(message, DBusValue.makeTuple(arguments))
        g_dbus_message_set_serial(message, serial)
        var count: gsize = 0
        let start = try #require(g_dbus_message_to_blob(message, &count, G_DBUS_CAPABILITY_FLAGS_NONE, nil))
        defer { g_free(start) }
        return [UInt8](UnsafeBufferPointer(start: start, count: Int(count)))
    }

    /// Returns the body of a message; nil if GDBus cannot read it.
    static func body(_ bytes: [UInt8]) -> [DBusValue]? {
        var bytes = bytes
        guard
            let message = g_dbus_message_new_from_blob(
                &bytes, gsize(bytes.count), G_DBUS_CAPABILITY_FLAGS_UNIX_FD_PASSING, nil)
        else { return nil }
        defer { g_object_unref(UnsafeMutableRawPointer(message)) }
        return g_dbus_message_get_body(message).map { DBusValue.children(of: $0) } ?? []
    }
}

extension DBusValue {
    /// Creates a floating GVariant.
    func makeGVariant() -> OpaquePointer {
        switch self {
        case .byte(let value): g_variant_new_byte(value)
        case .boolean(let value): g_variant_new_boolean(value ? 1 : 0)
        case .int16(let value): g_variant_new_int16(value)
        case .uint16(let value): g_variant_new_uint16(value)
        case .int32(let value): g_variant_new_int32(value)
        case .uint32(let value): g_variant_new_uint32(value)
        case .int64(let value): g_variant_new_int64(gint64(value))
        case .uint64(let value): g_variant_new_uint64(guint64(value))
        case .double(let value): g_variant_new_double(value)
        case .string(let value): g_variant_new_string(value)
        case .objectPath(let value): g_variant_new_object_path(value)
        case .signature(let value): g_variant_new_signature(value)
        case .unixFD(let value): g_variant_new_handle(value)
        case .bytes(let value):
            value.withUnsafeBytes { bytes in
                let type = g_variant_type_new("y")
                defer { g_variant_type_free(type) }
                return g_variant_new_fixed_array(type, bytes.baseAddress, gsize(bytes.count), 1)
            }
        case .array(let element, let values):
            DBusValue.build(signature) { builder in
                for value in values {
                    if element.hasPrefix("{"), case .structure(let entry) = value {
                        g_variant_builder_add_value(
                            builder, g_variant_new_dict_entry(entry[0].makeGVariant(), entry[1].makeGVariant()))
                    } else {
                        g_variant_builder_add_value(builder, value.makeGVariant())
                    }
                }
            }
        case .dictionary(_, _, let entries):
            DBusValue.build(signature) { builder in
                for (key, value) in entries {
                    g_variant_builder_add_value(
                        builder, g_variant_new_dict_entry(key.makeGVariant(), value.makeGVariant()))
                }
            }
        case .structure(let members): DBusValue.makeTuple(members)
        case .variant(let value): g_variant_new_variant(value.makeGVariant())
        }
    }

    /// Creates a floating tuple, the type of every message body.
    static func makeTuple(_ members: [DBusValue]) -> OpaquePointer {
        let children: [OpaquePointer?] = members.map { $0.makeGVariant() }
        return children.withUnsafeBufferPointer { g_variant_new_tuple($0.baseAddress, gsize($0.count)) }
    }

    private static func build(
        _ signature: String, _ body: (UnsafeMutablePointer<GVariantBuilder>) -> Void
    ) -> OpaquePointer {
        let type = g_variant_type_new(signature)
        defer { g_variant_type_free(type) }
        let builder = g_variant_builder_new(type)!
        defer { g_variant_builder_unref(builder) }
        body(builder)
        return g_variant_builder_end(builder)
    }

    init(_ variant: OpaquePointer) {
        switch UInt8(bitPattern: Int8(g_variant_classify(variant).rawValue)) {
        case UInt8(ascii: "y"): self = .byte(g_variant_get_byte(variant))
        case UInt8(ascii: "b"): self = .boolean(g_variant_get_boolean(variant) != 0)
        case UInt8(ascii: "n"): self = .int16(g_variant_get_int16(variant))
        case UInt8(ascii: "q"): self = .uint16(g_variant_get_uint16(variant))
        case UInt8(ascii: "i"): self = .int32(g_variant_get_int32(variant))
        case UInt8(ascii: "u"): self = .uint32(g_variant_get_uint32(variant))
        case UInt8(ascii: "x"): self = .int64(Int64(g_variant_get_int64(variant)))
        case UInt8(ascii: "t"): self = .uint64(UInt64(g_variant_get_uint64(variant)))
        case UInt8(ascii: "d"): self = .double(g_variant_get_double(variant))
        case UInt8(ascii: "s"): self = .string(String(cString: g_variant_get_string(variant, nil)))
        case UInt8(ascii: "o"): self = .objectPath(String(cString: g_variant_get_string(variant, nil)))
        case UInt8(ascii: "g"): self = .signature(String(cString: g_variant_get_string(variant, nil)))
        case UInt8(ascii: "h"): self = .unixFD(g_variant_get_handle(variant))
        case UInt8(ascii: "v"):
            let inner = g_variant_get_variant(variant)!
            defer { g_variant_unref(inner) }
            self = .variant(DBusValue(inner))
        case UInt8(ascii: "a"): self = DBusValue.array(variant)
        default: self = .structure(DBusValue.children(of: variant))
        }
    }

    /// Returns the members of a message body.
    static func children(of variant: OpaquePointer) -> [DBusValue] {
        (0..<g_variant_n_children(variant)).map { index in
            let child = g_variant_get_child_value(variant, index)!
            defer { g_variant_unref(child) }
            return DBusValue(child)
        }
    }

    private static func array(_ variant: OpaquePointer) -> DBusValue {
        let signature = String(cString: g_variant_get_type_string(variant)).dropFirst()
        if signature == "y" {
            var count: gsize = 0
            let start = g_variant_get_fixed_array(variant, &count, 1)
            return .bytes([UInt8](UnsafeRawBufferPointer(start: start, count: Int(count))))
        }
        guard signature.first == "{" else {
            return .array(element: String(signature), children(of: variant))
        }
        var entries: [DBusValue: DBusValue] = [:]
        for index in 0..<g_variant_n_children(variant) {
            let entry = g_variant_get_child_value(variant, index)!
            defer { g_variant_unref(entry) }
            let pair = children(of: entry)
            entries[pair[0]] = pair[1]
        }
        let inner = signature.dropFirst().dropLast()
        // A dictionary's key is always a basic type, one character.
        return .dictionary(key: String(inner.prefix(1)), value: String(inner.dropFirst()), entries)
    }
}
