/// When a scan reports a peripheral lost that is silent and has no link.
public struct Staleness: Hashable, Sendable {
    /// How long a peripheral may be silent whose interval is not known. Nil if none is ever lost.
    let duration: Duration?
    /// Whether intervals are learned.
    let isLearned: Bool

    /// The shortest silence with several radios: longer than ``RadioChoice/Rules/longestSilence``.
    static let handover = Duration.seconds(8)

    /// No peripheral is reported lost.
    public static let never = Staleness(duration: nil, isLearned: false)

    /// A peripheral is lost after a time that is the same for all, at least 1 s.
    public static func after(_ duration: Duration) -> Staleness {
        Staleness(duration: max(duration, .seconds(1)), isLearned: false)
    }

    /// A peripheral is lost after one and a half of its learned advertising interval, and 2 s. Before the interval is
    /// known, after 120 s.
    ///
    /// The interval is the longest of at least the last 16 gaps between advertisements, but no gap of more than 900 s.
    /// With several radios, a peripheral is lost after 8 s at the earliest: for up to 7 s, its advertisements may be
    /// those of a radio that no longer hears it.
    public static let learned = learned(before: .seconds(120))

    /// A peripheral is lost after one and a half of its learned advertising interval, and 2 s.
    ///
    /// - Parameter duration: how long it may be silent before its second advertisement, at least 1 s. One that
    ///   advertises less often is lost and found each time. With several radios, it is lost after 8 s at the earliest,
    ///   as with ``learned``.
    public static func learned(before duration: Duration) -> Staleness {
        Staleness(duration: max(duration, .seconds(1)), isLearned: true)
    }
}
