import BLE
import BLEProfiles
import BLETestSupport
import Testing

@Suite struct MedFloatTests {
    @Test(
        arguments: [
            (0x0072, 114, "114"), (0xF16C, 36.4, "36.4"), (0xE0E0, 2.24, "2.24"), (0x0000, 0, "0"),
            (0x0FFF, -1, "-1"), (0xFFFF, -0.1, "-0.1"), (0x1001, 10, "10"), (0x77FD, 20_450_000_000, "20450000000"),
            (0x8001, 0.00000001, "0.00000001"), (0x07FD, 2045, "2045"), (0x0803, -2045, "-2045"), (0xF168, 36, "36.0"),
        ] as [(UInt16, Double, String)])
    func `16 bits are twelve of mantissa and four of exponent`(_ bits: UInt16, _ number: Double, _ text: String) throws
    {
        let value = MedFloat16(rawValue: bits)
        #expect(value.doubleValue == number)
        #expect(value.description == text)
        #expect(try MedFloat16(bytes: value.encoded()) == value)
        let (mantissa, exponent) = try #require(value.decimal)
        #expect(MedFloat16(mantissa: mantissa, exponent: exponent) == value)
    }

    @Test(
        arguments: [
            (0xFF00_016C, 36.4), (0xFE00_0E4C, 36.6), (0x0000_0072, 114), (0xFFFF_FFFF, -0.1), (0x007F_FFFD, 8_388_605),
            (0x0080_0003, -8_388_605), (0x7F00_0001, 1e127), (0x8000_0001, 1e-128),
        ] as [(UInt32, Double)])
    func `32 bits are 24 of mantissa and eight of exponent`(_ bits: UInt32, _ number: Double) throws {
        let value = MedFloat32(rawValue: bits)
        #expect(value.doubleValue == number)
        #expect(try MedFloat32(bytes: value.encoded()) == value)
        let (mantissa, exponent) = try #require(value.decimal)
        #expect(MedFloat32(mantissa: mantissa, exponent: exponent) == value)
    }

    @Test func `special values are no numbers`() {
        let bits16: [(MedFloat16, UInt16)] = [
            (.nan, 0x07FF), (.notAtThisResolution, 0x0800), (.infinity, 0x07FE), (.negativeInfinity, 0x0802),
            (.reserved, 0x0801),
        ]
        for (value, bits) in bits16 { #expect(value.rawValue == bits && value.decimal == nil) }
        let bits32: [(MedFloat32, UInt32)] = [
            (.nan, 0x007F_FFFF), (.notAtThisResolution, 0x0080_0000), (.infinity, 0x007F_FFFE),
            (.negativeInfinity, 0x0080_0002), (.reserved, 0x0080_0001),
        ]
        for (value, bits) in bits32 { #expect(value.rawValue == bits && value.decimal == nil) }
        #expect(MedFloat16.infinity.doubleValue == .infinity && MedFloat16.negativeInfinity.doubleValue == -.infinity)
        #expect(MedFloat16.nan.doubleValue.isNaN && MedFloat16.notAtThisResolution.doubleValue.isNaN)
        #expect(MedFloat16.reserved.doubleValue.isNaN)
        #expect("\(MedFloat16.nan) \(MedFloat32.notAtThisResolution) \(MedFloat16.infinity)" == "NaN NRes +INFINITY")
    }

    @Test(arguments: [0, 36.4, -0.1, 120, 2045, 2046, 8_388_606, 1e10, 1.0 / 3, 20_450_000_000, 1e-8])
    func `a number becomes the next that there is`(
        _ number: Double
    ) {
        let tolerance = Swift.max(abs(number) / 400, 5e-9)
        #expect(abs(MedFloat16(number).doubleValue - number) <= tolerance)
        #expect(abs(MedFloat32(number).doubleValue - number) <= abs(number) * 1e-6)
    }

    @Test func `a number takes no more digits than it needs`() {
        #expect(MedFloat16(36.4).rawValue == 0xF16C)
        #expect((120 as MedFloat16).rawValue == 120)
        #expect((36.4 as MedFloat32).rawValue == 0xFF00_016C)
        #expect(MedFloat16(1.0 / 3).description == "0.3333" || MedFloat16(1.0 / 3).description == "0.333")
    }

    @Test func `a number that is too large is infinite, and NaN stays NaN`() {
        #expect(MedFloat16(1e11) == .infinity)
        #expect(MedFloat16(-1e11) == .negativeInfinity)
        #expect(MedFloat32(.infinity) == .infinity)
        #expect(MedFloat16(.nan) == .nan)
        #expect(MedFloat16(mantissa: 2046) == nil)
        #expect(MedFloat16(mantissa: .min) == nil)
        #expect(MedFloat16(mantissa: 1, exponent: 8) == nil)
        #expect(MedFloat32(mantissa: 1, exponent: -129) == nil)
    }

    @Test func `every number is read and written as it was`() {
        for bits in UInt16.min...UInt16.max {
            let value = MedFloat16(rawValue: bits)
            guard let (mantissa, exponent) = value.decimal, abs(mantissa) <= 2045 else { continue }
            #expect(MedFloat16(mantissa: mantissa, exponent: exponent) == value)
            #expect(MedFloat16(value.doubleValue).doubleValue == value.doubleValue)
        }
    }
}
