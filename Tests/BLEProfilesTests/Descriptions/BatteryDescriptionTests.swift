import BLE
import BLEProfiles
import Testing

/// The lines in which the state of a battery is shown.
@Suite struct BatteryDescriptionTests {
    @Test(
        arguments: [
            (.init(), "present"), (.init(isPresent: false), "not present"),
            (.init(isPresent: false, levelPercent: 0), "not present, 0 %"),
            (
                .init(
                    hasWiredPower: false, hasWirelessPower: false,
                    additionalStatus: .init(needsService: nil, hasFault: false)),
                "present"
            ),
            (
                .init(
                    hasWiredPower: true, hasWirelessPower: true, chargeState: .charging, chargeLevel: .good,
                    chargingType: .constantCurrent, chargingFaults: [.externalPowerSource, .other], identifier: .left,
                    levelPercent: 85, additionalStatus: .init(needsService: true, hasFault: true)),
                "left, 85 %, charge good, charging, constant current, wired power, wireless power, "
                    + "charging fault (external power source, other), needs service, faulty"
            ),
            (.init(chargeState: .discharging, chargeLevel: .low), "charge low, discharging"),
            (
                .init(chargeState: .dischargingInactively, chargeLevel: .critical),
                "charge critical, discharging inactively"
            ),
            (.init(chargingType: .constantVoltage), "constant voltage"),
            (.init(chargingType: .trickle), "trickle charging"),
            (.init(chargingType: .float, identifier: 2), "2, float charging"),
        ] as [(BatteryLevelStatus, String)])
    func `a battery has the states that are known`(_ value: BatteryLevelStatus, _ text: String) {
        #expect("\(value)" == text)
    }

    @Test(
        arguments: [
            (.init(), "not known"), (.init(untilDischarged: .minutes(0)), "empty in 0 min"),
            (
                .init(
                    untilDischarged: .minutes(250), untilDischargedOnStandby: .minutes(43_200),
                    untilRecharged: .longer),
                "empty in 4 h 10 min, on standby in 30 d, full in more than 11650 d"
            ),
            (.init(untilRecharged: .minutes(59)), "full in 59 min"),
            (.init(untilDischarged: .minutes(16_777_213)), "empty in 11650 d 20 h 13 min"),
            (.init(untilDischarged: .minutes(.max)), "empty in 9223372036854775807 min"),
            (.init(untilDischarged: .minutes(-1)), "empty in -1 min"),
        ] as [(BatteryTimeStatus, String)])
    func `the remaining times of a battery are in words`(_ value: BatteryTimeStatus, _ text: String) {
        #expect("\(value)" == text)
    }

    @Test(
        arguments: [
            (.init(), "not known"),
            (
                .init(healthPercent: 95, cycleCount: 120, temperatureCelsius: 25, deepDischargeCount: 1),
                "health 95 %, 120 cycles, 25 °C, 1 deep discharge"
            ),
            (.init(temperatureCelsius: 127), "above 126 °C"), (.init(temperatureCelsius: -128), "below -127 °C"),
            (.init(cycleCount: 1, temperatureCelsius: -127), "1 cycle, -127 °C"),
        ] as [(BatteryHealthStatus, String)])
    func `the health of a battery has all values that were sent`(_ value: BatteryHealthStatus, _ text: String) {
        #expect("\(value)" == text)
    }

    @Test(
        arguments: [
            (.init(), "not known"),
            (
                .init(
                    externalSourceWatts: 5, volts: 3.7, availableKilowattHours: 0.008, capacityKilowattHours: 0.012,
                    chargeWatts: 2.5, availableAtLastChargeKilowattHours: 0.01),
                "3.7 V, 0.008 kWh, 0.01 kWh after the last charge, capacity 0.012 kWh, charging with 2.5 W, "
                    + "external power 5 W"
            ),
            (.init(chargeWatts: -1.5), "discharging with 1.5 W"),
            (
                .init(volts: .nan, availableKilowattHours: .notAtThisResolution, chargeWatts: .nan),
                "voltage not known, energy not known, charging power not known"
            ),
        ] as [(BatteryEnergyStatus, String)])
    func `the energy of a battery has all values that were sent`(_ value: BatteryEnergyStatus, _ text: String) {
        #expect("\(value)" == text)
    }
}
