/// Finds fields for items, so that the conditions of all of them can be met together.
struct FieldSearch {
    /// What flags and selectors must be, by the position of the field.
    struct Announcements: Hashable {
        var bits: [Int: [Int: Bool]] = [:]
        var numbers: [Int: UInt64] = [:]
    }

    private let fields: [ValueFormat.Field]
    private(set) var announced = Announcements()
    private var used: Set<Int> = []
    /// The number of combinations that are still examined.
    private var effort = 10_000

    init(_ fields: [ValueFormat.Field]) { self.fields = fields }

    /// Takes into account that a field is present and has the given content.
    mutating func require(_ content: EncodedField, at position: Int) {
        announced = announcing(position) ?? announced
        switch content {
        case .flags(let flags, let fixed):
            for bit in 0..<64 where fixed >> UInt64(bit) & 1 == 1 {
                announced.bits[position, default: [:]][bit] = flags >> UInt64(bit) & 1 == 1
            }
        case .bits(let bits): announced.numbers[position] = UInt64(truncatingIfNeeded: bits)
        case .bytes: break
        }
    }

    /// Whether the conditions of a field agree with what is required.
    func allows(_ position: Int) -> Bool { announcing(position) != nil }

    /// Returns the positions of the items, each of which has the given candidates. Returns nil if there are none.
    mutating func positions(of items: [[StructureEncoder.Candidate]]) -> [Int]? {
        var positions: [Int] = []
        return find(items, &positions) ? positions : nil
    }

    private mutating func find(_ items: [[StructureEncoder.Candidate]], _ positions: inout [Int]) -> Bool {
        guard positions.count < items.count else { return true }
        for (position, _) in items[positions.count] {
            guard effort > 0, fields[position].isRepeated || !used.contains(position),
                let next = announcing(position)
            else { continue }
            effort -= 1
            let (previous, isNew) = (announced, used.insert(position).inserted)
            announced = next
            positions.append(position)
            if find(items, &positions) { return true }
            positions.removeLast()
            announced = previous
            if isNew { used.remove(position) }
        }
        return false
    }

    /// Returns what is required if a field is present. Nil if it cannot be present.
    private func announcing(_ position: Int) -> Announcements? {
        var next = announced
        for condition in fields[position].conditions {
            switch condition {
            case .bit(let field, let bit, let isSet):
                guard next.bits[field]?[bit] ?? isSet == isSet else { return nil }
                next.bits[field, default: [:]][bit] = isSet
            case .equal(let field, let value):
                guard next.numbers[field] ?? value == value else { return nil }
                next.numbers[field] = value
            case .unequal, .bytesLeft: break
            }
        }
        return next
    }
}
