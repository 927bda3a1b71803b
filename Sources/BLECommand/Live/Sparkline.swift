/// Numbers as a line of blocks, as high as they are large.
enum Sparkline {
    private static let blocks: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// A block for each of `values`, the smallest of them the lowest, the largest the highest. Those that are all the same are in
    /// the middle; what is not finite is a gap.
    static func text(_ values: [Double]) -> String {
        let finite = values.filter(\.isFinite)
        guard let least = finite.min(), let greatest = finite.max() else {
            return String(repeating: " ", count: values.count)
        }
        return String(
            values.map { value in
                guard value.isFinite else { return " " }
                // Halves, since the difference of two large numbers need not be finite; those of tiny ones may be nothing.
                let span = greatest / 2 - least / 2
                guard span > 0 else { return blocks[3] }
                let share = (value / 2 - least / 2) / span
                return blocks[min(blocks.count - 1, Int(share * Double(blocks.count)))]
            })
    }
}
