import BLE

/// What may have been meant by a word that is not known.
enum Suggestion {
    /// Returns the candidate that is spelled almost like the word, or that begins with it or has it as a part.
    static func nearest(to word: String, in candidates: [String]) -> String? {
        // Longer ones are no misspelled words.
        guard word.utf8.count <= 64 else { return nil }
        if let near = Spelling.nearest(to: word, in: candidates) { return near }
        let wanted = word.lowercased()
        guard wanted.count >= 3 else { return nil }
        let parts = candidates.filter { $0.lowercased().contains(wanted) }
        // The shortest has the least beside the word.
        return parts.min {
            ($0.lowercased().hasPrefix(wanted) ? 0 : 1, $0.count, $0) < (
                $1.lowercased().hasPrefix(wanted) ? 0 : 1, $1.count, $1
            )
        }
    }
}
