public import BLE

/// What a battery may tell besides its charge; each item is optional, and nil where the device does not tell it.
extension Battery {
    /// Whether the battery is about to fail.
    public func criticalStatus() async throws(BLEError) -> BatteryCriticalStatus? {
        try await service.readIfPresent(.batteryCriticalStatus)
    }

    /// Whether the battery is about to fail, whenever that changes; `notSupported` when the device does not send it.
    public func criticalStatuses() async throws(BLEError) -> NotificationStream<BatteryCriticalStatus> {
        try await service.notifications(.batteryCriticalStatus)
    }

    /// Voltage, power and energy.
    public func energyStatus() async throws(BLEError) -> BatteryEnergyStatus? {
        try await service.readIfPresent(.batteryEnergyStatus)
    }

    /// Voltage, power and energy, whenever they change; `notSupported` when the device does not send them.
    public func energyStatuses() async throws(BLEError) -> NotificationStream<BatteryEnergyStatus> {
        try await service.notifications(.batteryEnergyStatus)
    }

    /// How long it lasts.
    public func timeStatus() async throws(BLEError) -> BatteryTimeStatus? {
        try await service.readIfPresent(.batteryTimeStatus)
    }

    /// How long it lasts, whenever that changes; `notSupported` when the device does not send it.
    public func timeStatuses() async throws(BLEError) -> NotificationStream<BatteryTimeStatus> {
        try await service.notifications(.batteryTimeStatus)
    }

    /// How it is worn.
    public func healthStatus() async throws(BLEError) -> BatteryHealthStatus? {
        try await service.readIfPresent(.batteryHealthStatus)
    }

    /// How it is worn, whenever that changes; `notSupported` when the device does not send it.
    public func healthStatuses() async throws(BLEError) -> NotificationStream<BatteryHealthStatus> {
        try await service.notifications(.batteryHealthStatus)
    }

    /// What it was designed to endure.
    public func healthInformation() async throws(BLEError) -> BatteryHealthInformation? {
        try await service.readIfPresent(.batteryHealthInformation)
    }

    /// What kind of battery it is.
    public func information() async throws(BLEError) -> BatteryInformation? {
        try await service.readIfPresent(.batteryInformation)
    }

    /// What kind of battery it is, whenever another is put in; `notSupported` when the device does not send it.
    public func informationChanges() async throws(BLEError) -> NotificationStream<BatteryInformation> {
        try await service.notifications(.batteryInformation)
    }

    /// When it is to be replaced or serviced.
    public func estimatedServiceDate() async throws(BLEError) -> DateUTC? {
        try await service.readIfPresent(.estimatedServiceDate)
    }

    /// When it is to be replaced or serviced, whenever that changes; `notSupported` when the device does not send it.
    public func estimatedServiceDates() async throws(BLEError) -> NotificationStream<DateUTC> {
        try await service.notifications(.estimatedServiceDate)
    }

    /// The battery's manufacturer.
    public func manufacturerName() async throws(BLEError) -> String? {
        try await service.readIfPresent(.manufacturerName)
    }

    /// The battery's model.
    public func modelNumber() async throws(BLEError) -> String? { try await service.readIfPresent(.modelNumber) }

    /// The battery's serial number.
    public func serialNumber() async throws(BLEError) -> String? { try await service.readIfPresent(.serialNumber) }
}

extension Characteristic where Value == BatteryCriticalStatus {
    /// Whether a battery is about to fail.
    public static var batteryCriticalStatus: Self { Characteristic(BluetoothUUID(0x2BE9), service: .battery) }
}

extension Characteristic where Value == BatteryEnergyStatus {
    /// A battery's voltage, power and energy.
    public static var batteryEnergyStatus: Self { Characteristic(BluetoothUUID(0x2BF0), service: .battery) }
}

extension Characteristic where Value == BatteryTimeStatus {
    /// How long a battery lasts.
    public static var batteryTimeStatus: Self { Characteristic(BluetoothUUID(0x2BEE), service: .battery) }
}

extension Characteristic where Value == BatteryHealthStatus {
    /// How a battery is worn.
    public static var batteryHealthStatus: Self { Characteristic(BluetoothUUID(0x2BEA), service: .battery) }
}

extension Characteristic where Value == BatteryHealthInformation {
    /// What a battery was designed to endure.
    public static var batteryHealthInformation: Self { Characteristic(BluetoothUUID(0x2BEB), service: .battery) }
}

extension Characteristic where Value == BatteryInformation {
    /// What kind of battery it is.
    public static var batteryInformation: Self { Characteristic(BluetoothUUID(0x2BEC), service: .battery) }
}

extension Characteristic where Value == DateUTC {
    /// When a battery is to be replaced or serviced.
    public static var estimatedServiceDate: Self { Characteristic(BluetoothUUID(0x2BEF), service: .battery) }
}
