public import BLE

// The GATT Specification Supplement defines the formats; the service's specification lists the characteristics.

extension Characteristic where Value == Double? {
    /// The temperature in °C, -273.15 to 327.67.
    public static var temperature: Self {
        .environmental(.fixedPoint(.int16, dividedBy: 100, unknown: -32768, allowed: -27315...32767), 0x2A6E)
    }
    /// The relative humidity in percent, 0 to 100.
    public static var humidity: Self {
        .environmental(.fixedPoint(.uint16, dividedBy: 100, unknown: 0xFFFF, allowed: 0...10000), 0x2A6F)
    }
    /// The concentration of carbon dioxide in ppm, 0 to 65533; 65534 means 65534 or more.
    public static var co2Concentration: Self { .environmental(.fixedPoint(.uint16, unknown: 0xFFFF), 0x2B8C) }
    /// The concentration of volatile organic compounds in ppb, 0 to 65533; 65534 means 65534 or more.
    public static var vocConcentration: Self { .environmental(.fixedPoint(.uint16, unknown: 0xFFFF), 0x2BE7) }
}

extension Characteristic where Value == Double {
    /// The air pressure in pascals, with a resolution of 0.1 Pa.
    public static var pressure: Self { .environmental(.fixedPoint(.uint32, dividedBy: 10), 0x2A6D) }
    /// The dew point in °C, -128 to 127, in whole degrees.
    public static var dewPoint: Self { .environmental(.fixedPoint(.int8), 0x2A7B) }
    /// The heat index in °C, -128 to 127, in whole degrees.
    public static var heatIndex: Self { .environmental(.fixedPoint(.int8), 0x2A7A) }
    /// The wind chill in °C, -128 to 127, in whole degrees.
    public static var windChill: Self { .environmental(.fixedPoint(.int8), 0x2A79) }
    /// The elevation in meters above sea level, with a resolution of 0.01 m.
    public static var elevation: Self { .environmental(.fixedPoint(.int24, dividedBy: 100), 0x2A6C) }
    /// The wind speed relative to a moving observer, in m/s, with a resolution of 0.01 m/s.
    public static var apparentWindSpeed: Self { .environmental(.fixedPoint(.uint16, dividedBy: 100), 0x2A72) }
    /// The direction from which the wind comes relative to a moving observer, in degrees clockwise from the heading, 0
    /// to 359.99.
    public static var apparentWindDirection: Self {
        .environmental(.fixedPoint(.uint16, dividedBy: 100, allowed: 0...35999), 0x2A73)
    }
    /// The wind speed in m/s, with a resolution of 0.01 m/s.
    public static var trueWindSpeed: Self { .environmental(.fixedPoint(.uint16, dividedBy: 100), 0x2A70) }
    /// The direction from which the wind comes, in degrees clockwise from geographic north, 0 to 359.99.
    public static var trueWindDirection: Self {
        .environmental(.fixedPoint(.uint16, dividedBy: 100, allowed: 0...35999), 0x2A71)
    }
    /// The ratio of the speed of gusts to the wind speed, 0 to 25.5.
    public static var gustFactor: Self { .environmental(.fixedPoint(.uint8, dividedBy: 10), 0x2A74) }
    /// The irradiance in W/m², with a resolution of 0.1 W/m².
    public static var irradiance: Self { .environmental(.fixedPoint(.uint16, dividedBy: 10), 0x2A77) }
    /// The amount of rainfall in meters, with a resolution of 1 mm.
    public static var rainfall: Self { .environmental(.fixedPoint(.uint16, dividedBy: 1000), 0x2A78) }
    /// The UV index, 0 to 255.
    public static var uvIndex: Self { .environmental(.fixedPoint(.uint8), 0x2A76) }
    /// The number of pollen grains in a cubic meter, 0 to 16,777,215.
    public static var pollenConcentration: Self { .environmental(.fixedPoint(.uint24), 0x2A75) }
    /// The angle from geographic to magnetic north, in degrees clockwise, 0 to 359.99.
    public static var magneticDeclination: Self {
        .environmental(.fixedPoint(.uint16, dividedBy: 100, allowed: 0...35999), 0x2A2C)
    }
}

/// NaN stands for a missing measurement, NRes for a value out of range of the sensor or the format.
extension Characteristic where Value == MedFloat16 {
    /// The concentration of methane in ppb.
    public static var methaneConcentration: Self { .environmental(.codable, 0x2BD1) }
    /// The concentration of ammonia in kg/m³.
    public static var ammoniaConcentration: Self { .environmental(.codable, 0x2BCF) }
    /// The concentration of carbon monoxide in kg/m³.
    public static var carbonMonoxideConcentration: Self { .environmental(.codable, 0x2BD0) }
    /// The concentration of nitrogen dioxide in kg/m³.
    public static var nitrogenDioxideConcentration: Self { .environmental(.codable, 0x2BD2) }
    /// The concentration of volatile organic compounds other than methane in kg/m³.
    public static var nonMethaneVOCConcentration: Self { .environmental(.codable, 0x2BD3) }
    /// The concentration of ozone in kg/m³.
    public static var ozoneConcentration: Self { .environmental(.codable, 0x2BD4) }
    /// The concentration of particles below 1 µm in kg/m³.
    public static var pm1Concentration: Self { .environmental(.codable, 0x2BD5) }
    /// The concentration of particles below 2.5 µm in kg/m³.
    public static var pm2_5Concentration: Self { .environmental(.codable, 0x2BD6) }
    /// The concentration of particles below 10 µm in kg/m³.
    public static var pm10Concentration: Self { .environmental(.codable, 0x2BD7) }
    /// The concentration of sulfur dioxide in kg/m³.
    public static var sulfurDioxideConcentration: Self { .environmental(.codable, 0x2BD8) }
    /// The concentration of sulfur hexafluoride in kg/m³.
    public static var sulfurHexafluorideConcentration: Self { .environmental(.codable, 0x2BD9) }
}

extension Characteristic where Value == BarometricPressureTrend {
    /// The recent trend of the air pressure.
    public static var barometricPressureTrend: Self { .environmental(.codable, 0x2AA3) }
}

extension Characteristic where Value == MagneticFluxDensity2D {
    /// The magnetic flux density along two axes.
    public static var magneticFluxDensity2D: Self { .environmental(.codable, 0x2AA0) }
}

extension Characteristic where Value == MagneticFluxDensity3D {
    /// The magnetic flux density along three axes.
    public static var magneticFluxDensity3D: Self { .environmental(.codable, 0x2AA1) }
}

extension Characteristic where Value == EnvironmentalDescriptorChange {
    /// The characteristic whose descriptors have changed (Environmental Sensing Service 1.0, section 3.2).
    public static var descriptorValueChanged: Self { .environmental(.codable, 0x2A7D) }
}

extension Characteristic {
    fileprivate static func environmental(_ coding: ValueCoding<Value>, _ uuid: UInt32) -> Self {
        Characteristic(coding, BluetoothUUID(uuid), service: .environmentalSensing)
    }
}
