public import BLE

extension BluetoothUUID {
    /// The Health Thermometer service.
    public static let healthThermometer = BluetoothUUID(0x1809)
}

/// The Health Thermometer service of a thermometer for people (Health Thermometer Service 1.0).
public struct HealthThermometer: Profile {
    /// 0x1809.
    public static let serviceUUID = BluetoothUUID.healthThermometer
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// The measurements from now on, each confirmed to the thermometer. Keeps the newest 256 that are not read yet.
    public func measurements() async throws(BLEError) -> NotificationStream<TemperatureMeasurement> {
        try await service.notifications(.temperatureMeasurement)
    }

    /// What it shows while it measures, from now on; `characteristicNotFound` when it does not send that.
    public func intermediateTemperatures() async throws(BLEError) -> NotificationStream<TemperatureMeasurement> {
        try await service.notifications(.intermediateTemperature)
    }

    /// Where it measures; nil when it does not say, or says so with each measurement.
    public func temperatureType() async throws(BLEError) -> TemperatureType? {
        try await service.readIfPresent(.temperatureType)
    }

    /// The seconds from one measurement to the next; 0 for one that does not measure by itself, nil when it does not say.
    public func measurementIntervalSeconds() async throws(BLEError) -> UInt16? {
        try await service.readIfPresent(.measurementInterval)
    }

    /// The seconds from one measurement to the next, from now on: whenever the thermometer changes them.
    public func measurementIntervalsSeconds() async throws(BLEError) -> NotificationStream<UInt16> {
        try await service.notifications(.measurementInterval)
    }

    /// Which intervals the thermometer takes, besides 0; nil when it does not say (Valid Range, section 3.4.2.1).
    public func validMeasurementIntervalSeconds() async throws(BLEError) -> ClosedRange<UInt16>? {
        let (descriptor, key) = (BluetoothUUID(0x2906), service.key(.measurementInterval).key)
        do throws(BLEError) {
            let bytes = try await peripheral.readDescriptor(descriptor, of: key)
            return try MeasurementIntervalRange(bytes: bytes).seconds
        } catch {
            if error.undiscovered == [descriptor] { return nil }
            throw error.code == .invalidValue
                ? error.at(peripheral.id, service: key.service, characteristic: key.characteristic) : error
        }
    }

    /// Says how many seconds there shall be from one measurement to the next, 1 to 65535, or 0 for no measurements by itself.
    ///
    /// Throws `attributeError` for what is not in ``validMeasurementIntervalSeconds()``, with ``BLE/ATTError/outOfRange`` or
    /// ``BLE/ATTError/measurementIntervalOutOfRange``.
    public func setMeasurementInterval(seconds: UInt16) async throws(BLEError) {
        try await service.write(seconds, to: .measurementInterval)
    }
}

extension Characteristic where Value == TemperatureMeasurement {
    /// A measurement, indicated (section 3.1).
    public static var temperatureMeasurement: Self {
        Characteristic(BluetoothUUID(0x2A1C), service: .healthThermometer)
    }

    /// What is shown while a measurement is made, notified (section 3.3).
    public static var intermediateTemperature: Self {
        Characteristic(BluetoothUUID(0x2A1E), service: .healthThermometer)
    }
}

extension Characteristic where Value == TemperatureType {
    /// Where the temperature is measured (section 3.2).
    public static var temperatureType: Self { Characteristic(BluetoothUUID(0x2A1D), service: .healthThermometer) }
}

extension Characteristic where Value == UInt16 {
    /// The seconds from one measurement to the next; 0 for none by itself (section 3.4).
    public static var measurementInterval: Self { Characteristic(BluetoothUUID(0x2A21), service: .healthThermometer) }
}

extension ATTError {
    /// What a thermometer answers to an interval that it does not take (Health Thermometer Service 1.0, section 1.6).
    public static let measurementIntervalOutOfRange = ATTError(rawValue: 0x80)
}

/// The Valid Range descriptor (0x2906) of a measurement interval: the least and the greatest number of seconds.
public struct MeasurementIntervalRange: Hashable, ValueCodable {
    /// The seconds, 0 to 65535.
    public var seconds: ClosedRange<UInt16>

    /// A range.
    public init(seconds: ClosedRange<UInt16>) { self.seconds = seconds }

    /// The least, then the greatest; throws `invalidValue` for the reverse.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let (least, greatest) = (try reader.uint16(), try reader.uint16())
        guard least <= greatest else { throw reader.invalid("nothing is from \(least) to \(greatest)") }
        seconds = least...greatest
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) {
        writer.uint16(seconds.lowerBound)
        writer.uint16(seconds.upperBound)
    }
}
