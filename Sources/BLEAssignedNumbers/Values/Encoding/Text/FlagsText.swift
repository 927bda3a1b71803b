internal import BLE

/// Encodes flags by the names of bits.
struct FlagsText {
    private let field: ValueFormat.Field
    private let count: Int?

    init(_ field: ValueFormat.Field, bytes count: Int?) { (self.field, self.count) = (field, count) }

    /// Encodes names that are separated by plus signs or commas, or the number of all bits.
    ///
    /// The bits with these names are fixed; others may be set to announce fields.
    func encode(_ text: Substring) throws(BLEError) -> EncodedField {
        let number = text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : UInt64(text)
        if let number { return try field.flags(number, bytes: count) }
        var (flags, fixed) = (UInt64(0), UInt64(0))
        if NamePattern("none").isName(String(text)) { return .flags(0, fixed: 0) }
        let parts = text.split(omittingEmptySubsequences: false) { $0 == "+" || $0 == "," }
        var index = 0
        while index < parts.count {
            // A name may contain separators: the longest name is meant.
            let rest = stride(from: min(parts.count, index + 8), to: index, by: -1).lazy.map {
                (end: $0, found: bits(named: text[parts[index].startIndex..<parts[$0 - 1].endIndex]))
            }
            guard let (end, found) = rest.first(where: { !$0.found.isEmpty }) else {
                throw field.error("has no flag \(parts[index].trimmed.quoted)")
            }
            guard found.count == 1, let bits = found.first else {
                throw field.error("has several flags \(parts[index].trimmed.quoted): give the number of all bits")
            }
            guard fixed & bits.mask & (flags ^ bits.value) == 0 else {
                throw field.error("is given twice for \(parts[index].trimmed.quoted)")
            }
            (flags, fixed, index) = (flags | bits.value, fixed | bits.mask, end)
        }
        return .flags(flags, fixed: fixed)
    }

    /// Returns the bits with a name, at their positions.
    private func bits(named text: Substring) -> [(value: UInt64, mask: UInt64)] {
        let pattern = NamePattern(String(text))
        return field.bits.flatMap { bits -> [(value: UInt64, mask: UInt64)] in
            let mask: UInt64 = (bits.range.count > 63 ? .max : 1 << UInt64(bits.range.count) - 1)
            let low = UInt64(bits.range.lowerBound)
            guard bits.range.count > 1 else { return pattern.isName(bits.name) ? [(1 << low, 1 << low)] : [] }
            let named = bits.choices.filter { pattern.isName("\(bits.name): \($0.value)") }.keys.sorted()
            if !named.isEmpty { return named.map { ($0 << low, mask << low) } }
            // A reserved number is shown in place of its name.
            guard let colon = text.lastIndex(of: ":"), NamePattern(String(text[..<colon])).isName(bits.name),
                let number = UInt64(text[text.index(after: colon)...].trimmed), number <= mask
            else { return [] }
            return [(number << low, mask << low)]
        }
    }
}
