import BLE

/// The last advertisements of a peripheral, and its signal strength over time.
struct SignalTrace {
    struct Packet {
        let time: Duration
        let advertisement: Advertisement
    }

    /// The strengths in a second, of which an average is shown.
    private struct Second {
        let number: Int64
        var sum = 0.0
        var count = 0
    }

    /// The number of advertisements that are kept, and of seconds with their strength.
    var limit: Int { didSet { trim() } }
    /// The advertisements, oldest first.
    private(set) var packets: [Packet] = []
    private var seconds: [Second] = []

    init(limit: Int) { self.limit = limit }

    mutating func append(_ advertisement: Advertisement, at time: Duration) {
        packets.append(Packet(time: time, advertisement: advertisement))
        if let rssi = advertisement.rssi {
            let number = time.components.seconds
            if seconds.last?.number != number { seconds.append(Second(number: number)) }
            seconds[seconds.count - 1].sum += Double(rssi)
            seconds[seconds.count - 1].count += 1
        }
        trim()
    }

    mutating func removeAll() { (packets, seconds) = ([], []) }

    private mutating func trim() {
        packets.removeFirst(max(0, packets.count - limit))
        seconds.removeFirst(max(0, seconds.count - limit))
    }

    /// The usual time between two advertisements: the median. Nil if there were too few.
    var interval: Duration? {
        let times = packets.map(\.time)
        let gaps = zip(times.dropFirst(), times).map { $0 - $1 }.sorted()
        return gaps.count >= 4 ? gaps[gaps.count / 2] : nil
    }

    /// Returns the average strength in each of the last seconds, oldest first. Nil for a second without advertisements.
    func strengths(last count: Int, now: Duration) -> [Double?] {
        var strengths = [Double?](repeating: nil, count: max(0, count))
        let first = now.components.seconds - Int64(count) + 1
        for second in seconds.reversed() {
            guard second.number >= first else { break }
            let index = Int(second.number - first)
            if strengths.indices.contains(index) { strengths[index] = second.sum / Double(second.count) }
        }
        return strengths
    }
}
