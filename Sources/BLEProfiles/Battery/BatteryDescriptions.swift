internal import BLE

extension BatteryLevelStatus: CustomStringConvertible {
    /// A line such as `left, 85 %, charge good, charging, constant current, wired power, needs service`.
    ///
    /// States that are unknown, and power sources that are not connected, are omitted. `present` or `not present` if
    /// nothing else is known.
    public var description: String {
        let parts = [
            identifier.map { "\($0)" }, levelPercent.map { "\($0) %" }, chargeLevel.words, chargeState.words,
            chargingType.words, hasWiredPower == true ? "wired power" : nil,
            hasWirelessPower == true ? "wireless power" : nil,
            chargingFaults.flagWords.map { "charging fault (\($0))" },
            additionalStatus?.needsService == true ? "needs service" : nil,
            additionalStatus?.hasFault == true ? "faulty" : nil,
        ]
        guard isPresent else { return (["not present"] + parts).line }
        return parts.allSatisfy { $0 == nil } ? "present" : parts.line
    }
}

extension BatteryLevelStatus.ChargeState {
    fileprivate var words: String? {
        switch self {
        case .unknown: nil
        case .charging: "charging"
        case .discharging: "discharging"
        case .dischargingInactively: "discharging inactively"
        }
    }
}

extension BatteryLevelStatus.ChargeLevel {
    fileprivate var words: String? {
        switch self {
        case .unknown: nil
        case .good: "charge good"
        case .low: "charge low"
        case .critical: "charge critical"
        }
    }
}

extension BatteryLevelStatus.ChargingType {
    fileprivate var words: String? {
        switch self {
        case .unknownOrNotCharging: nil
        case .constantCurrent: "constant current"
        case .constantVoltage: "constant voltage"
        case .trickle: "trickle charging"
        case .float: "float charging"
        }
    }
}

extension BatteryTimeStatus: CustomStringConvertible {
    /// A line such as `empty in 4 h 10 min, on standby in 30 d, full in more than 11650 d`, with the times that are
    /// known.
    public var description: String {
        [
            untilDischarged.map { "empty in \($0.text)" }, untilDischargedOnStandby.map { "on standby in \($0.text)" },
            untilRecharged.map { "full in \($0.text)" },
        ].line
    }
}

extension BatteryTimeStatus.Estimate {
    fileprivate var text: String {
        switch self {
        case .minutes(let minutes): minutes.minutesText
        // 16,777,213 minutes, in whole days.
        case .longer: "more than 11650 d"
        }
    }
}

extension BatteryHealthStatus: CustomStringConvertible {
    /// A line such as `health 95 %, 120 cycles, 25 °C, 3 deep discharges`. The limits of the temperature's range are
    /// `above 126 °C` and `below -127 °C`.
    public var description: String {
        [
            healthPercent.map { "health \($0) %" }, cycleCount?.counted("cycle"), temperatureCelsius.map(Self.celsius),
            deepDischargeCount?.counted("deep discharge"),
        ].line
    }

    private static func celsius(_ number: Int) -> String {
        number > 126 ? "above 126 °C" : number < -127 ? "below -127 °C" : "\(number) °C"
    }
}

extension BatteryEnergyStatus: CustomStringConvertible {
    /// A line such as `3.7 V, 0.008 kWh, 0.01 kWh after the last charge, capacity 0.012 kWh, charging with 2.5 W`, with
    /// each value that was sent.
    ///
    /// A negative charging power is `discharging with 2.5 W`. The power of external sources is `external power 5 W`.
    public var description: String {
        [
            volts?.text("V", of: "voltage"), availableKilowattHours?.text("kWh", of: "energy"),
            availableAtLastChargeKilowattHours.map { "\($0.text("kWh")) after the last charge" },
            capacityKilowattHours.map { "capacity \($0.text("kWh"))" }, chargeWatts.map(Self.charging),
            externalSourceWatts.map { "external power \($0.text("W"))" },
        ].line
    }

    private static func charging(_ watts: MedFloat16) -> String {
        guard watts.isNumber else { return "charging power \(watts.text("W"))" }
        let power = watts.doubleValue
        return power < 0 ? "discharging with \((-power).text("W"))" : "charging with \(power.text("W"))"
    }
}
