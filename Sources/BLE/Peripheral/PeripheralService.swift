/// A service on a peripheral, which is found when it is first asked for: what a ``Profile`` speaks to.
///
/// Operations connect and discover as needed. They throw `serviceNotFound` or `characteristicNotFound` where the peripheral has
/// not what is asked for, and else what the same operations of a ``Peripheral`` throw.
public struct PeripheralService: Hashable, Sendable {
    /// The peripheral that has it.
    public let peripheral: Peripheral
    /// The service's type.
    public let uuid: BluetoothUUID
    /// The handle of the service's declaration, where the peripheral has several of that type; nil for the first.
    public let handle: UInt16?

    /// A service. Nothing is sent yet.
    public init(_ uuid: BluetoothUUID, on peripheral: Peripheral, handle: UInt16? = nil) {
        self.peripheral = peripheral
        self.uuid = uuid
        self.handle = handle
    }

    /// A key as it is in this service.
    public func key<Value>(_ characteristic: Characteristic<Value>) -> Characteristic<Value> {
        var characteristic = characteristic
        characteristic.key.service = uuid
        characteristic.key.serviceHandle = handle
        return characteristic
    }

    /// The service as it was discovered. Throws `serviceNotFound`.
    public func discovered() async throws(BLEError) -> GATTService {
        let database = try await peripheral.services()
        guard let service = database.first(where: { $0.uuid == uuid && (handle == nil || $0.handle == handle) }) else {
            throw BLEError.absent(service: uuid).at(peripheral.id)
        }
        return service
    }

    /// What was discovered of a characteristic; nil where the service has none of that type.
    public func characteristic<Value>(
        _ characteristic: Characteristic<Value>
    ) async throws(BLEError) -> GATTCharacteristic? {
        try await discovered()[characteristic.key.characteristic]
    }

    /// Reads a value.
    public func read<Value>(
        _ characteristic: Characteristic<Value>, timeout: Duration? = nil
    ) async throws(BLEError) -> Value {
        try await peripheral.read(key(characteristic), timeout: timeout)
    }

    /// Reads a value that a specification leaves optional; nil where the service has no such characteristic, or lets nobody
    /// read it.
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
        try await peripheral.write(value, to: key(characteristic), type: type, timeout: timeout)
    }

    /// The values that are notified or indicated from now on.
    public func notifications<Value>(
        _ characteristic: Characteristic<Value>, overflow: OverflowPolicy = .dropOldest(capacity: 256),
        timeout: Duration? = nil
    ) async throws(BLEError) -> NotificationStream<Value> {
        try await peripheral.notifications(key(characteristic), overflow: overflow, timeout: timeout)
    }
}
