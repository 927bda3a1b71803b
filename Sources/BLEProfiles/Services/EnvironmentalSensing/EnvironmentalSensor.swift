public import BLE

/// A sensor of the Environmental Sensing service: one of its characteristics.
public struct EnvironmentalSensor<Value: Sendable>: Sendable {
    /// The peripheral that has it.
    public let peripheral: Peripheral
    /// Names exactly this sensor, also where there are several of a kind.
    public let characteristic: Characteristic<Value>
    /// What was discovered of it.
    public let discovered: GATTCharacteristic

    /// What it measures; nil for what is not of the service.
    public var quantity: EnvironmentalQuantity? { EnvironmentalQuantity(discovered.uuid) }

    /// The value now.
    public func value() async throws(BLEError) -> Value { try await peripheral.read(characteristic) }

    /// The values that the sensor notifies from now on, as its triggers say; `notSupported` when it does not. Keeps the newest 256 that
    /// are not read yet.
    public func values() async throws(BLEError) -> NotificationStream<Value> {
        try await peripheral.notifications(characteristic)
    }
}

// MARK: What its descriptors say

extension EnvironmentalSensor {
    /// How it measures; nil when it does not say, as the only one of a kind need not (section 3.1.2.1).
    public func measurement() async throws(BLEError) -> EnvironmentalMeasurement? {
        try await peripheral.readDescriptorIfPresent(BluetoothUUID(0x290C), of: characteristic.key, as: .codable)
    }

    /// What it is called; nil when it does not say.
    public func userDescription() async throws(BLEError) -> String? {
        try await peripheral.userDescription(of: characteristic.key)
    }

    /// How its value is to be shown, and which of several it is; nil when it does not say.
    public func presentationFormat() async throws(BLEError) -> PresentationFormat? {
        try await peripheral.presentationFormat(of: characteristic.key)
    }

    /// What it can measure; nil when it does not say.
    public func validRange() async throws(BLEError) -> ValidRange<Value>? {
        try await peripheral.validRange(of: characteristic)
    }

    /// When it notifies; none when that cannot be told, three at most (section 3.1.2.2).
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

    /// Sets one of its triggers, counted from 0.
    ///
    /// Throws `invalidArgument` where it has not so many, `attributeError` with
    /// ``BLE/ATTError/environmentalConditionNotSupported`` for a condition that it does not know.
    public func setTrigger(_ trigger: EnvironmentalTrigger<Value>, at index: Int = 0) async throws(BLEError) {
        guard triggerDescriptors.indices.contains(index) else {
            throw place(
                BLEError(.invalidArgument, "the sensor has \(triggerDescriptors.count) triggers, and none at \(index)"))
        }
        let descriptor = triggerDescriptors[index]
        try await peripheral.writeDescriptor(
            try EnvironmentalTrigger.coding(characteristic.coding).encode(trigger), to: descriptor.uuid,
            handle: descriptor.handle, of: characteristic.key)
    }

    /// How its triggers go together; nil when it does not say (section 3.1.2.3).
    public func triggerLogic() async throws(BLEError) -> EnvironmentalTriggerLogic? {
        try await peripheral.readDescriptorIfPresent(BluetoothUUID(0x290B), of: characteristic.key, as: .codable)
    }

    /// Sets how its triggers go together.
    public func setTriggerLogic(_ logic: EnvironmentalTriggerLogic) async throws(BLEError) {
        try await peripheral.writeDescriptor(
            try logic.encoded(), to: BluetoothUUID(0x290B), of: characteristic.key)
    }

    private var triggerDescriptors: [GATTDescriptor] { discovered[all: BluetoothUUID(0x290D)] }

    private func place(_ error: BLEError) -> BLEError {
        error.at(peripheral.id, service: characteristic.key.service, characteristic: characteristic.uuid)
    }
}
