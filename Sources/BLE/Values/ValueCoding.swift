/// Encodes and decodes a characteristic's value.
public struct ValueCoding<Value: Sendable>: Sendable {
    /// Decodes a value. Throws `invalidValue`.
    public let decode: @Sendable ([UInt8]) throws(BLEError) -> Value
    /// Encodes a value. Throws `notSupported` for a type that is only received.
    public let encode: @Sendable (Value) throws(BLEError) -> [UInt8]

    /// Creates a coding for both directions.
    public init(
        decode: @escaping @Sendable ([UInt8]) throws(BLEError) -> Value,
        encode: @escaping @Sendable (Value) throws(BLEError) -> [UInt8]
    ) {
        self.decode = decode
        self.encode = encode
    }

    /// Creates a coding for a value that peripherals send and that is never written.
    public init(receiveOnly decode: @escaping @Sendable ([UInt8]) throws(BLEError) -> Value) {
        self.init(decode: decode) { (_) throws(BLEError) in
            throw BLEError(.notSupported, "a \(Value.self) cannot be written")
        }
    }
}

extension ValueCoding where Value == [UInt8] {
    /// The raw bytes, unchanged.
    public static var bytes: Self { ValueCoding(decode: { $0 }, encode: { $0 }) }
}

extension ValueCoding where Value: ValueCodable {
    /// The coding that the ``ValueCodable`` type defines.
    public static var codable: Self {
        ValueCoding(
            decode: { (bytes) throws(BLEError) in try Value(bytes: bytes) },
            encode: { (value) throws(BLEError) in try value.encoded() })
    }
}
