extension TreadmillData: CustomStringConvertible {
    /// A line with the principal fields, such as
    /// `10.5 km/h, inclination 1.5 %, 180 W, 1200 m, 35 kcal, 120 bpm, 5 min 3 s, 10 min left`.
    public var description: String {
        line(
            speedKilometersPerHour?.text("km/h"), inclinationPercent.map { "inclination \($0.text("%"))" },
            powerOutputWatts.map { "\($0) W" }, totalDistanceMeters.map { "\($0) m" },
            kilocalories: totalEnergyKilocalories, beatsPerMinute: heartRateBeatsPerMinute, seconds: elapsedTimeSeconds,
            secondsLeft: remainingTimeSeconds)
    }
}

extension CrossTrainerData: CustomStringConvertible {
    /// A line with the principal fields, such as
    /// `8.5 km/h, 120 steps/min, 150 W, level 5, 1200 m, 35 kcal, 120 bpm, 5 min 3 s, 10 min left, backward`.
    public var description: String {
        line(
            speedKilometersPerHour?.text("km/h"), stepsPerMinute.map { "\($0) steps/min" },
            powerWatts.map { "\($0) W" }, resistanceLevel.map { "level \($0.text())" },
            totalDistanceMeters.map { "\($0) m" }, kilocalories: totalEnergyKilocalories,
            beatsPerMinute: heartRateBeatsPerMinute, seconds: elapsedTimeSeconds, secondsLeft: remainingTimeSeconds,
            isBackward ? "backward" : nil)
    }
}

extension StepClimberData: CustomStringConvertible {
    /// A line with the principal fields, such as
    /// `12 floors, 240 steps, 60 steps/min, 35 kcal, 120 bpm, 5 min 3 s, 10 min left`.
    public var description: String {
        line(
            floors?.counted("floor"), stepCount?.counted("step"), stepsPerMinute.map { "\($0) steps/min" },
            kilocalories: totalEnergyKilocalories, beatsPerMinute: heartRateBeatsPerMinute, seconds: elapsedTimeSeconds,
            secondsLeft: remainingTimeSeconds)
    }
}

extension StairClimberData: CustomStringConvertible {
    /// A line with the principal fields, such as
    /// `12 floors, 120 strides, 60 steps/min, 35 kcal, 120 bpm, 5 min 3 s, 10 min left`.
    public var description: String {
        line(
            floors?.counted("floor"), strideCount?.counted("stride"), stepsPerMinute.map { "\($0) steps/min" },
            kilocalories: totalEnergyKilocalories, beatsPerMinute: heartRateBeatsPerMinute, seconds: elapsedTimeSeconds,
            secondsLeft: remainingTimeSeconds)
    }
}

extension RowerData: CustomStringConvertible {
    /// A line with the principal fields, such as
    /// `24.5 strokes/min, 120 strokes, 2 min 5 s per 500 m, 150 W, level 5, 1200 m, 35 kcal, 120 bpm, 5 min 3 s`.
    public var description: String {
        line(
            strokesPerMinute?.text("strokes/min"), strokeCount?.counted("stroke"),
            paceSecondsPer500Meters.map { "\($0.secondsText) per 500 m" }, powerWatts.map { "\($0) W" },
            resistanceLevel.map { "level \($0.text())" }, totalDistanceMeters.map { "\($0) m" },
            kilocalories: totalEnergyKilocalories, beatsPerMinute: heartRateBeatsPerMinute, seconds: elapsedTimeSeconds,
            secondsLeft: remainingTimeSeconds)
    }
}

extension IndoorBikeData: CustomStringConvertible {
    /// A line with the principal fields, such as
    /// `25.5 km/h, 90 rpm, 180 W, level 5, 1200 m, 35 kcal, 120 bpm, 5 min 3 s, 10 min left`.
    public var description: String {
        line(
            speedKilometersPerHour?.text("km/h"), cadencePerMinute?.text("rpm"), powerWatts.map { "\($0) W" },
            resistanceLevel.map { "level \($0.text())" }, totalDistanceMeters.map { "\($0) m" },
            kilocalories: totalEnergyKilocalories, beatsPerMinute: heartRateBeatsPerMinute, seconds: elapsedTimeSeconds,
            secondsLeft: remainingTimeSeconds)
    }
}

extension FitnessMachineRecord {
    /// Returns the fields of a kind of machine, the fields of all machines, and `incomplete` for a part of a record.
    /// `not known` if there are no fields.
    fileprivate func line(
        _ fields: String?..., kilocalories: Int?, beatsPerMinute: Int?, seconds: Int?, secondsLeft: Int?,
        _ last: String? = nil
    ) -> String {
        let shared = [
            kilocalories.map { "\($0) kcal" }, beatsPerMinute.map { "\($0) bpm" }, seconds?.secondsText,
            secondsLeft.map { "\($0.secondsText) left" }, last,
        ]
        return (fields + shared).line + (hasMoreData ? ", incomplete" : "")
    }
}
