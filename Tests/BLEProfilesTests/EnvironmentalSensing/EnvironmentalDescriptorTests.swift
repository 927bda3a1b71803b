import BLE
import BLEProfiles
import BLETestSupport
import Testing

@Suite struct EnvironmentalDescriptorTests {
    @Test(
        arguments: [
            ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF], EnvironmentalMeasurement()),
            (
                [0, 0, 2, 0x3C, 0, 0, 0x80, 0x51, 0x01, 0x13, 0x05],
                EnvironmentalMeasurement(
                    samplingFunction: .arithmeticMean, measurementPeriodSeconds: 60, updateIntervalSeconds: 86400,
                    application: .outdoor, uncertaintyPercent: 2.5)
            ),
            (
                [0, 0, 7, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0x21, 0xFE],
                EnvironmentalMeasurement(
                    samplingFunction: .count, measurementPeriodSeconds: 0xFFFFFF, application: .solar,
                    uncertaintyPercent: 127)
            ),
        ] as [([UInt8], EnvironmentalMeasurement)])
    func `a measurement is eleven bytes`(_ bytes: [UInt8], _ measurement: EnvironmentalMeasurement) async throws {
        try await checkSpelling(bytes, measurement)
    }

    @Test func `what is reserved is kept, or ignored where it is a flag`() throws {
        let measurement = try EnvironmentalMeasurement(bytes: [0xFF, 0xFF, 8, 0, 0, 0, 0, 0, 0, 34, 0])
        #expect(measurement.samplingFunction.rawValue == 8)
        #expect(measurement.application.rawValue == 34)
        #expect(measurement.application.description == "34")
        #expect(EnvironmentalApplication.gpsAndMapElevation.description == "gpsAndMapElevation")
        #expect(EnvironmentalApplication.solar.description == "solar")
    }

    @Test(arguments: [-0.5, 127.5, .nan] as [Double]) func `an uncertainty is no more than 127 %`(
        _ percent: Double
    ) async {
        await expectError(.invalidValue) { try EnvironmentalMeasurement(uncertaintyPercent: percent).encoded() }
    }

    @Test(
        arguments: [
            ([0], .inactive), ([1, 0x2C, 0x01, 0x00], .every(seconds: 300)),
            ([2, 0xFF, 0xFF, 0xFF], .noMoreOften(thanSeconds: 0xFFFFFF)), ([3], .changed),
            ([4, 0x59, 0x08], .less(than: 21.37)), ([5, 0x59, 0x08], .atMost(21.37)),
            ([6, 0xFF, 0xFF], .greater(than: -0.01)), ([7, 0x00, 0x00], .atLeast(0)),
            ([8, 0x00, 0x80], .equal(to: nil)),
            ([9, 0x64, 0x00], .notEqual(to: 1)), ([10], .reserved(condition: 10, operand: [])),
            ([255, 1, 2, 3], .reserved(condition: 255, operand: [1, 2, 3])),
        ] as [([UInt8], EnvironmentalTrigger<Double?>)])
    func `a trigger is a condition and what it takes`(
        _ bytes: [UInt8], _ trigger: EnvironmentalTrigger<Double?>
    ) throws {
        let coding = EnvironmentalTrigger.coding(Characteristic.temperature.coding)
        #expect(try coding.decode(bytes) == trigger)
        #expect(try coding.encode(trigger) == bytes)
    }

    @Test(
        arguments: [
            [], [0, 0], [1], [1, 0, 0], [1, 0, 0, 0, 0], [2, 1], [3, 1], [4], [4, 0], [5, 0, 0, 0], [6, 1, 0x80], [7],
            [8, 0], [9, 1],
        ] as [[UInt8]])
    func `a trigger with too few bytes, or too many, is invalid`(_ bytes: [UInt8]) async {
        let coding = EnvironmentalTrigger.coding(Characteristic.temperature.coding)
        await expectError(.invalidValue) { try coding.decode(bytes) }
    }

    @Test(arguments: [-1, 0x100_0000, .max]) func `no trigger waits for ever`(_ seconds: Int) async {
        let coding = EnvironmentalTrigger.coding(Characteristic.temperature.coding)
        await expectError(.invalidValue) { try coding.encode(.every(seconds: seconds)) }
        await expectError(.invalidValue) { try coding.encode(.noMoreOften(thanSeconds: seconds)) }
    }

    @Test func `triggers go together one way or the other`() async throws {
        try await checkSpelling([0], EnvironmentalTriggerLogic.and)
        try await checkSpelling([1], EnvironmentalTriggerLogic.or)
        try await checkSpelling([2], EnvironmentalTriggerLogic(rawValue: 2))
    }

    @Test func `a range is two values`() async throws {
        let coding = ValidRange.coding(Characteristic.temperature.coding)
        #expect(try coding.decode([0x60, 0xF0, 0x4C, 0x1D]) == ValidRange(-40, 75))
        #expect(try coding.encode(ValidRange(-40, 75)) == [0x60, 0xF0, 0x4C, 0x1D])
        for bytes in [[], [1], [1, 2], [1, 2, 3], [1, 2, 3, 4, 5, 6]] as [[UInt8]] {
            await expectError(.invalidValue) { try coding.decode(bytes) }
        }
    }

    @Test func `a change names its characteristic`() async throws {
        try await checkSpelling(
            [0x03, 0x00, 0x6E, 0x2A], EnvironmentalDescriptorChange([.byClient, .triggers], of: BluetoothUUID(0x2A6E)))
        let custom = try #require(BluetoothUUID("6E400001-B5A3-F393-E0A9-E50E24DCCA9E"))
        try await checkSpelling(
            [0x1C, 0x00] + custom.bigEndianBytes.reversed(),
            EnvironmentalDescriptorChange([.configuration, .measurement, .userDescription], of: custom),
            shorter: [4])
    }
}
