import BLE
import BLEProfiles
import BLETestSupport
import Testing

/// Random values of the everyday services with several fields: encoded values are decoded to the same values.
@Suite struct EverydayRoundTripTests {
    private static let rounds = 300

    /// Nothing, or a number of the range.
    private func maybe(_ range: ClosedRange<Int>, _ generator: inout SeededGenerator) -> Int? {
        Bool.random(using: &generator) ? Int.random(in: range, using: &generator) : nil
    }

    /// Nothing, or a decimal number, below zero only where it may be.
    private func maybeDecimal(_ generator: inout SeededGenerator, signed: Bool = false) -> MedFloat16? {
        guard Bool.random(using: &generator) else { return nil }
        return MedFloat16(
            mantissa: .random(in: (signed ? -2045 : 0)...2045, using: &generator),
            exponent: .random(in: -8...7, using: &generator))
    }

    @Test func `of batteries`() throws {
        var random = SeededGenerator(seed: 11)
        let most = 0xFF_FFFD
        for _ in 0..<Self.rounds {
            try checkRoundTrip(
                BatteryEnergyStatus(
                    externalSourceWatts: maybeDecimal(&random), volts: maybeDecimal(&random, signed: true),
                    availableKilowattHours: maybeDecimal(&random), capacityKilowattHours: maybeDecimal(&random),
                    chargeWatts: maybeDecimal(&random, signed: true),
                    availableAtLastChargeKilowattHours: maybeDecimal(&random)))
            try checkRoundTrip(
                BatteryTimeStatus(
                    untilDischarged: maybe(0...most, &random).map { .minutes($0) },
                    untilDischargedOnStandby: maybe(0...1, &random).map { $0 == 0 ? .longer : .minutes(most) },
                    untilRecharged: maybe(0...most, &random).map { .minutes($0) }))
            try checkRoundTrip(
                BatteryHealthStatus(
                    healthPercent: maybe(0...100, &random), cycleCount: maybe(0...65535, &random),
                    temperatureCelsius: maybe(-128...127, &random), deepDischargeCount: maybe(0...65535, &random)))
            try checkRoundTrip(
                BatteryHealthInformation(
                    designedCycleCount: maybe(0...65535, &random),
                    operatingTemperatures: maybe(-128...127, &random).map {
                        .init(minimumCelsius: $0, maximumCelsius: -1 - $0)
                    }))
            try checkRoundTrip(
                BatteryInformation(
                    features: .init(rawValue: .random(in: 0...3, using: &random)),
                    manufactureDate: maybe(1...0xFF_FFFE, &random).map { DateUTC(daysSince1970: $0) },
                    expirationDate: maybe(0...0, &random).map { _ in DateUTC(daysSince1970: nil) },
                    designedCapacityKilowattHours: maybeDecimal(&random),
                    lowEnergyKilowattHours: maybeDecimal(&random),
                    criticalEnergyKilowattHours: maybeDecimal(&random),
                    chemistry: maybe(0...255, &random).map { BatteryChemistry(rawValue: UInt8($0)) },
                    nominalVolts: maybeDecimal(&random, signed: true),
                    aggregationGroup: maybe(0...255, &random).map { UInt8($0) }))
        }
    }

    @Test func `of sensors`() throws {
        var random = SeededGenerator(seed: 12)
        for _ in 0..<Self.rounds {
            try checkRoundTrip(
                EnvironmentalMeasurement(
                    samplingFunction: .init(rawValue: .random(in: 0...255, using: &random)),
                    measurementPeriodSeconds: maybe(1...0xFF_FFFF, &random),
                    updateIntervalSeconds: maybe(1...0xFF_FFFF, &random),
                    application: .init(rawValue: .random(in: 0...255, using: &random)),
                    uncertaintyPercent: maybe(0...254, &random).map { Double($0) / 2 }))
            func microteslas() -> Double { Double(Int.random(in: -32768...32767, using: &random)) / 10 }
            try checkRoundTrip(
                MagneticFluxDensity3D(
                    xMicroteslas: microteslas(), yMicroteslas: microteslas(), zMicroteslas: microteslas()))
            try checkRoundTrip(MagneticFluxDensity2D(xMicroteslas: microteslas(), yMicroteslas: microteslas()))
        }
    }

    @Test func `of clocks, identifiers and triggers`() throws {
        var random = SeededGenerator(seed: 13)
        for _ in 0..<Self.rounds {
            try checkRoundTrip(
                LocalTimeInformation(
                    timeZone: TimeZoneOffset(minutes: maybe(-48...56, &random).map { $0 * 15 }),
                    dstOffset: .init(rawValue: .random(in: 0...255, using: &random))))
            try checkRoundTrip(
                ReferenceTimeInformation(
                    source: .init(rawValue: .random(in: 0...255, using: &random)),
                    accuracySeconds: maybe(0...253, &random).map { Double($0) / 8 },
                    hoursSinceUpdate: maybe(0...6119, &random)))
            func text() -> String? { maybe(0...9, &random).map { String(repeating: "ü", count: $0) } }
            try checkRoundTrip(
                UniqueDeviceIdentifier(label: text(), deviceIdentifier: text(), issuer: text(), authority: text()))
            try checkRoundTrip(TimeTrigger.every(seconds: .random(in: 0...0xFF_FFFF, using: &random)))
            try checkRoundTrip(ValueTrigger.inside(.random(in: 0...65535, using: &random), 7))
        }
    }
}
