public import BLE

/// The optional details of a battery. Reading a value returns nil if the device does not have the characteristic.
extension Battery {
    /// Returns the critical conditions of the battery.
    public func criticalStatus() async throws(BLEError) -> BatteryCriticalStatus? {
        try await service.readIfPresent(.batteryCriticalStatus)
    }

    /// Returns the critical conditions of the battery whenever they change. Throws `notSupported` if the device does
    /// not notify them.
    public func criticalStatuses() async throws(BLEError) -> NotificationStream<BatteryCriticalStatus> {
        try await service.notifications(.batteryCriticalStatus)
    }

    /// Returns the voltage, power and energy.
    public func energyStatus() async throws(BLEError) -> BatteryEnergyStatus? {
        try await service.readIfPresent(.batteryEnergyStatus)
    }

    /// Returns the voltage, power and energy whenever they change. Throws `notSupported` if the device does not notify
    /// them.
    public func energyStatuses() async throws(BLEError) -> NotificationStream<BatteryEnergyStatus> {
        try await service.notifications(.batteryEnergyStatus)
    }

    /// Returns the remaining times.
    public func timeStatus() async throws(BLEError) -> BatteryTimeStatus? {
        try await service.readIfPresent(.batteryTimeStatus)
    }

    /// Returns the remaining times whenever they change. Throws `notSupported` if the device does not notify them.
    public func timeStatuses() async throws(BLEError) -> NotificationStream<BatteryTimeStatus> {
        try await service.notifications(.batteryTimeStatus)
    }

    /// Returns the health of the battery.
    public func healthStatus() async throws(BLEError) -> BatteryHealthStatus? {
        try await service.readIfPresent(.batteryHealthStatus)
    }

    /// Returns the health of the battery whenever it changes. Throws `notSupported` if the device does not notify it.
    public func healthStatuses() async throws(BLEError) -> NotificationStream<BatteryHealthStatus> {
        try await service.notifications(.batteryHealthStatus)
    }

    /// Returns the limits that the battery was designed for.
    public func healthInformation() async throws(BLEError) -> BatteryHealthInformation? {
        try await service.readIfPresent(.batteryHealthInformation)
    }

    /// The type of the battery.
    public func information() async throws(BLEError) -> BatteryInformation? {
        try await service.readIfPresent(.batteryInformation)
    }

    /// Returns the type of the battery whenever it is replaced. Throws `notSupported` if the device does not notify it.
    public func informationChanges() async throws(BLEError) -> NotificationStream<BatteryInformation> {
        try await service.notifications(.batteryInformation)
    }

    /// Returns the date on which the battery should be replaced or serviced.
    public func estimatedServiceDate() async throws(BLEError) -> DateUTC? {
        try await service.readIfPresent(.estimatedServiceDate)
    }

    /// Returns the service date whenever it changes. Throws `notSupported` if the device does not notify it.
    public func estimatedServiceDates() async throws(BLEError) -> NotificationStream<DateUTC> {
        try await service.notifications(.estimatedServiceDate)
    }

    /// Returns the battery's manufacturer.
    public func manufacturerName() async throws(BLEError) -> String? {
        try await service.readIfPresent(service.key(.manufacturerName))
    }

    /// Returns the battery's model.
    public func modelNumber() async throws(BLEError) -> String? {
        try await service.readIfPresent(service.key(.modelNumber))
    }

    /// Returns the battery's serial number.
    public func serialNumber() async throws(BLEError) -> String? {
        try await service.readIfPresent(service.key(.serialNumber))
    }
}

extension Characteristic where Value == BatteryCriticalStatus {
    /// The critical conditions of a battery.
    public static var batteryCriticalStatus: Self { Characteristic(BluetoothUUID(0x2BE9), service: .battery) }
}

extension Characteristic where Value == BatteryEnergyStatus {
    /// A battery's voltage, power and energy.
    public static var batteryEnergyStatus: Self { Characteristic(BluetoothUUID(0x2BF0), service: .battery) }
}

extension Characteristic where Value == BatteryTimeStatus {
    /// The remaining times of a battery.
    public static var batteryTimeStatus: Self { Characteristic(BluetoothUUID(0x2BEE), service: .battery) }
}

extension Characteristic where Value == BatteryHealthStatus {
    /// The health of a battery.
    public static var batteryHealthStatus: Self { Characteristic(BluetoothUUID(0x2BEA), service: .battery) }
}

extension Characteristic where Value == BatteryHealthInformation {
    /// The limits that a battery was designed for.
    public static var batteryHealthInformation: Self { Characteristic(BluetoothUUID(0x2BEB), service: .battery) }
}

extension Characteristic where Value == BatteryInformation {
    /// The type of the battery.
    public static var batteryInformation: Self { Characteristic(BluetoothUUID(0x2BEC), service: .battery) }
}

extension Characteristic where Value == DateUTC {
    /// The date on which a battery should be replaced or serviced.
    public static var estimatedServiceDate: Self { Characteristic(BluetoothUUID(0x2BEF), service: .battery) }
}
