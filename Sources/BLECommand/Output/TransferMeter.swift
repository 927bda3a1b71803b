/// How far a transfer is, its rate, and how long it will take.
struct TransferMeter {
    private let verb: String
    private let total: Int
    /// The bytes that were there when it began, and the time of the first report.
    private var first: (bytes: Int, time: Duration)?
    private var last: (bytes: Int, time: Duration) = (0, .zero)

    /// The length of the bar, in characters.
    private static let width = 20

    /// - Parameter verb: what is done, such as “Uploading”, of at most 9 characters.
    init(_ verb: String, total: Int) {
        self.verb = verb
        self.total = total
    }

    mutating func take(_ bytes: Int, at time: Duration) {
        if first == nil { first = (bytes, time) }
        last = (bytes, time)
    }

    /// The bytes per second since the first report. Nil before the second.
    private var rate: Double? {
        guard let first, last.time > first.time, last.bytes > first.bytes else { return nil }
        return Double(last.bytes - first.bytes) / ((last.time - first.time) / .seconds(1))
    }

    /// At most 79 characters.
    var line: String {
        let fraction = total == 0 ? 1 : Double(last.bytes) / Double(total)
        let filled = min(Self.width, Int(fraction * Double(Self.width)))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Self.width - filled)
        var line = "\(verb) [\(bar)] \(Int(fraction * 100)) % of \(Self.kilobytes(Double(total)))"
        if let rate {
            line += ", \(Self.kilobytes(rate))/s, \(Int((Double(total - last.bytes) / rate).rounded(.up))) s left"
        }
        return line
    }

    private static func kilobytes(_ bytes: Double) -> String {
        bytes < 100_000 ? "\((bytes / 100).rounded() / 10) kB" : "\(Int((bytes / 1000).rounded())) kB"
    }
}
