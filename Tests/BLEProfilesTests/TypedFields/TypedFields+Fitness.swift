import BLE
import BLEAssignedNumbers
import BLEProfiles

extension TypedFields {
    static let fitness: [TypedFields] =
        sensors + ranges + states + controlPoints + [
            record(
                .treadmillData,
                [
                    "Instantaneous Speed": "speedKilometersPerHour", "Average Speed": "averageSpeedKilometersPerHour",
                    "Total Distance": "totalDistanceMeters",
                    "Inclination": TypedProperty("inclinationPercent", ["3276.7": nil]),
                    "Ramp Angle Setting": TypedProperty("rampAngleDegrees", ["3276.7": nil]),
                    "Positive Elevation Gain": TypedProperty("positiveElevationGainMeters", ["6553.5": nil]),
                    "Negative Elevation Gain": TypedProperty("negativeElevationGainMeters", ["6553.5": nil]),
                    "Instantaneous Pace (Time per 500 meters)": "paceSecondsPer500Meters",
                    "Average Pace (Time per 500 meters)": "averagePaceSecondsPer500Meters",
                    "Force On Belt": TypedProperty("forceOnBeltNewtons", ["32767": nil]),
                    "Power Output": TypedProperty("powerOutputWatts", ["32767": nil]),
                ]),
            record(
                .crossTrainerData,
                [
                    "Flags[15]": "isBackward", "Instantaneous Speed": "speedKilometersPerHour",
                    "Average Speed": "averageSpeedKilometersPerHour", "Total Distance": "totalDistanceMeters",
                    "Steps Per Minute": TypedProperty("stepsPerMinute", ["65535": nil]),
                    "Average Step Rate": TypedProperty("averageStepsPerMinute", ["65535": nil]),
                    "Stride Count": "strideCount",
                    "Positive Elevation Gain": TypedProperty("positiveElevationGainMeters", ["65535": nil]),
                    "Negative Elevation Gain": TypedProperty("negativeElevationGainMeters", ["65535": nil]),
                    "Inclination": TypedProperty("inclinationPercent", ["3276.7": nil]),
                    "Ramp Setting": TypedProperty("rampAngleDegrees", ["3276.7": nil]),
                    "Resistance Level": "resistanceLevel", "Instantaneous Power": "powerWatts",
                    "Average Power": "averagePowerWatts",
                ]),
            record(
                .stepClimberData, hasEditions: false,
                [
                    "Floors": TypedProperty("floors", ["65535": nil]),
                    "Step Count": TypedProperty("stepCount", ["65535": nil]), "Steps Per Minute": "stepsPerMinute",
                    "Average Step Rate": "averageStepsPerMinute",
                    "Positive Elevation Gain": "positiveElevationGainMeters",
                ]),
            record(
                .stairClimberData, hasEditions: false,
                [
                    "Floors": "floors", "Steps Per Minute": "stepsPerMinute",
                    "Average Step Rate": "averageStepsPerMinute",
                    "Positive Elevation Gain": "positiveElevationGainMeters", "Stride Count": "strideCount",
                ]),
            record(
                .rowerData,
                [
                    "Stroke Rate": TypedProperty("strokesPerMinute", ["127.5": nil]),
                    "Stroke Count": TypedProperty("strokeCount", ["65535": nil]),
                    "Average Stroke Rate": "averageStrokesPerMinute", "Total Distance": "totalDistanceMeters",
                    "Instantaneous Pace (Time per 500 meters)": "paceSecondsPer500Meters",
                    "Average Pace (Time per 500 meters)": "averagePaceSecondsPer500Meters",
                    "Instantaneous Power": "powerWatts", "Average Power": "averagePowerWatts",
                    "Resistance Level": "resistanceLevel",
                ]),
            record(
                .indoorBikeData,
                [
                    "Instantaneous Speed": "speedKilometersPerHour", "Average Speed": "averageSpeedKilometersPerHour",
                    "Instantaneous Cadence": "cadencePerMinute", "Average Cadence": "averageCadencePerMinute",
                    "Total Distance": "totalDistanceMeters", "Resistance Level": "resistanceLevel",
                    "Instantaneous Power": "powerWatts", "Average Power": "averagePowerWatts",
                ]),
        ]

    /// A record of a fitness machine: the fields of all kinds, and more. A field that shares a flag with others is nil
    /// for its greatest number, which means that it is not available (Fitness Machine Service 1.0, sections 4.4 to
    /// 4.9).
    private static func record<Value>(
        _ characteristic: Characteristic<Value>, hasEditions: Bool = true, _ properties: [String: TypedProperty]
    ) -> TypedFields {
        let common: [String: TypedProperty] = [
            "Flags[0]": "hasMoreData",
            "Total Energy": TypedProperty("totalEnergyKilocalories", ["65535": nil]),
            "Energy Per Hour": TypedProperty("energyPerHourKilocalories", ["65535": nil]),
            "Energy Per Minute": TypedProperty("energyPerMinuteKilocalories", ["255": nil]),
            "Heart Rate": "heartRateBeatsPerMinute", "Metabolic Equivalent": "metabolicEquivalent",
            "Elapsed Time": "elapsedTimeSeconds", "Remaining Time": "remainingTimeSeconds",
        ]
        let uuid = characteristic.key.characteristic
        // The supplement no longer has the first edition's form, which is recognized by its length: the supplement's
        // form is longer.
        return TypedFields(characteristic, common.merging(properties) { $1 })
            .deriving { _ in hasEditions ? ["edition": .text("current")] : [:] }
            .readingAlone("the first edition's spelling is shorter") { _, ours in ours["edition"] == "first" }
            .notComparing { bytes, ours in
                ours["edition"] == "first" && (try? ValueFormat(of: uuid)?.decode(Array(bytes.dropLast()))) != nil
            }
    }

