public import BLE

/// An input or output of an IO module: a digital characteristic, whose value is a `[DigitalState]`, or an analog one, whose value is a
/// `UInt16`.
public struct AutomationSignal<Value: Sendable>: Sendable {
    /// The peripheral that has it.
    public let peripheral: Peripheral
    /// Names exactly this one, also where there are several of a kind.
    public let characteristic: Characteristic<Value>
    /// What was discovered of it.
    public let discovered: GATTCharacteristic

    /// Whether its value can be told: it can be read or notifies.
    public var isInput: Bool { !discovered.properties.isDisjoint(with: [.read, .notify, .indicate]) }

    /// Whether its value can be set.
    public var isOutput: Bool { !discovered.properties.isDisjoint(with: [.write, .writeWithoutResponse]) }

    /// The value now; `notSupported` for one that can only be set.
    public func value() async throws(BLEError) -> Value { try await peripheral.read(characteristic) }

    /// The values from now on, as its triggers say; `notSupported` when it sends none. Keeps the newest 256 that are not read yet.
    public func values() async throws(BLEError) -> NotificationStream<Value> {
        try await peripheral.notifications(characteristic)
    }

    /// Sets the value, with a response where the module gives one; `notSupported` for one that cannot be set.
    public func set(_ value: Value) async throws(BLEError) {
        let isConfirmed = discovered.properties.contains(.write) || !isOutput
        try await peripheral.write(value, to: characteristic, type: isConfirmed ? .withResponse : .withoutResponse)
    }
}

// MARK: What its descriptors say

extension AutomationSignal {
    /// How its value is to be shown, and which of several it is; nil when it does not say.
    public func presentationFormat() async throws(BLEError) -> PresentationFormat? {
        try await peripheral.presentationFormat(of: characteristic.key)
    }

    /// What it is called; nil when it does not say.
    public func userDescription() async throws(BLEError) -> String? {
        try await peripheral.userDescription(of: characteristic.key)
    }

    /// The values that it can have; nil when it does not say.
    public func validRange() async throws(BLEError) -> ValidRange<Value>? {
        try await peripheral.validRange(of: characteristic)
    }

    /// Which changes of it count; nil when that cannot be told.
    public func valueTrigger() async throws(BLEError) -> ValueTrigger? {
        try await peripheral.readDescriptorIfPresent(BluetoothUUID(0x290A), of: characteristic.key, as: .codable)
    }

    /// Sets which changes of it count. Throws `attributeError` with ``BLE/ATTError/automationTriggerConditionNotSupported`` for a
    /// condition that the module does not know.
    public func setValueTrigger(_ trigger: ValueTrigger) async throws(BLEError) {
        try await peripheral.writeDescriptor(
            try trigger.encoded(), to: BluetoothUUID(0x290A), of: characteristic.key)
    }

    /// When changes of it are sent; nil when that cannot be told.
    public func timeTrigger() async throws(BLEError) -> TimeTrigger? {
        try await peripheral.readDescriptorIfPresent(BluetoothUUID(0x290E), of: characteristic.key, as: .codable)
    }

    /// Sets when changes of it are sent. Throws `attributeError` with ``BLE/ATTError/automationTriggerConditionNotSupported`` for a
    /// condition that the module does not know.
    public func setTimeTrigger(_ trigger: TimeTrigger) async throws(BLEError) {
        try await peripheral.writeDescriptor(
            try trigger.encoded(), to: BluetoothUUID(0x290E), of: characteristic.key)
    }
}
