/// A service on a peripheral, which is looked up on first use. A ``Profile`` uses its service through this type.
///
/// Operations connect and discover services if necessary. They throw `serviceNotFound` or `characteristicNotFound` if
/// the peripheral does not have the service or the characteristic, and otherwise what the same operations of
/// ``Peripheral`` throw. A characteristic or a key that names another service throws `invalidArgument`.
public struct PeripheralService: Hashable, Sendable {
    /// The peripheral with the service.
    public let peripheral: Peripheral
    /// The service's type.
    public let uuid: BluetoothUUID
    /// The handle of the service's declaration, if the peripheral has several services of that type. Nil for the first.
    public let handle: UInt16?

    /// Creates a service. Nothing is sent yet.
    public init(_ uuid: BluetoothUUID, on peripheral: Peripheral, handle: UInt16? = nil) {
        self.peripheral = peripheral
        self.uuid = uuid
        self.handle = handle
    }

    /// Returns the characteristic, limited to this service.
    public func key<Value>(_ characteristic: Characteristic<Value>) -> Characteristic<Value> {
        var characteristic = characteristic
        characteristic.key = key(characteristic.key)
        return characteristic
    }

    /// Returns the key, limited to this service.
    public func key(_ key: CharacteristicKey) -> CharacteristicKey {
        var key = key
        key.service = uuid
        key.serviceHandle = handle
        return key
    }

    /// Returns the characteristic, limited to this service. Throws `invalidArgument` if it names another one.
    func own<Value>(_ characteristic: Characteristic<Value>) throws(BLEError) -> Characteristic<Value> {
        var characteristic = characteristic
        characteristic.key = try own(characteristic.key)
        return characteristic
    }

    /// Returns the key, limited to this service. Throws `invalidArgument` if it names another one.
    func own(_ key: CharacteristicKey) throws(BLEError) -> CharacteristicKey {
        let isOther = key.service.map { $0 != uuid } ?? false
        let isOtherHandle = handle != nil && key.serviceHandle.map { $0 != handle } ?? false
        guard !isOther, !isOtherHandle else {
            let other = key.service.map { "service \($0)" } ?? "another service"
            throw BLEError(
                .invalidArgument,
                "the characteristic \(key.characteristic) is looked up in \(other), not in service \(uuid)",
                peripheral: peripheral.id, service: key.service, characteristic: key.characteristic,
                remedy: "Leave the service out of the key, or use the peripheral's own method.")
        }
        return self.key(key)
    }

    /// Returns the discovered service. Throws `serviceNotFound`.
    public func discover() async throws(BLEError) -> GATTService {
        let database = try await peripheral.services()
        guard let service = database.first(where: { $0.uuid == uuid && (handle == nil || $0.handle == handle) }) else {
            throw BLEError.absent(service: uuid).at(peripheral.id)
        }
        return service
    }

    /// Returns the discovered characteristic. Nil if the service has none of that type.
    public func characteristic<Value>(
        _ characteristic: Characteristic<Value>
    ) async throws(BLEError) -> GATTCharacteristic? {
        let key = try own(characteristic.key)
        return try await discover().first {
            $0.uuid == key.characteristic && (key.handle == nil || $0.handle == key.handle)
        }
    }

    /// Reads a value.
    public func read<Value>(
        _ characteristic: Characteristic<Value>, timeout: Duration? = nil
    ) async throws(BLEError) -> Value {
        try await peripheral.read(own(characteristic), timeout: timeout)
    }

    /// Reads a value that the specification defines as optional. Nil if the service has no such characteristic, or if
    /// it cannot be read.
    public func readIfPresent<Value>(
        _ characteristic: Characteristic<Value>, timeout: Duration? = nil
    ) async throws(BLEError) -> Value? {
        guard try await self.characteristic(characteristic)?.properties.contains(.read) == true else { return nil }
        return try await read(characteristic, timeout: timeout)
    }

    /// Writes a value.
    public func write<Value>(
        _ value: Value, to characteristic: Characteristic<Value>, type: WriteType = .withResponse,
        timeout: Duration? = nil
    ) async throws(BLEError) {
        try await peripheral.write(value, to: own(characteristic), type: type, timeout: timeout)
    }

    /// Subscribes to the values that are notified or indicated from now on.
    public func notifications<Value>(
        _ characteristic: Characteristic<Value>, delivery: NotificationDelivery = .standard,
        overflow: OverflowPolicy = .dropOldest(capacity: 256), timeout: Duration? = nil
    ) async throws(BLEError) -> NotificationStream<Value> {
        try await peripheral.notifications(
            own(characteristic), delivery: delivery, overflow: overflow, timeout: timeout)
    }

    /// Opens a writer for values without response. A characteristic can have one writer at a time.
    public func packetWriter<Value>(
        to characteristic: Characteristic<Value>, timeout: Duration? = nil
    ) async throws(BLEError) -> PacketWriter<Value> {
        try await peripheral.packetWriter(to: own(characteristic), timeout: timeout)
    }

    /// Writes a request to a control point and returns its answer; see
    /// ``Peripheral/request(_:on:timeout:matching:)``.
    public func request<Value>(
        _ value: Value, on characteristic: Characteristic<Value>, timeout: Duration? = nil,
        matching isAnswer: @escaping @Sendable (Value) -> Bool = { _ in true }
    ) async throws(BLEError) -> Value {
        try await peripheral.request(value, on: own(characteristic), timeout: timeout, matching: isAnswer)
    }

    /// Writes a request to a control point, and returns its answer, which has another type; see
    /// ``Peripheral/request(_:on:answer:timeout:matching:)``.
    public func request<Answer: ValueCodable, Value>(
        _ request: some ValueCodable, on characteristic: Characteristic<Value>, answer: Answer.Type,
        timeout: Duration? = nil, matching isAnswer: @escaping @Sendable (Answer) -> Bool = { _ in true }
    ) async throws(BLEError) -> Answer {
        try await peripheral.request(
            request, on: own(characteristic), answer: answer, timeout: timeout, matching: isAnswer)
    }
}
