import BLE

/// The formats of one's own in the file; see Docs/Gateway.md.
extension GatewayFile {
    /// The encodings of fields, by their names in the file.
    private static let codings: [(String, DeviceFormat.Coding)] = [
        ("u8", .unsigned(1)), ("u16", .unsigned(2)), ("u24", .unsigned(3)), ("u32", .unsigned(4)),
        ("i8", .signed(1)), ("i16", .signed(2)), ("i24", .signed(3)), ("i32", .signed(4)), ("f32", .float),
        ("bit", .bit(0)),
    ]

    /// The longest value of a characteristic, in bytes.
    private static let maximumLength = 512
    /// The limit of a factor and a summand.
    private static let maximumNumber = 1e9

    static func formats(_ entry: Entry) throws -> [String: DeviceFormat] {
        Dictionary(uniqueKeysWithValues: try entry.entries().map { ($0.0, try format($0.1)) })
    }

    private static func format(_ entry: Entry) throws -> DeviceFormat {
        let object = try object(entry, "format")
        var format = DeviceFormat()
        if object["company"] != nil, let service = object["service"] {
            throw service.mistake("a format has the data of a company or of a service")
        }
        if let company = object["company"] { format.source = .company(try Self.company(company)) }
        if let service = object["service"] { format.source = .service(try service.service()) }
        if let start = object["begins"] {
            format.start = try start.bytes()
            guard format.start.count <= maximumLength else { throw start.mistake("more than \(maximumLength) bytes") }
        }
        format.length = try object["length"]?.integer(1...maximumLength)
        if let length = format.length, format.start.count > length { throw entry.mistake("begins with more bytes") }
        if let order = object["order"] { format.isBigEndian = try order.choice([("little", false), ("big", true)]) }
        let end = format.length ?? maximumLength
        var names = ["rssi": "the signal strength"]
        for (name, entry) in try object.required("fields", in: entry.place).entries() {
            let field = try field(name, entry, end)
            let id = DeviceField.id(name)
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
        guard format.fields.count <= DeviceTable.maximumFields else {
            throw entry.mistake("more than \(DeviceTable.maximumFields) fields")
        }
        return format
    }

    private static func field(_ name: String, _ entry: Entry, _ end: Int) throws -> DeviceFormat.Field {
        let object = try object(entry, "field")
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
        var field = DeviceFormat.Field(
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
        field.unit = try object["unit"].map(text)
        if let unknown = object["unknown"] {
            let entries = if case .array = unknown.json { try unknown.array() } else { [unknown] }
            field.unknown = Set(try entries.map { try bits($0, coding) })
        }
        return field
    }

    /// Returns the bits of an integer.
    private static func bits(_ entry: Entry, _ coding: DeviceFormat.Coding) throws -> UInt64 {
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
