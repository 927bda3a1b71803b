extension HeartRateMeasurement: CustomStringConvertible {
    /// A line such as `72 bpm, RR 833 ms, 10 kJ, no contact`. Several intervals are separated by spaces.
    public var description: String {
        let intervals = rrIntervals.map { ($0 * 1000).text(places: 0) }
        return [
            "\(beatsPerMinute) bpm",
            intervals.isEmpty ? nil : "RR \(intervals.joined(separator: " ")) ms",
            energyExpendedKilojoules.map { $0 < 65535 ? "\($0) kJ" : "\($0) kJ or more" },
            contact == false ? "no contact" : nil,
        ].line
    }
}
