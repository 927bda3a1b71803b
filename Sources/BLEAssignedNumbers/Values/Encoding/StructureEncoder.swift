internal import BLE

/// Encodes the fields of a structure: finds the field of each item, derives what announces other fields, and joins the
/// bytes.
struct StructureEncoder {
    private let fields: [ValueFormat.Field]
    /// The encoded fields, by their positions. A repeated field may have several.
    private var encoded: [[EncodedField]]

    init(_ fields: [ValueFormat.Field]) {
        self.fields = fields
        encoded = Array(repeating: [], count: fields.count)
    }

    /// Returns the bytes of the structure.
    consuming func encode(_ items: [EncodedItem]) throws(BLEError) -> [UInt8] {
        guard items.count <= 512 else {
            throw BLEError(.invalidValue, "there are \(items.count) fields, more than 512")
        }
        let choices = try candidates(for: items)
        var search = FieldSearch(fields)
        for (position, field) in choices.compactMap({ $0.count == 1 ? $0.first : nil }) {
            search.require(field, at: position)
        }
        guard
            let positions = search.positions(
                of: try choices.indices.map { (index) throws(BLEError) in
                    try unambiguous(choices[index], of: items[index], search)
                })
        else {
            throw BLEError(
                .invalidValue, "these fields exclude each other: \(items.map(\.name).joined(separator: ", "))")
        }
        for (position, choice) in zip(positions, choices) {
            encoded[position] += choice.filter { $0.position == position }.map(\.field)
        }
        derive(search.announced)
        return try bytes()
    }

    // MARK: Candidates

    /// A field that an item may be, and what the item is then encoded as.
    typealias Candidate = (position: Int, field: EncodedField)

    /// Returns the fields that have an item's name and can have its content.
    private func candidates(for items: [EncodedItem]) throws(BLEError) -> [[Candidate]] {
        var all: [[Candidate]] = []
        for item in items {
            var named = fields.indices.filter { item.name == fields[$0].name }
            if named.isEmpty { named = fields.indices.filter { item.isNamed(like: fields[$0]) } }
            guard !named.isEmpty else { throw unknown(item) }
            var (candidates, failure) = ([Candidate](), BLEError?.none)
            for position in named {
                do throws(BLEError) {
                    if let unit = item.unitSymbol, unit != fields[position].unitSymbol {
                        throw fields[position].error(wrongUnit: unit)
                    }
                    candidates.append((position, try fields[position].encode(item.input)))
                } catch { failure = error }
            }
            if candidates.isEmpty, let failure { throw failure }
            all.append(candidates)
        }
        return all
    }

    private func unknown(_ item: EncodedItem) -> BLEError {
        BLEError(.invalidValue, "there is no field “\(item.name.prefix(64))”, but \(fields.titles)")
    }

    /// Returns the candidates that agree with what is already known. Throws if they have different units.
    private func unambiguous(
        _ candidates: [Candidate], of item: EncodedItem, _ search: FieldSearch
    ) throws(BLEError) -> [Candidate] {
        guard candidates.count > 1 else { return candidates }
        let possible = candidates.filter { search.allows($0.position) }
        var units: [String] = []
        for candidate in possible {
            let unit = fields[candidate.position].unitSymbol ?? "none"
            if !units.contains(unit) { units.append(unit) }
        }
        if units.count > 1, item.unitSymbol == nil, !item.hasUnit {
            throw fields[candidates[0].position].error("needs a unit: \(units.joined(separator: " or "))")
        }
        return possible
    }

    // MARK: Announcements

    /// Sets flags and selectors so that they announce the given fields.
    private mutating func derive(_ announced: FieldSearch.Announcements) {
        for position in fields.indices {
            let isAnnouncing = fields.contains { $0.conditions.contains { $0.flags == position } }
            var (flags, fixed) = (UInt64(0), UInt64(0))
            switch encoded[position].first {
            case .flags(let given, let givenFixed): (flags, fixed) = (given, givenFixed)
            case nil where isAnnouncing: break
            case nil:
                if let number = announced.numbers[position] { encoded[position] = [.bits(UInt128(number))] }
                continue
            default: continue
            }
            for (bit, isSet) in announced.bits[position] ?? [:] where isSet && fixed >> UInt64(bit) & 1 == 0 {
                flags |= 1 << UInt64(bit)
            }
            encoded[position] = [.flags(flags, fixed: fixed)]
        }
    }

    // MARK: Bytes

    /// Joins the fields that are present.
    private func bytes() throws(BLEError) -> [UInt8] {
        var writer = FieldWriter()
        var numbers = [UInt64?](repeating: nil, count: fields.count)
        for (position, field) in fields.enumerated() {
            let given = encoded[position]
            guard field.conditions.allSatisfy({ $0.isMet(numbers) ?? !given.isEmpty }) else {
                guard given.isEmpty else { throw field.error("is not announced by the other fields") }
                continue
            }
            guard field.isRepeated || !given.isEmpty else { throw field.error("is missing") }
            for part in given { numbers[position] = try writer.write(part, field) }
            if field.isRepeated { writer.end(field) }
        }
        return writer.bytes
    }
}

extension ValueFormat.Condition {
    /// The position of the flags whose bit is the condition.
    fileprivate var flags: Int? {
        if case .bit(let field, _, _) = self { field } else { nil }
    }

    /// Whether the condition is met by the numbers of other fields. Nil if the presence of bytes decides.
    fileprivate func isMet(_ numbers: [UInt64?]) -> Bool? {
        func number(_ field: Int) -> UInt64? { numbers.indices.contains(field) ? numbers[field] : nil }
        return switch self {
        case .bit(let field, let bit, let isSet):
            number(field).map { ($0 >> UInt64(bit) & 1 == 1) == isSet } ?? false
        case .equal(let field, let value): number(field) == value
        case .unequal(let field, let value): number(field).map { $0 != value } ?? false
        case .bytesLeft: nil
        }
    }
}
