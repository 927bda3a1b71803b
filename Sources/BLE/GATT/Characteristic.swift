/// Identifies a characteristic on any peripheral: by type and, if the type is not unique, by service or handle.
public struct CharacteristicKey: Hashable, Codable, Sendable {
    /// The service to search. Nil for all services, in order of handles.
    public var service: BluetoothUUID?
    /// The handle of the service's declaration, if a peripheral has several services of that type.
    public var serviceHandle: UInt16?
    /// The characteristic's type.
    public var characteristic: BluetoothUUID
    /// The handle of the characteristic's declaration, if the type alone is ambiguous.
    public var handle: UInt16?

    /// Creates a key.
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

/// Identifies a characteristic, together with the type of its value.
///
/// ```swift
/// extension Characteristic where Value == UInt8 {
///     static var fanSpeed: Self { Characteristic(BluetoothUUID(0xFF01), service: BluetoothUUID(0xFF00)) }
/// }
/// let speed = try await peripheral.read(.fanSpeed)  // a UInt8
/// ```
public struct Characteristic<Value: Sendable>: Sendable {
    /// The key that identifies the characteristic.
    public var key: CharacteristicKey
    /// Encodes and decodes its value.
    public var coding: ValueCoding<Value>

    /// The characteristic's type.
    public var uuid: BluetoothUUID { key.characteristic }

    /// Creates a characteristic whose value is encoded by `coding`.
    public init(
        _ coding: ValueCoding<Value>, _ characteristic: BluetoothUUID, service: BluetoothUUID? = nil,
        handle: UInt16? = nil
    ) {
        key = CharacteristicKey(service: service, characteristic: characteristic, handle: handle)
        self.coding = coding
    }
}

extension Characteristic where Value: ValueCodable {
    /// Creates a characteristic with a ``ValueCodable`` value.
    public init(_ characteristic: BluetoothUUID, service: BluetoothUUID? = nil, handle: UInt16? = nil) {
        self.init(.codable, characteristic, service: service, handle: handle)
    }
}

extension Characteristic where Value == [UInt8] {
    /// Creates a characteristic whose value is raw bytes.
    public init(_ characteristic: BluetoothUUID, service: BluetoothUUID? = nil, handle: UInt16? = nil) {
        self.init(.bytes, characteristic, service: service, handle: handle)
    }
}

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
