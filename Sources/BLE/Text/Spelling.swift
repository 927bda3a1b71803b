/// Finds suggestions for misspelled words.
package enum Spelling {
    /// Returns the candidate that is nearest to `word`, ignoring case: with the fewest inserted, removed, replaced or
    /// swapped characters, at most a third of the word's characters. Nil if no candidate is near.
    package static func nearest(to word: String, in candidates: some Sequence<String>) -> String? {
        let wanted = Array(word.lowercased())
        let limit = min(wanted.count - 1, max(1, wanted.count / 3))
        guard limit > 0 else { return nil }
        var best: (candidate: String, distance: Int)?
        for candidate in candidates {
            let distance = distance(wanted, Array(candidate.lowercased()), atMost: (best?.distance ?? limit + 1) - 1)
            if let distance { best = (candidate, distance) }
        }
        return best?.candidate
    }

    /// The optimal string alignment distance of two words. Nil if it exceeds the limit.
    private static func distance(_ first: [Character], _ second: [Character], atMost limit: Int) -> Int? {
        guard abs(first.count - second.count) <= limit else { return nil }
        var (before, last) = ([Int](), Array(0...second.count))
        for i in first.indices {
            var row = [i + 1]
            for j in second.indices {
                var cost = min(row[j] + 1, last[j + 1] + 1, last[j] + (first[i] == second[j] ? 0 : 1))
                if i > 0, j > 0, first[i] == second[j - 1], first[i - 1] == second[j] {
                    cost = min(cost, before[j - 1] + 1)
                }
                row.append(cost)
            }
            guard row.min()! <= limit else { return nil }
            (before, last) = (last, row)
        }
        return last[second.count] <= limit ? last[second.count] : nil
    }
}
