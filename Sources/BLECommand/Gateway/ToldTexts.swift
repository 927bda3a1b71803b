/// The texts that people were told, so that each is told once in ``pause``.
struct ToldTexts: Sendable {
    /// After this time, a text is told again: what it says still holds, or does so again.
    static let pause: Duration = .seconds(3600)
    /// The maximum number of texts that are remembered. Further ones are not told.
    static let limit = 32

    private var times: [String: Duration] = [:]

    /// Whether further texts are not told.
    var isFull: Bool { times.count >= Self.limit }

    /// Remembers a text. Returns whether it is to be told.
    mutating func insert(_ text: String, at now: Duration) -> Bool {
        times = times.filter { now - $0.value < Self.pause }
        guard times[text] == nil, times.count < Self.limit else { return false }
        times[text] = now
        return true
    }
}
