internal import BLE

extension IBeacon: CustomStringConvertible {
    /// A line such as `e2c56db5-dffb-48d2-b060-d0f5a71096e0, major 1, minor 2, -59 dBm at 1 m`.
    public var description: String { "\(uuid), major \(major), minor \(minor), \(measuredPower) dBm at 1 m" }
}

extension Eddystone: CustomStringConvertible {
    /// A line that depends on the frame.
    ///
    /// `UID edd1ebeac04e5defa017 0123456789ab, -20 dBm at 0 m`, `https://example.com, -20 dBm at 0 m`,
    /// `EID 0102030405060708, -20 dBm at 0 m`, `encrypted telemetry`, or the line of the telemetry.
    public var description: String {
        switch self {
        case .uid(let namespace, let instance, let power):
            "UID \(Hex.string(namespace)) \(Hex.string(instance)), \(power) dBm at 0 m"
        case .url(let url, let power): "\(url), \(power) dBm at 0 m"
        case .telemetry(let telemetry): telemetry.description
        case .encryptedTelemetry: "encrypted telemetry"
        case .ephemeralID(let id, let power): "EID \(Hex.string(id)), \(power) dBm at 0 m"
        }
    }
}

extension EddystoneTelemetry: CustomStringConvertible {
    /// A line such as `2977 mV, 24.33 °C, 1000 advertisements, on for 1 h 2 min 3 s`.
    public var description: String {
        [
            batteryMillivolts.map { "\($0) mV" }, temperatureCelsius?.text("°C", places: 2),
            advertisementCount == 1 ? "1 advertisement" : "\(advertisementCount) advertisements",
            "on for \(Self.time(seconds: uptimeDeciseconds / 10))",
        ].line
    }

    private static func time(seconds: UInt32) -> String {
        guard seconds >= 60 else { return "\(seconds) s" }
        let parts = [
            (seconds / 86400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s"),
        ]
        return parts.filter { $0.0 != 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}

extension RuuviTag: CustomStringConvertible {
    /// A line such as
    /// `24.3 °C, humidity 53.49 %, 100044 Pa, x 4, y -4, z 1036 mg, 2977 mV, 4 dBm, 66 movements, measurement 205`.
    ///
    /// The line has the values that are available, except for the address. `not known` if there are none.
    public var description: String {
        [
            temperatureCelsius?.text("°C", places: 3), humidityPercent.map { "humidity \($0.text("%", places: 4))" },
            pressurePascals.map { "\($0) Pa" }, accelerationMilligravities.text, batteryMillivolts.map { "\($0) mV" },
            txPower.map { "\($0) dBm" },
            movementCount.map { $0 == 1 ? "1 movement" : "\($0) movements" },
            sequenceNumber.map { "measurement \($0)" },
        ].line
    }
}

extension RuuviTag.Acceleration {
    /// The known axes, with the unit after the last. Nil if there are none.
    fileprivate var text: String? {
        let axes = [x.map { "x \($0)" }, y.map { "y \($0)" }, z.map { "z \($0)" }]
        return axes == [nil, nil, nil] ? nil : axes.line + " mg"
    }
}

extension RobotStatus: CustomStringConvertible {
    /// A line such as `85 %, charging, version 1.2.300, in deep sleep`.
    public var description: String {
        [
            "\(batteryPercent) %", isCharging ? "charging" : nil, version.map { "version \($0)" },
            isInDeepSleep == true ? "in deep sleep" : nil,
        ].line
    }
}
