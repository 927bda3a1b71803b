import BLE
import BLEProfiles

extension TypedFields {
    /// The features and the state of a fitness machine.
    static let states: [TypedFields] = [
        TypedFields(
            .fitnessMachineFeature,
            ["Fitness Machine Features": "measurements", "Target Setting Features": "targets"]),
        TypedFields(
            .trainingStatus,
            ["Flags[1]": "hasMoreText", "Training Status": "activity", "Training Status String": .none]
        )
        .deriving { $0["Training Status String"].map { ["text": text($0)] } ?? [:] }
        .readingNoUTF8(after: 2),
        TypedFields(.fitnessMachineStatus, ["Op Code": .none, "Parameter": .none])
            .deriving(machineStatus)
            .refusing(Reason("the parameter is not as long as the op code wants it") { machineStatus($0).isEmpty }),
    ]

    /// A number in a parameter: the property, its size, negative for a signed one, and its divisor.
    private typealias Part = (name: String, size: Int, divisor: Double)

    /// By op code (Fitness Machine Service 1.0, table 4.16); those without a parameter, and the reasons to stop, have
    /// names alone.
    private static let parts: [Int: [Part]] = [
        0x05: [("targetSpeed.kilometersPerHour", 2, 100)], 0x06: [("targetInclination.percent", -2, 10)],
        0x08: [("targetPower.watts", -2, 1)], 0x09: [("targetHeartRate.beatsPerMinute", 1, 1)],
        0x0A: [("targetedExpendedEnergy.kilocalories", 2, 1)], 0x0B: [("targetedStepCount", 2, 1)],
        0x0C: [("targetedStrideCount", 2, 1)], 0x0D: [("targetedDistance.meters", 3, 1)],
        0x0E: [("targetedTrainingTime.seconds", 2, 1)],
        0x0F: times("two", "fatBurn", "fitness"), 0x10: times("three", "light", "moderate", "hard"),
        0x11: times("five", "veryLight", "light", "moderate", "hard", "maximum"),
        0x12: [
            ("indoorBikeSimulation.windMetersPerSecond", -2, 1000), ("indoorBikeSimulation.gradePercent", -2, 100),
            ("indoorBikeSimulation.rollingResistance", 1, 10000),
            ("indoorBikeSimulation.windResistanceKilogramsPerMeter", 1, 100),
        ],
        0x13: [("wheelCircumference.millimeters", 2, 10)], 0x14: [("spinDown", 1, 1)],
        0x15: [("targetedCadence.perMinute", 2, 2)],
    ]

    private static func times(_ count: String, _ names: String...) -> [Part] {
        names.map { ("targetedTimes.\(count).\($0)Seconds", 2, 1) }
    }

    private static let names: [[UInt8]: String] = [
        [0x01]: "reset", [0x02, 1]: "stopped", [0x02, 2]: "paused", [0x03]: "stoppedBySafetyKey",
        [0x04]: "startedOrResumed", [0xFF]: "controlPermissionLost",
    ]

    /// The properties that an op code and its parameter stand for; empty if they do not match.
    @Sendable private static func machineStatus(_ fields: Fields) -> [String: ReadField.Content?] {
        guard let opcode = number("Op Code", in: fields), case .text(let digits) = fields["Parameter"] ?? .text(""),
            let parameter = Hex.bytes(digits)
        else { return [:] }
        let code = UInt8(opcode)
        if let name = names[[code] + parameter] { return ["": .text(name)] }
        if code == 0x07, 1...2 ~= parameter.count {
            let isWide = parameter.count == 2
            return [
                "targetResistanceLevel..0": .number(number(parameter[...], isSigned: isWide) / 10),
                "targetResistanceLevel.isWide": .integer(isWide ? 1 : 0),
            ]
        }
        if let parts = parts[Int(code)] {
            guard parts.reduce(0, { $0 + abs($1.size) }) == parameter.count else { return [:] }
            var result: [String: ReadField.Content?] = [:]
            var rest = parameter[...]
            for part in parts {
                let bytes = rest.prefix(abs(part.size))
                result[part.name] = .number(number(bytes, isSigned: part.size < 0) / part.divisor)
                rest = rest.dropFirst(bytes.count)
            }
            return result
        }
        let isLater = code == 0 || code > 0x15 && code < 0xFF || code == 0x02 && parameter.count == 1
        return isLater
            ? ["other.opcode": .integer(Int128(code)), "other.parameter": .text(Hex.string(parameter))] : [:]
    }

    static func number(_ bytes: ArraySlice<UInt8>, isSigned: Bool) -> Double {
        let number = bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
        let span = 1 << (8 * bytes.count)
        return Double(isSigned && number >= span / 2 ? number - span : number)
    }
}
