/// Draws numbers as a line of blocks of different heights.
enum Sparkline {
    /// Blocks of increasing height.
    static let blocks: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

    /// Returns a block for each value: the lowest one for the minimum, the highest one for the maximum. If all values
    /// are equal, the blocks have medium height. A value that is not finite is a space.
    static func text(_ values: [Double]) -> String {
        let finite = values.filter(\.isFinite)
        guard let least = finite.min(), let greatest = finite.max() else {
            return String(repeating: " ", count: values.count)
        }
        return String(
            values.map { value in
                guard value.isFinite else { return " " }
                // Uses halves because the difference of two large numbers may not be finite. For tiny numbers, the
                // result may be 0.
                let span = greatest / 2 - least / 2
                guard span > 0 else { return blocks[3] }
                let share = (value / 2 - least / 2) / span
                return blocks[min(blocks.count - 1, Int(share * Double(blocks.count)))]
            })
    }
}
