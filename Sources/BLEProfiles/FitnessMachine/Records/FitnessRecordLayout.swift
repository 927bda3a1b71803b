import BLE

/// The fields of a fitness machine's record, in order, and the flags that announce them.
///
/// Fields that share a flag are sent together. A field that is not available has the maximum number of its format
/// (Fitness Machine Service 1.0, sections 4.4 to 4.9).
struct FitnessRecordLayout<Record: FitnessMachineRecord>: Sendable {
    /// The fields that one flag announces.
    struct Group: Sendable {
        let bit: Int
        let fields: [Field]

        init(_ bit: Int, _ fields: Field...) {
            self.bit = bit
            self.fields = fields
        }
    }

    /// A field that contains a number.
    struct Field: Sendable {
        enum Place: Sendable {
            case integer(any WritableKeyPath<Record, Int?> & Sendable)
            case number(any WritableKeyPath<Record, Double?> & Sendable)
        }

        let place: Place
        let current: Spelling
        let first: Spelling

        init(
            _ property: any WritableKeyPath<Record, Int?> & Sendable, _ format: IntegerFormat
        ) {
            place = .integer(property)
            current = Spelling(format: format, scale: .divided(by: 1))
            first = current
        }

        init(
            _ property: any WritableKeyPath<Record, Double?> & Sendable, _ format: IntegerFormat,
            dividedBy divisor: Double,
            first: Spelling? = nil
        ) {
            place = .number(property)
            current = Spelling(format: format, scale: .divided(by: divisor))
            self.first = first ?? current
        }

        func spelling(_ edition: FitnessMachineEdition) -> Spelling { edition == .first ? first : current }
    }

    /// The encoding of a number in a field.
    struct Spelling: Sendable {
        let format: IntegerFormat
        let scale: Scale

        /// The conversion of the sent number.
        enum Scale: Sendable {
            case divided(by: Double)
            /// The number is the given number divided by the sent number.
            case dividing(Double)
        }

        func number(_ sent: Int) -> Double? {
            switch scale {
            case .divided(let divisor): Double(sent) / divisor
            case .dividing(let dividend): sent == 0 ? nil : dividend / Double(sent)
            }
        }

        func sent(_ number: Double) -> Double {
            switch scale {
            case .divided(let divisor): number * divisor
            case .dividing(let dividend): dividend / number
            }
        }
    }

    let flagByteCount: Int
    /// The groups in the order of the fields. The first group belongs to bit 0, and is present if that bit is not set.
    let groups: [Group]
    /// Flags that are values of the record.
    var statements: [(bit: Int, property: any WritableKeyPath<Record, Bool> & Sendable)] = []
    /// The property of the record with the edition of its encoding, if editions differ.
    var edition: (any WritableKeyPath<Record, FitnessMachineEdition> & Sendable)?

    func read(from reader: inout ValueReader) throws(BLEError) -> Record {
        let flags = Int(try reader.unsigned(flagByteCount))
        var record = Record()
        record.hasMoreData = flags & 1 != 0
        for statement in statements { record[keyPath: statement.property] = flags & 1 << statement.bit != 0 }
        let edition = self.edition == nil ? .current : edition(of: flags, byteCount: reader.remaining)
        if let property = self.edition { record[keyPath: property] = edition }
        for group in groups where isAnnounced(group, flags) {
            for field in group.fields {
                let spelling = field.spelling(edition)
                let sent = try reader.integer(spelling.format)
                if group.fields.count > 1, sent == spelling.format.range.upperBound { continue }
                switch field.place {
                case .integer(let property): record[keyPath: property] = sent
                case .number(let property): record[keyPath: property] = spelling.number(sent)
                }
            }
        }
        return record
    }

    func write(_ record: Record, to writer: inout ValueWriter) throws(BLEError) {
        let edition = self.edition.map { record[keyPath: $0] } ?? .current
        var flags = record.hasMoreData ? 1 : 0
        for statement in statements where record[keyPath: statement.property] { flags |= 1 << statement.bit }
        for group in groups where group.bit != 0 && group.fields.contains(where: { isPresent($0, in: record) }) {
            flags |= 1 << group.bit
        }
        for shift in stride(from: 0, to: 8 * flagByteCount, by: 8) {
            writer.uint8(UInt8(truncatingIfNeeded: flags >> shift))
        }
        for group in groups {
            guard isAnnounced(group, flags) else {
                if group.fields.contains(where: { isPresent($0, in: record) }) {
                    throw BLEError(.invalidValue, "only the last part of a record can have the first field")
                }
                continue
            }
            for field in group.fields {
                try write(field, of: record, field.spelling(edition), isAlone: group.fields.count == 1, to: &writer)
            }
        }
    }

    private func write(
        _ field: Field, of record: Record, _ spelling: Spelling, isAlone: Bool, to writer: inout ValueWriter
    ) throws(BLEError) {
        var written = ValueWriter()
        switch field.place {
        case .integer(let property):
            if let number = record[keyPath: property] { try written.integer(number, spelling.format) }
        case .number(let property):
            if let number = record[keyPath: property] { try written.rounded(spelling.sent(number), spelling.format) }
        }
        var unavailable = ValueWriter()
        try unavailable.integer(spelling.format.range.upperBound, spelling.format)
        if written.bytes.isEmpty {
            guard !isAlone else { throw BLEError(.invalidValue, "the last part of a record must have the first field") }
            written = unavailable
        } else if !isAlone, written.bytes == unavailable.bytes {
            throw BLEError(.invalidValue, "the maximum number of a field means that the field is not available")
        }
        writer.bytes(written.bytes)
    }

    /// Takes over the fields that a later part of the same record contains.
    func merge(_ later: Record, into record: inout Record) {
        for field in groups.flatMap(\.fields) {
            switch field.place {
            case .integer(let property):
                if let number = later[keyPath: property] { record[keyPath: property] = number }
            case .number(let property):
                if let number = later[keyPath: property] { record[keyPath: property] = number }
            }
        }
        for statement in statements { record[keyPath: statement.property] = later[keyPath: statement.property] }
        // A part without a field that determines the edition is marked as current.
        if let edition, later[keyPath: edition] == .first { record[keyPath: edition] = .first }
        record.hasMoreData = later.hasMoreData
    }

    private func isAnnounced(_ group: Group, _ flags: Int) -> Bool {
        (flags & 1 << group.bit != 0) == (group.bit != 0)
    }

    private func isPresent(_ field: Field, in record: Record) -> Bool {
        switch field.place {
        case .integer(let property): record[keyPath: property] != nil
        case .number(let property): record[keyPath: property] != nil
        }
    }

    /// Returns the edition whose fields have the given length. Prefers the current edition if both match.
    private func edition(of flags: Int, byteCount: Int) -> FitnessMachineEdition {
        let known = groups.reduce(1) { $0 | 1 << $1.bit } | statements.reduce(0) { $0 | 1 << $1.bit }
        guard flags & ~known == 0 else { return .current }
        let fields = groups.filter { isAnnounced($0, flags) }.flatMap(\.fields)
        let current = fields.reduce(0) { $0 + $1.current.format.byteCount }
        let first = fields.reduce(0) { $0 + $1.first.format.byteCount }
        return byteCount == first && first != current ? .first : .current
    }
}
