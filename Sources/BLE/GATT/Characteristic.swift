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

extension Characteristic {
    package func decode(_ bytes: [UInt8], from peripheral: Peripheral.ID) throws(BLEError) -> Value {
        try decoder(for: peripheral)(bytes)
    }

    /// Returns a decoder for values of the given peripheral. The decoder adds the location to its errors.
    func decoder(for peripheral: Peripheral.ID) -> @Sendable ([UInt8]) throws(BLEError) -> Value {
        let (decode, key) = (coding.decode, key)
        return { (bytes) throws(BLEError) in
            do throws(BLEError) {
                return try decode(bytes)
            } catch {
                throw error.at(peripheral, service: key.service, characteristic: key.characteristic)
            }
        }
    }
}
