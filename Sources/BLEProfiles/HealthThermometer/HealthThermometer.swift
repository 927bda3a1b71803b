public import BLE

extension BluetoothUUID {
    /// The Health Thermometer service.
    public static let healthThermometer = BluetoothUUID(0x1809)
}

/// The Health Thermometer service of a clinical thermometer (Health Thermometer Service 1.0).
public struct HealthThermometer: Profile {
    /// 0x1809.
    public static let serviceUUID = BluetoothUUID.healthThermometer
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the measurements from now on, each of which is confirmed to the thermometer. Keeps the newest 256 unread
    /// measurements.
    public func measurements() async throws(BLEError) -> NotificationStream<TemperatureMeasurement> {
        try await service.notifications(.temperatureMeasurement)
    }

    /// Returns the intermediate temperatures during a measurement, from now on. Throws `characteristicNotFound` if the
    /// thermometer does not support them.
    public func intermediateTemperatures() async throws(BLEError) -> NotificationStream<TemperatureMeasurement> {
        try await service.notifications(.intermediateTemperature)
    }

    /// Returns the location of the measurement. Nil if not available, or if it is sent with each measurement.
    public func temperatureType() async throws(BLEError) -> TemperatureType? {
        try await service.readIfPresent(.temperatureType)
    }

    /// Returns the interval between measurements in seconds. 0 without periodic measurements, nil if not available.
    public func measurementIntervalSeconds() async throws(BLEError) -> UInt16? {
        try await service.readIfPresent(.measurementInterval)
    }

    /// Returns the interval between measurements in seconds, whenever the thermometer changes it.
    public func measurementIntervalsSeconds() async throws(BLEError) -> NotificationStream<UInt16> {
        try await service.notifications(.measurementInterval)
    }

    /// Returns the supported intervals, in addition to 0. Nil if not available (Valid Range, section 3.4.2.1).
    public func validMeasurementIntervalSeconds() async throws(BLEError) -> ClosedRange<UInt16>? {
        let (descriptor, key) = (BluetoothUUID(0x2906), service.key(.measurementInterval).key)
        do throws(BLEError) {
            let bytes = try await peripheral.readDescriptor(descriptor, of: key)
            return try MeasurementIntervalRange(bytes: bytes).seconds
        } catch {
            if error.missingUUIDs == [descriptor] { return nil }
            throw error.code == .invalidValue
                ? error.at(peripheral.id, service: key.service, characteristic: key.characteristic) : error
        }
    }

    /// Sets the interval between measurements in seconds, 1 to 65535, or 0 for no periodic measurements.
    ///
    /// Throws `attributeError` with `ATTError.outOfRange` or ``BLE/ATTError/measurementIntervalOutOfRange`` if
    /// the interval is not in ``validMeasurementIntervalSeconds()``.
    public func setMeasurementInterval(seconds: UInt16) async throws(BLEError) {
        try await service.write(seconds, to: .measurementInterval)
    }
}

extension Characteristic where Value == TemperatureMeasurement {
    /// A measurement, which the thermometer indicates (section 3.1).
    public static var temperatureMeasurement: Self {
        Characteristic(BluetoothUUID(0x2A1C), service: .healthThermometer)
    }

    /// An intermediate temperature during a measurement, which the thermometer notifies (section 3.3).
    public static var intermediateTemperature: Self {
        Characteristic(BluetoothUUID(0x2A1E), service: .healthThermometer)
    }
}

extension Characteristic where Value == TemperatureType {
    /// The location of the measurement (section 3.2).
    public static var temperatureType: Self { Characteristic(BluetoothUUID(0x2A1D), service: .healthThermometer) }
}

extension Characteristic where Value == UInt16 {
    /// The interval between measurements in seconds. 0 without periodic measurements (section 3.4).
    public static var measurementInterval: Self { Characteristic(BluetoothUUID(0x2A21), service: .healthThermometer) }
}

extension ATTError {
    /// The thermometer does not support the interval (Health Thermometer Service 1.0, section 1.6).
    public static let measurementIntervalOutOfRange = ATTError(rawValue: 0x80)
}

/// The Valid Range descriptor (0x2906) of the measurement interval, in seconds.
public struct MeasurementIntervalRange: Hashable, Codable, ValueCodable {
    /// The seconds, 0 to 65535.
    public var seconds: ClosedRange<UInt16>

    /// Creates a range.
    public init(seconds: ClosedRange<UInt16>) { self.seconds = seconds }

    /// Decodes the minimum and the maximum. Throws `invalidValue` if they are in reverse order.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let (least, greatest) = (try reader.uint16(), try reader.uint16())
        guard least <= greatest else {
            throw reader.invalid("the minimum \(least) is greater than the maximum \(greatest)")
        }
        seconds = least...greatest
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) {
        writer.uint16(seconds.lowerBound)
        writer.uint16(seconds.upperBound)
    }
}
