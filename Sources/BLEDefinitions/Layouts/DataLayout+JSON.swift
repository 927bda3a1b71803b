internal import BLE

extension DataLayout {
    /// The keys of each kind of object.
    package static let keys = [
        "format": ["company", "service", "begins", "length", "order", "fields"],
        "field": ["at", "type", "bit", "factor", "add", "unit", "unknown"],
    ]
    /// The largest number of fields of a layout.
    package static let maximumFields = 64

    /// The encodings of fields, by their names in the file.
    private static let codings: [(String, DataLayout.Coding)] = [
        ("u8", .unsigned(1)), ("u16", .unsigned(2)), ("u24", .unsigned(3)), ("u32", .unsigned(4)),
        ("i8", .signed(1)), ("i16", .signed(2)), ("i24", .signed(3)), ("i32", .signed(4)), ("f32", .float),
        ("bit", .bit(0)),
    ]

    /// The longest value of a characteristic, in bytes.
    private static let maximumLength = 512
    /// The limit of a factor and a summand.
    private static let maximumNumber = 1e9

    /// Reads the layouts of an object, by their names.
    package static func layouts(_ entry: Entry) throws -> [String: DataLayout] {
        Dictionary(uniqueKeysWithValues: try entry.entries().map { ($0.0, try DataLayout($0.1)) })
    }

    /// Reads a layout.
    ///
    /// - Parameter others: the keys of the object that are not the layout's.
    package init(_ entry: Entry, besides others: [String] = []) throws {
        let object = try entry.object(Self.keys["format", default: []] + others)
        var format = Self()
        if object["company"] != nil, let service = object["service"] {
            throw service.mistake("a format has the data of a company or of a service")
        }
        if let company = object["company"] { format.source = .company(try company.company()) }
        if let service = object["service"] { format.source = .service(try service.service()) }
        if let start = object["begins"] {
            format.start = try start.bytes()
            guard format.start.count <= Self.maximumLength else {
                throw start.mistake("more than \(Self.maximumLength) bytes")
            }
        }
        format.length = try object["length"]?.integer(1...Self.maximumLength)
        if let length = format.length, format.start.count > length { throw entry.mistake("begins with more bytes") }
        if let order = object["order"] { format.isBigEndian = try order.choice([("little", false), ("big", true)]) }
        let end = format.length ?? Self.maximumLength
        var names = ["rssi": "the signal strength"]
        let fields = try object.required("fields", in: entry.place).entries()
        guard fields.count <= Self.maximumFields else {
            throw entry.mistake("more than \(Self.maximumFields) fields")
        }
        for (name, entry) in fields {
            let field = try Self.field(name, entry, end)
            let id = SensorReading.id(name)
            guard !id.isEmpty else { throw entry.mistake("the name has no letter from a to z and no digit") }
            if let other = names.updateValue("\"\(name.excerpt)\"", forKey: id) {
                throw entry.mistake("the same name as \(other): \(id)")
            }
            if let other = format.fields.first(where: { $0.bits.overlaps(field.bits) }) {
                throw entry.mistake("overlaps \"\(other.name.excerpt)\"")
            }
            format.fields.append(field)
        }
        guard !format.fields.isEmpty else { throw entry.mistake("a format has fields") }
        self = format
    }

    private static func field(_ name: String, _ entry: Entry, _ end: Int) throws -> DataLayout.Field {
        let object = try entry.object(keys["field", default: []])
        let position = try object.required("at", in: entry.place)
        var coding = try object.required("type", in: entry.place).choice(codings)
        if case .bit = coding {
            for key in ["factor", "add", "unit", "unknown"] {
                if let entry = object[key] { throw entry.mistake("a bit has no \(key)") }
            }
            coding = .bit(try object.required("bit", in: entry.place).integer(0...7))
        } else if let bit = object["bit"] {
            throw bit.mistake("only a field of the type bit has it")
        }
        var field = DataLayout.Field(
            name: name, position: try position.integer(0...maximumLength - 1), coding: coding)
        guard field.position + coding.count <= end else {
            throw position.mistake(
                "the field ends after \(field.position + coding.count) bytes, and the data after \(end)")
        }
        let limits = -maximumNumber...maximumNumber
        let factor = try object["factor"].map { entry in
            let factor = try entry.number(limits)
            guard factor.magnitude >= 1 / maximumNumber else { throw entry.mistake("too small") }
            return factor
        }
        field.scale = DecimalLine(factor: factor ?? 1, summand: try object["add"]?.number(limits) ?? 0)
        field.unit = try object["unit"].map { try $0.label() }
        if let unknown = object["unknown"] {
            let entries = if case .array = unknown.json { try unknown.array() } else { [unknown] }
            field.unknown = Set(try entries.map { try bits($0, coding) })
        }
        return field
    }

    /// Returns the bits of an integer.
    private static func bits(_ entry: Entry, _ coding: DataLayout.Coding) throws -> UInt64 {
        let count = 8 * coding.count
        switch coding {
        case .unsigned: return UInt64(try entry.integer(0...(1 << count) - 1))
        case .signed:
            let number = try entry.integer(-(1 << (count - 1))...(1 << (count - 1)) - 1)
            return UInt64(bitPattern: Int64(number)) & (1 << UInt64(count) - 1)
        case .float, .bit: throw entry.mistake("only an integer has a number for what is not known")
        }
    }
}
