public import BLE

extension RuuviTag {
    /// The name of the format, and the company whose data has it.
    public static let format = AdvertisementFormat.Description("RuuviTag", .company(company))

    /// The temperature, the humidity, the pressure in hPa, the battery's voltage in V, and the count of movements, as
    /// far as they are available.
    public var readings: [SensorReading] {
        [
            SensorReading("temperature", temperatureCelsius, "°C"), SensorReading("humidity", humidityPercent, "%"),
            SensorReading("pressure", pressurePascals.map { Double($0) / 100 }, "hPa"),
            SensorReading("voltage", batteryMillivolts.map { Double($0) / 1000 }, "V"),
            SensorReading("movement count", movementCount.map(Double.init)),
        ].compactMap { $0 }
    }
}

extension Eddystone {
    /// The name of the format, and the service whose data has it.
    public static let format = AdvertisementFormat.Description("Eddystone", .service(service))

    /// The temperature and the battery's voltage in V of a frame of telemetry, as far as they are available.
    public var readings: [SensorReading] {
        guard case .telemetry(let telemetry) = self else { return [] }
        return [
            SensorReading("temperature", telemetry.temperatureCelsius, "°C"),
            SensorReading("voltage", telemetry.batteryMillivolts.map { Double($0) / 1000 }, "V"),
        ].compactMap { $0 }
    }
}

extension IBeacon {
    /// The name of the format, and the company whose data has it.
    public static let format = AdvertisementFormat.Description("iBeacon", .company(company))
}

extension RobotStatus {
    /// The name of the format, and the service whose data has it.
    public static let format = AdvertisementFormat.Description("Robot", .service(service))

    /// The charge of the battery, and whether it is charging.
    public var readings: [SensorReading] {
        [
            SensorReading(name: "battery", value: .number(Double(batteryPercent)), unit: "%"),
            SensorReading(name: "charging", value: .flag(isCharging)),
        ]
    }
}
