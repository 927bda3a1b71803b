import BLE
import BLETestSupport
import Testing

@Suite struct FixedPointTests {
    @Test(
        arguments: [
            (.uint8, 1, [7], 7), (.int8, 10, [0xFF], -0.1), (.uint24, 1000, [0x40, 0xE2, 0x01], 123.456),
            (.int32, 100, [0, 0, 0, 0x80], -21_474_836.48), (.uint48, 1, [0, 0, 0, 0, 0, 1], 1_099_511_627_776),
        ] as [(IntegerFormat, Double, [UInt8], Double)])
    func `an integer is divided`(_ format: IntegerFormat, _ divisor: Double, _ bytes: [UInt8], _ value: Double) throws {
        let coding = ValueCoding<Double>.fixedPoint(format, dividedBy: divisor)
        #expect(try coding.decode(bytes) == value)
        #expect(try coding.encode(value) == bytes)
        let optional = ValueCoding<Double?>.fixedPoint(format, dividedBy: divisor, unknown: 3)
        #expect(try optional.decode(bytes) == value)
        #expect(try optional.encode(value) == bytes)
    }

    @Test(arguments: [[], [1], [1, 0, 0], [101, 0], [0xFF, 0xFF]] as [[UInt8]])
    func `other lengths and what is not allowed throw`(_ bytes: [UInt8]) async {
        let coding = ValueCoding<Double>.fixedPoint(.uint16, allowed: 0...100)
        await expectError(.invalidValue) { try coding.decode(bytes) }
    }

    @Test(arguments: [-0.51, 100.5, .nan, .infinity, 1e30] as [Double])
    func `what is not allowed is not written`(_ value: Double) async {
        let coding = ValueCoding<Double>.fixedPoint(.uint16, allowed: 0...100)
        await expectError(.invalidValue) { try coding.encode(value) }
    }

    @Test func `one integer means that a value is not known`() async throws {
        let coding = ValueCoding<Double?>.fixedPoint(.int16, dividedBy: 100, unknown: -0x8000)
        #expect(try coding.decode([0x00, 0x80]) == .some(nil))
        #expect(try coding.encode(nil) == [0x00, 0x80])
        await expectError(.invalidValue) { try coding.encode(-327.68) }
    }
}
