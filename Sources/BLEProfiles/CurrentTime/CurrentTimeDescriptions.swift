extension DayDateTime: CustomStringConvertible {
    /// A line such as `2026-02-28T23:59:00, Saturday`, with the day of the week if it is known.
    public var description: String { [dateTime.description, dayOfWeek?.name].line }
}

extension ExactTime256: CustomStringConvertible {
    /// A line such as `2026-02-28T23:59:00.5, Saturday`, with the fraction of the second in up to three decimal places.
    public var description: String {
        let fraction = (Double(fractions256) / 256).text(places: 3).dropFirst()
        return [dayDateTime.dateTime.description + fraction, dayDateTime.dayOfWeek?.name].line
    }
}

extension CurrentTimeValue: CustomStringConvertible {
    /// A line such as `2026-02-28T23:59:00.5, Saturday, adjusted (time zone, daylight saving time)`, with the reasons
    /// for the last adjustment if there are any.
    public var description: String {
        [exactTime.description, adjustReasons.flagWords.map { "adjusted (\($0))" }].line
    }
}

extension DayOfWeek {
    fileprivate var name: String {
        switch self {
        case .monday: "Monday"
        case .tuesday: "Tuesday"
        case .wednesday: "Wednesday"
        case .thursday: "Thursday"
        case .friday: "Friday"
        case .saturday: "Saturday"
        case .sunday: "Sunday"
        }
    }
}
