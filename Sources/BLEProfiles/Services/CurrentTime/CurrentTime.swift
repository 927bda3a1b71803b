public import BLE

extension BluetoothUUID {
    /// The Current Time service.
    public static let currentTime = BluetoothUUID(0x1805)
}

/// The Current Time service of a device with a clock (Current Time Service 1.1).
///
/// The time is local time. This sets it from this computer's clock, with Foundation's date and time zone:
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
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// What the time is. Connects and discovers as needed.
    public func time() async throws(BLEError) -> CurrentTimeValue { try await service.read(.currentTime) }

    /// What the time is, whenever the clock has been adjusted.
    public func times() async throws(BLEError) -> NotificationStream<CurrentTimeValue> {
        try await service.notifications(.currentTime)
    }

    /// Sets the clock.
    ///
    /// The reasons are the client's to say: `.manual` for a time that somebody has entered, `.externalReference` for one that comes from a
    /// clock, as of a computer or a network. The device may ignore them and tell its own.
    ///
    /// Throws `notSupported` when the device does not let, and `attributeError` with ``BLE/ATTError/currentTimeFieldIgnored`` when it has
    /// taken only a part of the value.
    public func setTime(_ time: CurrentTimeValue) async throws(BLEError) {
        try await service.write(time, to: .currentTime)
    }

    /// How far the time is from UTC; nil when the device does not say.
    public func localTimeInformation() async throws(BLEError) -> LocalTimeInformation? {
        try await service.readIfPresent(.localTimeInformation)
    }

    /// Sets how far the time is from UTC. Throws as ``setTime(_:)`` does.
    public func setLocalTimeInformation(_ information: LocalTimeInformation) async throws(BLEError) {
        try await service.write(information, to: .localTimeInformation)
    }

    /// Where the time is from; nil when the device does not say.
    public func referenceTimeInformation() async throws(BLEError) -> ReferenceTimeInformation? {
        try await service.readIfPresent(.referenceTimeInformation)
    }
}

extension Characteristic where Value == CurrentTimeValue {
    /// What the time is (section 3.1).
    public static var currentTime: Self { Characteristic(BluetoothUUID(0x2A2B), service: .currentTime) }
}

extension Characteristic where Value == LocalTimeInformation {
    /// How far the time is from UTC (section 3.2).
    public static var localTimeInformation: Self { Characteristic(BluetoothUUID(0x2A0F), service: .currentTime) }
}

extension Characteristic where Value == ReferenceTimeInformation {
    /// Where the time is from (section 3.3).
    public static var referenceTimeInformation: Self { Characteristic(BluetoothUUID(0x2A14), service: .currentTime) }
}

extension ATTError {
    /// What a device answers that has ignored a field of a time that was written (Current Time Service 1.1).
    public static let currentTimeFieldIgnored = ATTError(rawValue: 0x80)
}
