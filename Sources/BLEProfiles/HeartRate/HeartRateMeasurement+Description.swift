extension HeartRateMeasurement: CustomStringConvertible {
    /// A line such as `72 bpm, RR 0.833 s, 10 kJ, no contact`. Several intervals are separated by spaces.
    public var description: String {
        let intervals = rrIntervalsSeconds.map { $0.text(places: 3) }
        return [
            "\(beatsPerMinute) bpm",
            intervals.isEmpty ? nil : "RR \(intervals.joined(separator: " ")) s",
            energyExpendedKilojoules.map { $0 < 65535 ? "\($0) kJ" : "\($0) kJ or more" },
            contact == false ? "no contact" : nil,
        ].line
    }
}
