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
    /// The unit of the numbers, such as `°C`. Empty if there is none.
    public let unit: String
    let coding: ValueCoding<EnvironmentalValue>

    /// Creates the quantity for a type of characteristic. Returns nil for other types.
    public init?(_ uuid: BluetoothUUID) {
        guard let quantity = Self.byUUID[uuid] else { return nil }
        self = quantity
    }

    /// The name assigned by the SIG, such as `Temperature`.
    public var name: String { uuid.name ?? uuid.description }

    /// Returns a value with its unit, such as `21.37 °C`. Without a unit if there is none, or if the number is unknown.
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
        Self(.temperature, "°C"), Self(.humidity, "%"), Self(.pressure, "Pa"), Self(.dewPoint, "°C"),
        Self(.heatIndex, "°C"), Self(.windChill, "°C"), Self(.elevation, "m"), Self(.apparentWindSpeed, "m/s"),
        Self(.apparentWindDirection, "°"), Self(.trueWindSpeed, "m/s"), Self(.trueWindDirection, "°"),
        Self(.gustFactor, ""), Self(.irradiance, "W/m²"), Self(.rainfall, "m"), Self(.uvIndex, ""),
        Self(.pollenConcentration, "1/m³"), Self(.magneticDeclination, "°"), Self(.co2Concentration, "ppm"),
        Self(.vocConcentration, "ppb"), Self(.methaneConcentration, "ppb"), Self(.ammoniaConcentration, "kg/m³"),
        Self(.carbonMonoxideConcentration, "kg/m³"), Self(.nitrogenDioxideConcentration, "kg/m³"),
        Self(.nonMethaneVOCConcentration, "kg/m³"), Self(.ozoneConcentration, "kg/m³"),
        Self(.pm1Concentration, "kg/m³"), Self(.pm2_5Concentration, "kg/m³"), Self(.pm10Concentration, "kg/m³"),
        Self(.sulfurDioxideConcentration, "kg/m³"), Self(.sulfurHexafluorideConcentration, "kg/m³"),
        Self(.barometricPressureTrend, "", { .pressureTrend($0) }) {
            if case .pressureTrend(let trend) = $0 { trend } else { nil }
        },
        Self(.magneticFluxDensity2D, "µT", { .magneticFluxDensity2D($0) }) {
            if case .magneticFluxDensity2D(let density) = $0 { density } else { nil }
        },
        Self(.magneticFluxDensity3D, "µT", { .magneticFluxDensity3D($0) }) {
            if case .magneticFluxDensity3D(let density) = $0 { density } else { nil }
        },
    ]

    private static let byUUID = Dictionary(uniqueKeysWithValues: all.map { ($0.uuid, $0) })

    private init(_ characteristic: Characteristic<Double?>, _ unit: String) {
        self.init(characteristic, unit, { .number($0) }) {
            if case .number(let number) = $0 { .some(number) } else { nil }
        }
    }

    private init(_ characteristic: Characteristic<Double>, _ unit: String) {
        self.init(characteristic, unit, { .number($0) }) { if case .number(let number?) = $0 { number } else { nil } }
    }

    private init(_ characteristic: Characteristic<MedFloat16>, _ unit: String) {
        self.init(
            characteristic, unit, { .number($0.doubleValue.isNaN ? nil : $0.doubleValue) },
            { if case .number(let number) = $0 { number.map { MedFloat16($0) } ?? .nan } else { nil } })
    }

    private init<Value>(
        _ characteristic: Characteristic<Value>, _ unit: String,
        _ value: @escaping @Sendable (Value) -> EnvironmentalValue,
        _ payload: @escaping @Sendable (EnvironmentalValue) -> Value?
    ) {
        let coding = characteristic.coding
        uuid = characteristic.uuid
        self.unit = unit
        self.coding = ValueCoding(
            decode: { (bytes) throws(BLEError) in value(try coding.decode(bytes)) },
            encode: { (any) throws(BLEError) in
                guard let payload = payload(any) else {
                    throw BLEError(.invalidValue, "\(any) is no value of such a sensor")
                }
                return try coding.encode(payload)
            })
    }
}
