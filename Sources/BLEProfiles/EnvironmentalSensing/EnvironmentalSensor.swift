public import BLE

/// A sensor of the Environmental Sensing service: one of its characteristics.
public struct EnvironmentalSensor<Value: Sendable>: Sendable {
    /// The peripheral.
    public let peripheral: Peripheral
    /// The key that identifies exactly this sensor, even if there are several of a kind.
    public let characteristic: Characteristic<Value>
    /// The discovered characteristic.
    public let discovered: GATTCharacteristic

    /// The measured quantity. Nil if the characteristic is not one of the service.
    public var quantity: EnvironmentalQuantity? { EnvironmentalQuantity(discovered.uuid) }

    /// Returns the current value.
    public func value() async throws(BLEError) -> Value { try await peripheral.read(characteristic) }

    /// Returns the values that the sensor notifies from now on, according to its triggers. Throws `notSupported` if it
    /// does not notify. Keeps the newest 256 unread values.
    public func values() async throws(BLEError) -> NotificationStream<Value> {
        try await peripheral.notifications(characteristic)
    }
}

// MARK: Descriptors

extension EnvironmentalSensor {
    /// Returns the properties of the measurement. Nil if there is no descriptor. The descriptor is optional if there is
    /// only one sensor of a kind (section 3.1.2.1).
    public func measurement() async throws(BLEError) -> EnvironmentalMeasurement? {
        try await peripheral.readDescriptorIfPresent(BluetoothUUID(0x290C), of: characteristic.key, as: .codable)
    }

    /// Returns the user description. Nil if the characteristic has no such descriptor.
    public func userDescription() async throws(BLEError) -> String? {
        try await peripheral.userDescription(of: characteristic.key)
    }

    /// Returns the presentation format, which also distinguishes sensors of a kind. Nil if the
    /// characteristic has no such descriptor.
    public func presentationFormat() async throws(BLEError) -> PresentationFormat? {
        try await peripheral.presentationFormat(of: characteristic.key)
    }

    /// Returns the range of values. Nil if not available.
    public func validRange() async throws(BLEError) -> ValidRange<Value>? {
        try await peripheral.validRange(of: characteristic)
    }

    /// Returns the conditions for notifications, at most three. Empty if there are none (section 3.1.2.2).
    public func triggers() async throws(BLEError) -> [EnvironmentalTrigger<Value>] {
        var triggers: [EnvironmentalTrigger<Value>] = []
        for descriptor in triggerDescriptors {
            let bytes = try await peripheral.readDescriptor(
                descriptor.uuid, handle: descriptor.handle, of: characteristic.key)
            do throws(BLEError) {
                triggers.append(try EnvironmentalTrigger.coding(characteristic.coding).decode(bytes))
            } catch {
                throw place(error)
            }
        }
        return triggers
    }

    /// Sets a trigger, by its zero-based index.
    ///
    /// Throws `invalidArgument` if the index is out of range, and `attributeError` with
    /// ``BLE/ATTError/environmentalConditionNotSupported`` if the sensor does not support the condition.
    public func setTrigger(_ trigger: EnvironmentalTrigger<Value>, at index: Int = 0) async throws(BLEError) {
        guard triggerDescriptors.indices.contains(index) else {
            throw place(
                BLEError(.invalidArgument, "the sensor has \(triggerDescriptors.count) triggers, but none at \(index)"))
        }
        let descriptor = triggerDescriptors[index]
        try await peripheral.writeDescriptor(
            try EnvironmentalTrigger.coding(characteristic.coding).encode(trigger), to: descriptor.uuid,
            handle: descriptor.handle, of: characteristic.key)
    }

    /// Returns the combination of the triggers. Nil if not available (section 3.1.2.3).
    public func triggerLogic() async throws(BLEError) -> EnvironmentalTriggerLogic? {
        try await peripheral.readDescriptorIfPresent(BluetoothUUID(0x290B), of: characteristic.key, as: .codable)
    }

    /// Sets the combination of the triggers.
    public func setTriggerLogic(_ logic: EnvironmentalTriggerLogic) async throws(BLEError) {
        try await peripheral.writeDescriptor(
            try logic.encoded(), to: BluetoothUUID(0x290B), of: characteristic.key)
    }

    private var triggerDescriptors: [GATTDescriptor] { discovered[all: BluetoothUUID(0x290D)] }

    private func place(_ error: BLEError) -> BLEError {
        error.at(peripheral.id, service: characteristic.key.service, characteristic: characteristic.uuid)
    }
}