    private static let sensors: [TypedFields] = [
        TypedFields(
            .cscMeasurement,
            revolutions.merging(["Flags": .none]) { $1 }),
        TypedFields(.cscFeature), TypedFields(.sensorLocation),
        TypedFields(
            .rscMeasurement,
            [
                "Flags[2]": "isRunning", "Instantaneous Speed": "speedMetersPerSecond",
                "Instantaneous Cadence": "cadencePerMinute", "Instantaneous Stride Length": "strideLengthMeters",
                "Total Distance": "totalDistanceMeters",
            ]),
        TypedFields(.rscFeature),
        TypedFields(
            .cyclingPowerMeasurement,
            revolutions.merging([
                "Flags[12]": "needsOffsetCompensation", "Instantaneous Power": "powerWatts",
                "Pedal Power Balance": "pedalPowerBalance.percent",
                "Accumulated Torque": "accumulatedTorque.newtonMeters",
                "Maximum Force Magnitude": "extremeForcesNewtons.maximum",
                "Minimum Force Magnitude": "extremeForcesNewtons.minimum",
                "Maximum Torque Magnitude": "extremeTorquesNewtonMeters.maximum",
                "Minimum Torque Magnitude": "extremeTorquesNewtonMeters.minimum",
                "Maximum Angle": "extremeAnglesDegrees.maximum", "Minimum Angle": "extremeAnglesDegrees.minimum",
                "Top Dead Spot Angle": "topDeadSpotDegrees", "Bottom Dead Spot Angle": "bottomDeadSpotDegrees",
                "Accumulated Energy": "accumulatedEnergyKilojoules",
            ]) { $1 }
        )
        .deriving { fields in
            var result: [String: ReadField.Content?] = [:]
            if fields["Pedal Power Balance"] != nil {
                result["pedalPowerBalance.isLeft"] = .integer(bit(1, in: fields) ? 1 : 0)
            }
            if fields["Accumulated Torque"] != nil {
                result["accumulatedTorque.isAtCrank"] = .integer(bit(3, in: fields) ? 1 : 0)
            }
            return result
        },
        TypedFields(.cyclingPowerFeature),
        TypedFields(
            .cyclingPowerVector,
            revolutions.merging([
                "Flags[4-5]": "direction", "First Crank Measurement Angle": "firstAngleDegrees",
                "Instantaneous Force Magnitude Array[]": "magnitudes.forcesNewtons[]",
                "Instantaneous Torque Magnitude Array[]": "magnitudes.torquesNewtonMeters[]",
            ]) { $1 }
        )
        .refusing(
            Reason("flags announce forces and torques, of which there is one array") {
                bit(2, in: $0) && bit(3, in: $0)
            }),
    ]

    private static let revolutions: [String: TypedProperty] = [
        "Cumulative Wheel Revolutions": "wheelRevolutions.count",
        "Last Wheel Event Time": "wheelRevolutions.lastEventSeconds",
        "Cumulative Crank Revolutions": "crankRevolutions.count",
        "Last Crank Event Time": "crankRevolutions.lastEventSeconds",
    ]

    private static let ranges: [TypedFields] = [
        TypedFields(
            .supportedSpeedRange,
            [
                "Minimum Speed": "minimumKilometersPerHour", "Maximum Speed": "maximumKilometersPerHour",
                "Minimum Increment": "incrementKilometersPerHour",
            ]),
        TypedFields(
            .supportedInclinationRange,
            [
                "Minimum Inclination": "minimumPercent", "Maximum Inclination": "maximumPercent",
                "Minimum Increment": "incrementPercent",
            ]),
        TypedFields(
            .supportedResistanceLevelRange,
            [
                "Minimum Resistance Level": "minimum", "Maximum Resistance Level": "maximum",
                "Minimum Increment": "increment",
            ]
        )
        .deriving { _ in ["edition": .text("current")] }
        .readingAlone("the first edition's spelling has 6 bytes") { bytes, _ in bytes.count == 6 },
        TypedFields(
            .supportedHeartRateRange,
            [
                "Minimum Heart Rate": "minimumBeatsPerMinute", "Maximum Heart Rate": "maximumBeatsPerMinute",
                "Minimum Increment": "incrementBeatsPerMinute",
            ]),
        TypedFields(
            .supportedPowerRange,
            [
                "Minimum Power": "minimumWatts", "Maximum Power": "maximumWatts", "Minimum Increment": "incrementWatts",
            ]),
    ]
}
