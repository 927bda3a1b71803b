import BLE
import BLEProfiles

extension TypedFields {
    /// Requests to control points. The formats separate the op code from its parameter; the contents of the parameter
    /// are described here a second time.
    static let controlPoints: [TypedFields] = [
        requests(
            .scControlPoint, names: [[2]: "startSensorCalibration", [4]: "supportedSensorLocations"],
            parts: [1: [("setCumulativeValue", 4, 1)], 3: [("updateSensorLocation", 1, 1)]]),
        requests(
            .cyclingPowerControlPoint,
            names: [
                [0x03]: "supportedSensorLocations", [0x05]: "crankLength", [0x07]: "chainLength",
                [0x09]: "chainWeight", [0x0B]: "spanLength", [0x0C]: "startOffsetCompensation",
                [0x0E]: "samplingRate", [0x0F]: "factoryCalibrationDate", [0x10]: "startEnhancedOffsetCompensation",
            ],
            parts: [
                0x01: [("setWheelRevolutions", 4, 1)], 0x02: [("updateSensorLocation", 1, 1)],
                0x04: [("setCrankLength.millimeters", 2, 2)], 0x06: [("setChainLength.millimeters", 2, 1)],
                0x08: [("setChainWeight.grams", 2, 1)], 0x0A: [("setSpanLength.millimeters", 2, 1)],
                0x0D: [("maskMeasurementContent", 2, 1)],
            ]),
        requests(
            .fitnessMachineControlPoint,
            names: [
                [0x00]: "requestControl", [0x01]: "reset", [0x07]: "startOrResume", [0x08, 1]: "stop",
                [0x08, 2]: "pause", [0x13, 1]: "startSpinDown", [0x13, 2]: "ignoreSpinDown",
            ],
            parts: [
                0x02: [("setTargetSpeed.kilometersPerHour", 2, 100)], 0x03: [("setTargetInclination.percent", -2, 10)],
                0x05: [("setTargetPower.watts", -2, 1)], 0x06: [("setTargetHeartRate.beatsPerMinute", 1, 1)],
                0x09: [("setTargetedExpendedEnergy.kilocalories", 2, 1)], 0x0A: [("setTargetedStepCount", 2, 1)],
                0x0B: [("setTargetedStrideCount", 2, 1)], 0x0C: [("setTargetedDistance.meters", 3, 1)],
                0x0D: [("setTargetedTrainingTime.seconds", 2, 1)],
                0x0E: zoneTimes("two", "fatBurn", "fitness"), 0x0F: zoneTimes("three", "light", "moderate", "hard"),
                0x10: zoneTimes("five", "veryLight", "light", "moderate", "hard", "maximum"),
                0x11: [
                    ("setIndoorBikeSimulation.windMetersPerSecond", -2, 1000),
                    ("setIndoorBikeSimulation.gradePercent", -2, 100),
                    ("setIndoorBikeSimulation.rollingResistance", 1, 10000),
                    ("setIndoorBikeSimulation.windResistanceKilogramsPerMeter", 1, 100),
                ],
                0x12: [("setWheelCircumference.millimeters", 2, 10)], 0x14: [("setTargetedCadence.perMinute", 2, 2)],
            ], levels: 0x04),
    ]

    /// A number in a parameter: the property, its size, negative for a signed one, and its divisor.
    private typealias Part = (name: String, size: Int, divisor: Double)

    private static func zoneTimes(_ count: String, _ names: String...) -> [Part] {
        names.map { ("setTargetedTimes.\(count).\($0)Seconds", 2, 1) }
    }

    /// - Parameters:
    ///   - names: cases without a value, by op code and, if needed, parameter.
    ///   - parts: the contents of parameters, by op code.
    ///   - levels: the op code whose parameter is a level of one or two bytes.
    private static func requests<Value>(
        _ characteristic: Characteristic<Value>, names: [[UInt8]: String], parts: [UInt8: [Part]], levels: UInt8? = nil
    ) -> TypedFields {
        let expected: @Sendable (Fields) -> [String: ReadField.Content?] = { fields in
            guard let opcode = number("Op Code", in: fields).flatMap({ UInt8(exactly: $0) }),
                case .text(let digits) = fields["Parameter"] ?? .text(""), let parameter = Hex.bytes(digits)
            else { return [:] }
            if let name = names[[opcode] + parameter] { return ["": .text(name)] }
            if opcode == levels, 1...2 ~= parameter.count {
                let isWide = parameter.count == 2
                return [
                    "setTargetResistanceLevel..0": .number(number(parameter[...], isSigned: isWide) / 10),
                    "setTargetResistanceLevel.isWide": .integer(isWide ? 1 : 0),
                ]
            }
            if let parts = parts[opcode] { return values(of: parts, in: parameter) }
            let isReservedChoice = parameter.count == 1 && names.keys.contains { $0.count == 2 && $0[0] == opcode }
            let isKnown = opcode == levels || names.keys.contains { $0[0] == opcode }
            return isKnown && !isReservedChoice
                ? [:] : ["other.opcode": .integer(Int128(opcode)), "other.parameter": .text(Hex.string(parameter))]
        }
        return TypedFields(characteristic, ["Op Code": .none, "Parameter": .none])
            .deriving(expected)
            .refusing(Reason("the parameter is not as long as the op code wants it") { expected($0).isEmpty })
    }

    /// The values of the parts of a parameter; empty if it has another length.
    private static func values(of parts: [Part], in parameter: [UInt8]) -> [String: ReadField.Content?] {
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
}
