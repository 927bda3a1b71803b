import BLE
import BLEAssignedNumbers
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite struct EnvironmentalQuantityTests {
    @Test(
        arguments: [
            (.temperature, [0x59, 0x08], 21.37), (.temperature, [0xFF, 0xFF], -0.01),
            (.temperature, [0x4D, 0x95], -273.15), (.temperature, [0xFF, 0x7F], 327.67),
            (.temperature, [0x00, 0x80], nil), (.humidity, [0x00, 0x00], 0), (.humidity, [0x10, 0x27], 100),
            (.humidity, [0xB7, 0x13], 50.47), (.humidity, [0xFF, 0xFF], nil), (.co2Concentration, [0x9C, 0x01], 412),
            (.co2Concentration, [0xFD, 0xFF], 65533), (.co2Concentration, [0xFE, 0xFF], 65534),
            (.co2Concentration, [0xFF, 0xFF], nil), (.vocConcentration, [0x0A, 0x00], 10),
            (.vocConcentration, [0xFE, 0xFF], 65534), (.vocConcentration, [0xFF, 0xFF], nil),
        ] as [(Characteristic<Double?>, [UInt8], Double?)])
    func `a number is sent, or that it is not known`(
        _ key: Characteristic<Double?>, _ bytes: [UInt8], _ value: Double?
    ) throws {
        #expect(try key.coding.decode(bytes) == value)
        #expect(try key.coding.encode(value) == bytes)
    }

    @Test(
        arguments: [
            (0x2A6E, .number(21.37), "21.37 °C"), (0x2A6E, .number(-3), "-3 °C"),
            (0x2A6E, .number(nil), "unknown"), (0x2B8C, .number(412), "412 ppm"),
            (0x2A71, .number(90.5), "90.5°"), (0x2A76, .number(11), "11"),
            (0x2BD4, .number(.infinity), "inf kg/m³"),
            (0x2AA3, .pressureTrend(.steady), "steady"),
            (0x2AA0, .magneticFluxDensity2D(.init(xMicroteslas: 1.5, yMicroteslas: -20)), "x 1.5, y -20 µT"),
            (
                0x2AA1,
                .magneticFluxDensity3D(.init(xMicroteslas: 1, yMicroteslas: 2, zMicroteslas: 3.5)), "x 1, y 2, z 3.5 µT"
            ),
        ] as [(UInt32, EnvironmentalValue, String)])
    func `a value is shown with its unit`(_ number: UInt32, _ value: EnvironmentalValue, _ text: String) throws {
        let quantity = try #require(EnvironmentalQuantity(BluetoothUUID(number)))
        #expect(quantity.text(of: value) == text)
    }

    @Test(
        arguments: [
            (.pressure, [0x52, 0x75, 0x0F, 0x00], 101_307.4), (.pressure, [0xFF, 0xFF, 0xFF, 0xFF], 429_496_729.5),
            (.dewPoint, [0x80], -128), (.dewPoint, [0x7F], 127), (.heatIndex, [0x23], 35), (.windChill, [0xF6], -10),
            (.elevation, [0xA0, 0x7F, 0x0D], 8846.4), (.elevation, [0x00, 0x00, 0x80], -83886.08),
            (.apparentWindSpeed, [0xE8, 0x03], 10), (.apparentWindDirection, [0x9F, 0x8C], 359.99),
            (.trueWindSpeed, [0xFF, 0xFF], 655.35), (.trueWindDirection, [0x00, 0x00], 0), (.gustFactor, [0x0D], 1.3),
            (.irradiance, [0x10, 0x27], 1000), (.rainfall, [0x0C, 0x00], 0.012), (.uvIndex, [0x0B], 11),
            (.pollenConcentration, [0xFF, 0xFF, 0xFF], 16_777_215), (.magneticDeclination, [0x39, 0x30], 123.45),
        ] as [(Characteristic<Double>, [UInt8], Double)])
    func `a number is sent`(_ key: Characteristic<Double>, _ bytes: [UInt8], _ value: Double) throws {
        #expect(try key.coding.decode(bytes) == value)
        #expect(try key.coding.encode(value) == bytes)
    }

    @Test(
        arguments: [
            (.temperature, [0x01, 0x80]), (.temperature, [0x4C, 0x95]), (.temperature, [0x00]),
            (.temperature, [0x00, 0x00, 0x00]), (.humidity, [0x11, 0x27]), (.humidity, [0xFE, 0xFF]),
            (.apparentWindDirection, [0xA0, 0x8C]), (.trueWindDirection, [0xA0, 0x8C]),
            (.magneticDeclination, [0xFF, 0xFF]), (.pressure, [0x00, 0x00, 0x00]), (.elevation, [0x00, 0x00]),
            (.uvIndex, []), (.barometricPressureTrend, [0x01, 0x00]), (.magneticFluxDensity2D, [1, 0, 0]),
            (.magneticFluxDensity3D, [1, 0, 0, 0, 0]), (.ozoneConcentration, [0x01]),
        ] as [(Quantity, [UInt8])])
    func `what is prohibited, too short or too long is an error`(_ quantity: Quantity, _ bytes: [UInt8]) async throws {
        let value = try #require(TypedValues.environmental.first { $0.uuid == quantity.uuid })
        await expectError(.invalidValue) { try value.decode(bytes) }
    }

    struct Quantity: Sendable {
        let uuid: BluetoothUUID
        static let temperature = Quantity(uuid: BluetoothUUID(0x2A6E))
        static let humidity = Quantity(uuid: BluetoothUUID(0x2A6F))
        static let apparentWindDirection = Quantity(uuid: BluetoothUUID(0x2A73))
        static let trueWindDirection = Quantity(uuid: BluetoothUUID(0x2A71))
        static let magneticDeclination = Quantity(uuid: BluetoothUUID(0x2A2C))
        static let pressure = Quantity(uuid: BluetoothUUID(0x2A6D))
        static let elevation = Quantity(uuid: BluetoothUUID(0x2A6C))
        static let uvIndex = Quantity(uuid: BluetoothUUID(0x2A76))
        static let barometricPressureTrend = Quantity(uuid: BluetoothUUID(0x2AA3))
        static let magneticFluxDensity2D = Quantity(uuid: BluetoothUUID(0x2AA0))
        static let magneticFluxDensity3D = Quantity(uuid: BluetoothUUID(0x2AA1))
        static let ozoneConcentration = Quantity(uuid: BluetoothUUID(0x2BD4))
    }

    @Test(arguments: [-273.16, 327.68, -327.68, 1e300, .nan, -.infinity] as [Double])
    func `a number that cannot be sent is an error`(_ value: Double) async {
        await expectError(.invalidValue) { try Characteristic.temperature.coding.encode(value) }
    }

    @Test func `what means that a value is not known is not sent for one`() async {
        await expectError(.invalidValue) { try Characteristic.co2Concentration.coding.encode(65535) }
    }

    @Test func `a concentration keeps its special values`() throws {
        let coding = Characteristic.pm2_5Concentration.coding
        #expect(try coding.decode([0x0C, 0x80]).doubleValue == 12e-8)
        #expect(try coding.decode([0xFF, 0x07]) == .nan)
        #expect(try coding.decode([0x00, 0x08]) == .notAtThisResolution)
        #expect(try coding.encode(.nan) == [0xFF, 0x07])
    }

    @Test func `a flux density is two or three numbers`() async throws {
        try await checkSpelling(
            [0xF4, 0x01, 0x0C, 0xFE], MagneticFluxDensity2D(xMicroteslas: 50, yMicroteslas: -50))
        try await checkSpelling(
            [0x01, 0x00, 0x00, 0x80, 0xFF, 0x7F],
            MagneticFluxDensity3D(xMicroteslas: 0.1, yMicroteslas: -3276.8, zMicroteslas: 3276.7))
    }

    @Test func `a reserved trend is kept as its number`() throws {
        #expect(try BarometricPressureTrend(bytes: [9]) == .steady)
        #expect(try BarometricPressureTrend(bytes: [10]) == BarometricPressureTrend(rawValue: 10))
    }

    @Test func `each quantity has a name and is found by its characteristic`() {
        #expect(EnvironmentalQuantity.all.count == 33)
        for quantity in EnvironmentalQuantity.all {
            #expect(EnvironmentalQuantity(quantity.uuid) == quantity)
            #expect(quantity.uuid.name == quantity.name)
        }
        #expect(EnvironmentalQuantity(BluetoothUUID(0x2A6E))?.name == "Temperature")
        #expect(EnvironmentalQuantity(BluetoothUUID(0x2A6E))?.unit == "°C")
        #expect(EnvironmentalQuantity(BluetoothUUID(0x2A7D)) == nil)
        let listed = Set(TypedValues.environmental.map(\.uuid)).subtracting([BluetoothUUID(0x2A7D)])
        #expect(Set(EnvironmentalQuantity.all.map(\.uuid)) == listed)
    }
}
