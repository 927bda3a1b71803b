/// What differs between two sequences of texts: the shortest list of differences if there are few, and otherwise one
/// that is found in a time that grows with the lengths, whatever the texts are.
struct SequenceComparison {
    /// Equal texts have equal numbers.
    private let old: [Int]
    private let new: [Int]
    /// The steps that the search for shortest lists may still take, so that a comparison ends soon.
    private var effort = 20_000_000

    /// The differences that a shortest list may have. The search takes memory up to their square.
    private static let maximumDistance = 1000
    /// How often what lies between anchors is compared again.
    private static let maximumDepth = 32

    init(_ old: [String], _ new: [String]) {
        var numbers: [String: Int] = [:]
        func numbered(_ texts: [String]) -> [Int] {
            texts.map { text in
                let number = numbers[text] ?? numbers.count
                numbers[text] = number
                return number
            }
        }
        (self.old, self.new) = (numbered(old), numbered(new))
    }

    /// Reports the positions that differ, in order: of what only the first has, and of what the second has instead.
    func report(_ report: (_ removed: Range<Int>, _ inserted: Range<Int>) -> Void) {
        var comparison = self
        comparison.compare(old.indices, new.indices, depth: 0, report)
    }

    private mutating func compare(
        _ old: Range<Int>, _ new: Range<Int>, depth: Int, _ report: (Range<Int>, Range<Int>) -> Void
    ) {
        var (start, other) = (old.lowerBound, new.lowerBound)
        while start < old.upperBound, other < new.upperBound, self.old[start] == self.new[other] {
            (start, other) = (start + 1, other + 1)
        }
        var (end, otherEnd) = (old.upperBound, new.upperBound)
        while end > start, otherEnd > other, self.old[end - 1] == self.new[otherEnd - 1] {
            (end, otherEnd) = (end - 1, otherEnd - 1)
        }
        guard start < end, other < otherEnd else {
            if start < end || other < otherEnd { report(start..<end, other..<otherEnd) }
            return
        }
        let shortest = shortest(start..<end, other..<otherEnd)
        let matches = shortest ?? (depth < Self.maximumDepth ? anchors(start..<end, other..<otherEnd) : [])
        guard !matches.isEmpty else { return report(start..<end, other..<otherEnd) }
        for (before, after) in matches + [(end, otherEnd)] {
            // Between the matches of a shortest list, nothing is equal.
            if shortest == nil {
                compare(start..<before, other..<after, depth: depth + 1, report)
            } else if start < before || other < after {
                report(start..<before, other..<after)
            }
            (start, other) = (before + 1, after + 1)
        }
    }

    // MARK: Shortest list

    /// Returns the positions that the shortest list of differences leaves. Nil if there are too many differences.
    ///
    /// Source: E. Myers, “An O(ND) Difference Algorithm and Its Variations”, 1986.
    private mutating func shortest(_ old: Range<Int>, _ new: Range<Int>) -> [(Int, Int)]? {
        let limit = min(old.count + new.count, Self.maximumDistance)
        // By diagonal, from -limit - 1, how far into `old` the differences so far lead. The diagonal is the position in
        // `old` minus that in `new`.
        var reached = [Int](repeating: 0, count: 2 * limit + 3)
        // The same for each number of differences, as far as it can lead.
        var history: [[Int]] = []
        for distance in 0...limit {
            for diagonal in stride(from: -distance, through: distance, by: 2) {
                let (removed, inserted) = (reached[limit + diagonal] + 1, reached[limit + diagonal + 2])
                let isInsertion = diagonal == -distance || diagonal != distance && removed <= inserted
                var x = isInsertion ? inserted : removed
                let start = x
                while x < old.count, x - diagonal < new.count,
                    self.old[old.lowerBound + x] == self.new[new.lowerBound + x - diagonal]
                { x += 1 }
                effort -= 1 + x - start
                reached[limit + diagonal + 1] = x
                if x >= old.count, x - diagonal >= new.count {
                    let matches = Self.matches(history, old.count, new.count)
                    return matches.map { (old.lowerBound + $0, new.lowerBound + $1) }
                }
            }
            guard effort > 0 else { return nil }
            history.append(Array(reached[limit + 1 - distance...limit + 1 + distance]))
        }
        return nil
    }

    /// Follows the way back from the ends of both. Returns positions from their beginnings.
    private static func matches(_ history: [[Int]], _ oldCount: Int, _ newCount: Int) -> [(Int, Int)] {
        var matches: [(Int, Int)] = []
        var (x, y) = (oldCount, newCount)
        for (number, reached) in history.enumerated().reversed() {
            // This many differences led there, and the next one to the present diagonal.
            let diagonal = x - y
            let isInsertion =
                diagonal == -number - 1
                || diagonal != number + 1 && reached[number + diagonal - 1] < reached[number + diagonal + 1]
            let before = isInsertion ? diagonal + 1 : diagonal - 1
            let (endX, endY) = (reached[number + before], reached[number + before] - before)
            while x > endX, y > endY {
                (x, y) = (x - 1, y - 1)
                matches.append((x, y))
            }
            (x, y) = (endX, endY)
        }
        while x > 0, y > 0 {
            (x, y) = (x - 1, y - 1)
            matches.append((x, y))
        }
        return matches.reversed()
    }

    // MARK: Anchors

    /// Returns positions of equal texts that are the first, the second and so on of that text in both, as many as are
    /// in the same order.
    private func anchors(_ old: Range<Int>, _ new: Range<Int>) -> [(Int, Int)] {
        var others: [Int: [Int]] = [:]
        for position in new { others[self.new[position], default: []].append(position) }
        var counts: [Int: Int] = [:]
        var pairs: [(Int, Int)] = []
        for position in old {
            let text = self.old[position]
            let count = counts[text, default: 0]
            counts[text] = count + 1
            if let found = others[text], found.indices.contains(count) { pairs.append((position, found[count])) }
        }
        // The longest ascending row of the second positions: for each length, the pair with the least end, and for each
        // pair the one before it.
        var (ends, before) = ([Int](), [Int?](repeating: nil, count: pairs.count))
        for (number, pair) in pairs.enumerated() {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if pairs[ends[middle]].1 < pair.1 { low = middle + 1 } else { high = middle }
            }
            before[number] = low > 0 ? ends[low - 1] : nil
            if low == ends.count { ends.append(number) } else { ends[low] = number }
        }
        var (row, next) = ([(Int, Int)](), ends.last)
        while let number = next {
            row.append(pairs[number])
            next = before[number]
        }
        return row.reversed()
    }
}
