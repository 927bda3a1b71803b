#if Gateway
    internal import CMosquitto

    #if canImport(Glibc)
        internal import Glibc
    #elseif canImport(Musl)
        internal import Musl
    #endif

    /// The properties of a received packet, in libmosquitto's form. Valid during a callback.
    struct ReceivedProperties: Sequence, IteratorProtocol {
        private var rest: OpaquePointer?

        init(_ first: OpaquePointer?) { rest = first }

        mutating func next() -> ReceivedProperty? {
            guard let current = rest else { return nil }
            rest = mosquitto_property_next(current)
            return ReceivedProperty(pointer: current)
        }
    }

    struct ReceivedProperty {
        fileprivate let pointer: OpaquePointer

        private var identifier: Int32 { mosquitto_property_identifier(pointer) }
        var kind: mqtt5_property { mqtt5_property(rawValue: UInt32(identifier)) }

        // Each returns zero or an empty value if the property has another type.

        var byte: UInt8 { read(0) { mosquitto_property_read_byte(pointer, identifier, &$0, false) } }
        var int16: UInt16 { read(0) { mosquitto_property_read_int16(pointer, identifier, &$0, false) } }
        var int32: UInt32 { read(0) { mosquitto_property_read_int32(pointer, identifier, &$0, false) } }
        var varint: UInt32 { read(0) { mosquitto_property_read_varint(pointer, identifier, &$0, false) } }

        private func read<Value>(_ initial: Value, _ body: (inout Value) -> OpaquePointer?) -> Value {
            var value = initial
            _ = body(&value)
            return value
        }

        var string: String {
            var text: UnsafeMutablePointer<CChar>?
            _ = mosquitto_property_read_string(pointer, identifier, &text, false)
            return Self.take(text)
        }

        var pair: (String, String) {
            var (name, value): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
            _ = mosquitto_property_read_string_pair(pointer, identifier, &name, &value, false)
            return (Self.take(name), Self.take(value))
        }

        private static func take(_ text: UnsafeMutablePointer<CChar>?) -> String {
            defer { free(text) }
            return text.map { String(cString: $0) } ?? ""
        }

        var binary: [UInt8] {
            var (bytes, count): (UnsafeMutableRawPointer?, UInt16)
            (bytes, count) = (nil, 0)
            _ = mosquitto_property_read_binary(pointer, identifier, &bytes, &count, false)
            defer { free(bytes) }
            return Array(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : Int(count)))
        }
    }
#endif
