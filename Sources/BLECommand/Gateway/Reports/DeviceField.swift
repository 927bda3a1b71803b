import BLE
import BLEAssignedNumbers
import BLEBTHome

/// A decoded value of a device, with a name that is the same each time.
struct DeviceField: Equatable, Sendable {
    enum Value: Equatable, Sendable {
        case number(Double)
        case text(String)
        case flag(Bool)

        var json: JSON {
            switch self {
            case .number(let number): .double(number)
            case .text(let text): .string(text)
            case .flag(let flag): .bool(flag)
            }
        }
    }

    /// The name for people, such as `battery low`.
    let name: String
    let value: Value
    /// The symbol of the unit, such as `°C`.
    var unit: String?

    /// Whether another value has the same kind and unit.
    func isLike(_ other: DeviceField) -> Bool {
        guard unit == other.unit else { return false }
        return switch (value, other.value) {
        case (.number, .number), (.text, .text), (.flag, .flag): true
        default: false
        }
    }

    /// The same, with its unit or its kind in the name.
    var withKindInName: DeviceField {
        let kind = if case .flag = value { "state" } else if case .text = value { "text" } else { unit ?? "number" }
        return DeviceField(name: "\(name) \(kind)", value: value, unit: unit)
    }

    /// The name in JSON and topics: lowercase letters, digits and underscores, such as `battery_low`.
    var id: String { Self.id(name) }

    /// Returns the lowercase letters and digits of a name.
    ///
    /// - Parameter separator: what stands between them in place of everything else, if anything.
    static func id(_ name: String, separator: Character? = "_") -> String {
        // Most names are their own, and are compared for each value that is received.
        if name.utf8.allSatisfy(isPlain) { return name }
        var id = ""
        var isSeparated = false
        for scalar in name.lowercased().unicodeScalars {
            guard scalar.isASCII, isPlain(UInt8(scalar.value)) else {
                isSeparated = true
                continue
            }
            if isSeparated, !id.isEmpty, let separator { id.append(separator) }
            isSeparated = false
            id.unicodeScalars.append(scalar)
        }
        return id
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

// MARK: Decoding

extension DeviceField {
    /// Creates a field of a number, a flag or a text. Nil for an event (``DeviceEvent``), and for a packet id.
    init?(_ object: BTHomeObject) {
        switch object.content {
        case .number:
            guard object.kind.id != 0, let value = object.value else { return nil }
            self.init(
                name: object.kind.name, value: .number(value), unit: object.kind.unit.isEmpty ? nil : object.kind.unit)
        case .flag(let flag): self.init(name: object.kind.name, value: .flag(flag))
        case .text(let text): self.init(name: object.kind.name, value: .text(text))
        case .version(let numbers):
            self.init(name: object.kind.name, value: .text(numbers.map(String.init).joined(separator: ".")))
        case .button, .dimmer, .command, .raw: return nil
        }
    }

    /// Returns fields with different ids: the second of one name becomes `temperature 2`. A flag and a number of one
    /// name, such as `battery`, are different, too.
    static func numbered(_ fields: [DeviceField]) -> [DeviceField] {
        let isUnambiguous = fields.indices.allSatisfy { index in
            !fields[..<index].contains { $0.name == fields[index].name || $0.id == fields[index].id }
        }
        guard !isUnambiguous || fields.count > 16 else { return fields }
        var counts: [String: Int] = [:]
        return fields.map { field in
            let count = counts[field.id, default: 0] + 1
            counts[field.id] = count
            return count == 1
                ? field : DeviceField(name: "\(field.name) \(count)", value: field.value, unit: field.unit)
        }
    }

    /// Returns the values in the value of a characteristic. A value without a known format is hexadecimal text, and one
    /// that cannot be decoded has no fields.
    static func fields(of value: [UInt8], _ key: CharacteristicKey) -> [DeviceField] {
        let name = AssignedNumbers.assignment(of: key.characteristic)?.name ?? "\(key.characteristic)"
        guard let format = ValueFormat(of: key.characteristic) else {
            return [DeviceField(name: name, value: .text(Hex.string(value)))]
        }
        guard let decoded = try? format.decode(value) else { return [] }
        // A field has the same name in each packet, whatever else the packet has.
        let isSingle = format.fields.count == 1
        return numbered(
            decoded.filter { !$0.isSilent }.compactMap { field in
                let name = isSingle ? name : "\(name) \(field.shortName)"
                return Value(field.content).map { DeviceField(name: name, value: $0, unit: field.unitSymbol) }
            })
    }
}

extension DeviceField.Value {
    /// Nil for content that is no single value, and for a special one such as `value is not known`.
    fileprivate init?(_ content: FieldValue.Content) {
        switch content {
        case .integer(let number): self = .number(Double(number))
        case .number(let number): self = .number(number)
        case .text(let text): self = .text(text)
        case .choice(let number, let name): self = .text(name ?? "\(number)")
        case .uuid(let uuid): self = .text("\(uuid)")
        case .bytes(let bytes): self = .text(Hex.string(bytes))
        case .flags(_, let names): self = .text(names.joined(separator: ", "))
        case .special, .fields: return nil
        }
    }
}
