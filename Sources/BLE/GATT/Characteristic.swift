/// Names a characteristic on any peripheral: by type, and where types repeat by service or handle.
public struct AttributeKey: Hashable, Sendable {
    /// The service to look in; nil for all, in order of handles.
    public var service: BluetoothUUID?
    /// The handle of the service's declaration, where a peripheral has several of that type.
    public var serviceHandle: UInt16?
    /// The characteristic's type.
    public var characteristic: BluetoothUUID
    /// The declaration's handle, where the type alone is not enough.
    public var handle: UInt16?

    /// A key.
    public init(
        service: BluetoothUUID? = nil, serviceHandle: UInt16? = nil, characteristic: BluetoothUUID,
        handle: UInt16? = nil
    ) {
        self.service = service
        self.serviceHandle = serviceHandle
        self.characteristic = characteristic
        self.handle = handle
    }
}

/// Names a characteristic together with the type of its value.
///
/// ```swift
/// extension Characteristic where Value == UInt8 {
///     static var fanSpeed: Self { Characteristic(BluetoothUUID(0xFF01), service: BluetoothUUID(0xFF00)) }
/// }
/// let speed = try await peripheral.read(.fanSpeed)  // a UInt8
/// ```
public struct Characteristic<Value: Sendable>: Sendable {
    /// Which characteristic.
    public var key: AttributeKey
    /// How its value is spelled in bytes.
    public var coding: ValueCoding<Value>

    /// The characteristic's type.
    public var uuid: BluetoothUUID { key.characteristic }

    /// A key whose value is coded by `coding`.
    public init(
        _ coding: ValueCoding<Value>, _ characteristic: BluetoothUUID, service: BluetoothUUID? = nil,
        handle: UInt16? = nil
    ) {
        key = AttributeKey(service: service, characteristic: characteristic, handle: handle)
        self.coding = coding
    }
}

extension Characteristic where Value: ValueCodable {
    /// A key whose value is coded as its type says.
    public init(_ characteristic: BluetoothUUID, service: BluetoothUUID? = nil, handle: UInt16? = nil) {
        self.init(.codable, characteristic, service: service, handle: handle)
    }
}

extension Characteristic where Value == [UInt8] {
    /// A key whose value is raw bytes.
    public init(_ characteristic: BluetoothUUID, service: BluetoothUUID? = nil, handle: UInt16? = nil) {
        self.init(.bytes, characteristic, service: service, handle: handle)
    }
}

/// How a value is spelled in the bytes of a characteristic.
public struct ValueCoding<Value: Sendable>: Sendable {
    /// The value that the bytes spell. Throws `invalidValue`.
    public let decode: @Sendable ([UInt8]) throws(BLEError) -> Value
    /// The bytes that spell a value. Throws `notSupported` for a type that is only received.
    public let encode: @Sendable (Value) throws(BLEError) -> [UInt8]

    /// A coding of both directions.
    public init(
        decode: @escaping @Sendable ([UInt8]) throws(BLEError) -> Value,
        encode: @escaping @Sendable (Value) throws(BLEError) -> [UInt8]
    ) {
        self.decode = decode
        self.encode = encode
    }

    /// A coding for a value that peripherals send and nobody writes.
    public init(receiveOnly decode: @escaping @Sendable ([UInt8]) throws(BLEError) -> Value) {
        self.init(decode: decode) { (_) throws(BLEError) in
            throw BLEError(.notSupported, "a \(Value.self) cannot be written")
        }
    }
}

extension ValueCoding where Value == [UInt8] {
    /// The bytes themselves.
    public static var bytes: Self { ValueCoding(decode: { $0 }, encode: { $0 }) }
}

extension ValueCoding where Value: ValueCodable {
    /// As the type says.
    public static var codable: Self {
        ValueCoding(
            decode: { (bytes) throws(BLEError) in try Value(bytes: bytes) },
            encode: { (value) throws(BLEError) in try value.encoded() })
    }
}
