internal import BLE

/// Suggestions for unknown words.
package enum Suggestion {
    /// Returns the candidate that has nearly the same spelling as the word, or that begins with it or contains it.
    package static func nearest(to word: String, in candidates: [String]) -> String? {
        // A longer text is not a misspelled word.
        guard word.utf8.count <= 64 else { return nil }
        if let near = Spelling.nearest(to: word, in: candidates) { return near }
        let wanted = word.lowercased()
        guard wanted.count >= 3 else { return nil }
        let parts = candidates.filter { $0.lowercased().contains(wanted) }
        // The shortest candidate has the fewest other letters.
        return parts.min {
            ($0.lowercased().hasPrefix(wanted) ? 0 : 1, $0.count, $0) < (
                $1.lowercased().hasPrefix(wanted) ? 0 : 1, $1.count, $1
            )
        }
    }

    /// The same for a name of an assigned number, or of one in a catalog.
    package static func nearest(
        to name: String, among numbers: AssignedNumber.Kind, in catalog: Catalog = .vendors
    ) -> String? {
        let known = AssignedNumbers.all(numbers) + catalog.entries.filter { $0.kind == numbers }
        return nearest(to: commandLineName(name), in: known.map { commandLineName($0.name) })
    }
}

/// Returns a name in lowercase, with hyphens.
package func commandLineName(_ name: String) -> String {
    name.lowercased().split { !$0.isLetter && !$0.isNumber }.joined(separator: "-")
}
