public import BLE

/// An input or output of an IO module: a digital characteristic with a value of type `[DigitalState]`, or an analog one
/// with a value of type `UInt16`.
public struct AutomationSignal<Value: Sendable>: Sendable {
    /// The peripheral.
    public let peripheral: Peripheral
    /// The key that identifies exactly this characteristic, even if there are several of a kind.
    public let characteristic: Characteristic<Value>
    /// The discovered characteristic.
    public let discovered: GATTCharacteristic

    /// Whether the value can be read or notified.
    public var isInput: Bool { !discovered.properties.isDisjoint(with: [.read, .notify, .indicate]) }

    /// Whether the value can be set.
    public var isOutput: Bool { !discovered.properties.isDisjoint(with: [.write, .writeWithoutResponse]) }

    /// Returns the current value. Throws `notSupported` if the signal can only be set.
    public func value() async throws(BLEError) -> Value { try await peripheral.read(characteristic) }

    /// Returns the values from now on, according to the triggers. Throws `notSupported` if the signal does not notify.
    /// Keeps the newest 256 unread values.
    public func values() async throws(BLEError) -> NotificationStream<Value> {
        try await peripheral.notifications(characteristic)
    }

    /// Sets the value, with a response if the module supports it. Throws `notSupported` if it cannot be set.
    public func set(_ value: Value) async throws(BLEError) {
        let isConfirmed = discovered.properties.contains(.write) || !isOutput
        try await peripheral.write(value, to: characteristic, type: isConfirmed ? .withResponse : .withoutResponse)
    }
}

// MARK: Descriptors

extension AutomationSignal {
    /// Returns the presentation format, which also distinguishes signals of a kind. Nil if the
    /// characteristic has no such descriptor.
    public func presentationFormat() async throws(BLEError) -> PresentationFormat? {
        try await peripheral.presentationFormat(of: characteristic.key)
    }

    /// Returns the user description. Nil if the characteristic has no such descriptor.
    public func userDescription() async throws(BLEError) -> String? {
        try await peripheral.userDescription(of: characteristic.key)
    }

    /// Returns the range of values. Nil if not available.
    public func validRange() async throws(BLEError) -> ValidRange<Value>? {
        try await peripheral.validRange(of: characteristic)
    }

    /// Returns the condition under which a change is significant. Nil if not available.
    public func valueTrigger() async throws(BLEError) -> ValueTrigger? {
        try await peripheral.readDescriptorIfPresent(BluetoothUUID(0x290A), of: characteristic.key, as: .codable)
    }

    /// Sets the condition under which a change is significant. Throws `attributeError` with
    /// ``BLE/ATTError/automationTriggerConditionNotSupported`` if the module does not support the condition.
    public func setValueTrigger(_ trigger: ValueTrigger) async throws(BLEError) {
        try await peripheral.writeDescriptor(
            try trigger.encoded(), to: BluetoothUUID(0x290A), of: characteristic.key)
    }

    /// Returns the time at which significant changes are sent. Nil if not available.
    public func timeTrigger() async throws(BLEError) -> TimeTrigger? {
        try await peripheral.readDescriptorIfPresent(BluetoothUUID(0x290E), of: characteristic.key, as: .codable)
    }

    /// Sets the time at which significant changes are sent. Throws `attributeError` with
    /// ``BLE/ATTError/automationTriggerConditionNotSupported`` if the module does not support the condition.
    public func setTimeTrigger(_ trigger: TimeTrigger) async throws(BLEError) {
        try await peripheral.writeDescriptor(
            try trigger.encoded(), to: BluetoothUUID(0x290E), of: characteristic.key)
    }
}
