public import BLE

extension BluetoothUUID {
    /// The Current Time service.
    public static let currentTime = BluetoothUUID(0x1805)
}

/// The Current Time service of a device with a clock (Current Time Service 1.1).
///
/// The time is local time. To set it from this computer's clock, use Foundation's date and time zone:
///
/// ```swift
/// let seconds = Int(Date().timeIntervalSince1970) + TimeZone.current.secondsFromGMT()
/// if let now = DateTime(secondsSince1970: seconds) {
///     try await CurrentTime(peripheral).setTime(CurrentTimeValue(now, adjustReasons: .externalReference))
/// }
/// ```
public struct CurrentTime: Profile {
    /// 0x1805.
    public static let serviceUUID = BluetoothUUID.currentTime
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the time. Connects and discovers if necessary.
    public func time() async throws(BLEError) -> CurrentTimeValue { try await service.read(.currentTime) }

    /// Returns the time whenever the clock is adjusted.
    public func times() async throws(BLEError) -> NotificationStream<CurrentTimeValue> {
        try await service.notifications(.currentTime)
    }

    /// Sets the clock.
    ///
    /// The client chooses the reasons: `.manual` for a time that a person entered, `.externalReference` for a time from
    /// a clock, for example of a computer or a network. The device may ignore these reasons and report its own.
    ///
    /// Throws `notSupported` if the device does not allow its clock to be set, and `attributeError` with
    /// ``BLE/ATTError/currentTimeFieldIgnored`` if it accepted only a part of the value.
    public func setTime(_ time: CurrentTimeValue) async throws(BLEError) {
        try await service.write(time, to: .currentTime)
    }

    /// Returns the offset of the time from UTC. Nil if the device does not have the characteristic.
    public func localTimeInformation() async throws(BLEError) -> LocalTimeInformation? {
        try await service.readIfPresent(.localTimeInformation)
    }

    /// Sets the offset of the time from UTC. Throws the errors of ``setTime(_:)``.
    public func setLocalTimeInformation(_ information: LocalTimeInformation) async throws(BLEError) {
        try await service.write(information, to: .localTimeInformation)
    }

    /// Returns the source of the time. Nil if the device does not have the characteristic.
    public func referenceTimeInformation() async throws(BLEError) -> ReferenceTimeInformation? {
        try await service.readIfPresent(.referenceTimeInformation)
    }
}

extension Characteristic where Value == CurrentTimeValue {
    /// The time (section 3.1).
    public static var currentTime: Self { Characteristic(BluetoothUUID(0x2A2B), service: .currentTime) }
}

extension Characteristic where Value == LocalTimeInformation {
    /// The offset of the time from UTC (section 3.2).
    public static var localTimeInformation: Self { Characteristic(BluetoothUUID(0x2A0F), service: .currentTime) }
}

extension Characteristic where Value == ReferenceTimeInformation {
    /// The source of the time (section 3.3).
    public static var referenceTimeInformation: Self { Characteristic(BluetoothUUID(0x2A14), service: .currentTime) }
}

extension ATTError {
    /// The device ignored a field of the time that was written (Current Time Service 1.1).
    public static let currentTimeFieldIgnored = ATTError(rawValue: 0x80)
}
