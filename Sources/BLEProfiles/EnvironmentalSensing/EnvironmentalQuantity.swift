public import BLE

/// A value of any environmental sensor.
public enum EnvironmentalValue: Hashable, Sendable {
    /// A number in the quantity's unit. Nil if unknown, infinite if it exceeds the range of the sensor.
    case number(Double?)
    /// The recent trend of the air pressure.
    case pressureTrend(BarometricPressureTrend)
    /// The magnetic flux density along two axes.
    case magneticFluxDensity2D(MagneticFluxDensity2D)
    /// The magnetic flux density along three axes.
    case magneticFluxDensity3D(MagneticFluxDensity3D)
}

extension EnvironmentalValue: CustomStringConvertible {
    /// The value without a unit, such as `21.37`, `steady` or `x 1.5, y -20`. An unknown number is `unknown`.
    public var description: String {
        switch self {
        case .number(let number): number.map(Self.text) ?? "unknown"
        case .pressureTrend(let trend): "\(trend)"
        case .magneticFluxDensity2D(let density):
            "x \(Self.text(density.xMicroteslas)), y \(Self.text(density.yMicroteslas))"
        case .magneticFluxDensity3D(let density):
            "x \(Self.text(density.xMicroteslas)), y \(Self.text(density.yMicroteslas)), "
                + "z \(Self.text(density.zMicroteslas))"
        }
    }

    private static func text(_ number: Double) -> String { Int(exactly: number).map { "\($0)" } ?? "\(number)" }
}

/// A quantity that a sensor of the Environmental Sensing service can measure.
public struct EnvironmentalQuantity: Hashable, Sendable {
    /// The type of the characteristic.
    public let uuid: BluetoothUUID
    /// The name assigned by the SIG, such as `Temperature`.
    public let name: String
    /// The unit of the numbers, such as `°C`. Empty if there is none.
    public let unit: String
    let coding: ValueCoding<EnvironmentalValue>

    /// Creates the quantity for a type of characteristic. Returns nil for other types.
    public init?(_ uuid: BluetoothUUID) {
        guard let quantity = Self.byUUID[uuid] else { return nil }
        self = quantity
    }

    /// Returns a value with its unit, such as `21.37 °C`. The unit is omitted if there is none, or if the number is
    /// unknown.
    public func text(of value: EnvironmentalValue) -> String {
        guard !unit.isEmpty, value != .number(nil) else { return "\(value)" }
        return "\(value)" + (unit == "°" ? "" : " ") + unit
    }

    /// Considers only the type.
    public static func == (left: Self, right: Self) -> Bool { left.uuid == right.uuid }
    /// Considers only the type.
    public func hash(into hasher: inout Hasher) { hasher.combine(uuid) }

    /// All quantities.
    public static let all: [EnvironmentalQuantity] = [
        Self(.temperature, "Temperature", "°C"),
        Self(.humidity, "Humidity", "%"),
        Self(.pressure, "Pressure", "Pa"),
        Self(.dewPoint, "Dew Point", "°C"),
        Self(.heatIndex, "Heat Index", "°C"),
        Self(.windChill, "Wind Chill", "°C"),
        Self(.elevation, "Elevation", "m"),
        Self(.apparentWindSpeed, "Apparent Wind Speed", "m/s"),
        Self(.apparentWindDirection, "Apparent Wind Direction", "°"),
        Self(.trueWindSpeed, "True Wind Speed", "m/s"),
        Self(.trueWindDirection, "True Wind Direction", "°"),
        Self(.gustFactor, "Gust Factor", ""),
        Self(.irradiance, "Irradiance", "W/m²"),
        Self(.rainfall, "Rainfall", "m"),
        Self(.uvIndex, "UV Index", ""),
        Self(.pollenConcentration, "Pollen Concentration", "1/m³"),
        Self(.magneticDeclination, "Magnetic Declination", "°"),
        Self(.co2Concentration, "CO2 Concentration", "ppm"),
        Self(.vocConcentration, "VOC Concentration", "ppb"),
        Self(.methaneConcentration, "Methane Concentration", "ppb"),
        Self(.ammoniaConcentration, "Ammonia Concentration", "kg/m³"),
        Self(.carbonMonoxideConcentration, "Carbon Monoxide Concentration", "kg/m³"),
        Self(.nitrogenDioxideConcentration, "Nitrogen Dioxide Concentration", "kg/m³"),
        Self(.nonMethaneVOCConcentration, "Non-Methane Volatile Organic Compounds Concentration", "kg/m³"),
        Self(.ozoneConcentration, "Ozone Concentration", "kg/m³"),
        Self(.pm1Concentration, "Particulate Matter - PM1 Concentration", "kg/m³"),
        Self(.pm2_5Concentration, "Particulate Matter - PM2.5 Concentration", "kg/m³"),
        Self(.pm10Concentration, "Particulate Matter - PM10 Concentration", "kg/m³"),
        Self(.sulfurDioxideConcentration, "Sulfur Dioxide Concentration", "kg/m³"),
        Self(.sulfurHexafluorideConcentration, "Sulfur Hexafluoride Concentration", "kg/m³"),
        Self(.barometricPressureTrend, "Barometric Pressure Trend", "", { .pressureTrend($0) }) {
            if case .pressureTrend(let trend) = $0 { trend } else { nil }
        },
        Self(.magneticFluxDensity2D, "Magnetic Flux Density - 2D", "µT", { .magneticFluxDensity2D($0) }) {
            if case .magneticFluxDensity2D(let density) = $0 { density } else { nil }
        },
        Self(.magneticFluxDensity3D, "Magnetic Flux Density - 3D", "µT", { .magneticFluxDensity3D($0) }) {
            if case .magneticFluxDensity3D(let density) = $0 { density } else { nil }
        },
    ]

    private static let byUUID = Dictionary(uniqueKeysWithValues: all.map { ($0.uuid, $0) })

    private init(_ characteristic: Characteristic<Double?>, _ name: String, _ unit: String) {
        self.init(characteristic, name, unit, { .number($0) }) {
            if case .number(let number) = $0 { .some(number) } else { nil }
        }
    }

    private init(_ characteristic: Characteristic<Double>, _ name: String, _ unit: String) {
        self.init(characteristic, name, unit, { .number($0) }) {
            if case .number(let number?) = $0 { number } else { nil }
        }
    }

    private init(_ characteristic: Characteristic<MedFloat16>, _ name: String, _ unit: String) {
        self.init(
            characteristic, name, unit, { .number($0.doubleValue.isNaN ? nil : $0.doubleValue) },
            { if case .number(let number) = $0 { number.map { MedFloat16($0) } ?? .nan } else { nil } })
    }

    private init<Value>(
        _ characteristic: Characteristic<Value>, _ name: String, _ unit: String,
        _ value: @escaping @Sendable (Value) -> EnvironmentalValue,
        _ payload: @escaping @Sendable (EnvironmentalValue) -> Value?
    ) {
        let coding = characteristic.coding
        uuid = characteristic.uuid
        self.name = name
        self.unit = unit
        self.coding = ValueCoding(
            decode: { (bytes) throws(BLEError) in value(try coding.decode(bytes)) },
            encode: { (any) throws(BLEError) in
                guard let payload = payload(any) else {
                    throw BLEError(.invalidValue, "\(any) is not a value of such a sensor")
                }
                return try coding.encode(payload)
            })
    }
}
