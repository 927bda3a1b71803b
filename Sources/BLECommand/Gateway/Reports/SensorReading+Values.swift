import BLE
import BLEAssignedNumbers
import BLEDefinitions

extension SensorReading {
    /// Returns the values in the value of a characteristic. A value without a known format is hexadecimal text, and one
    /// that cannot be decoded has no fields.
    static func fields(of value: [UInt8], _ key: CharacteristicKey) -> [SensorReading] {
        let name = AssignedNumbers.assignment(of: key.characteristic)?.name ?? "\(key.characteristic)"
        guard let format = ValueFormat(of: key.characteristic) else {
            return [SensorReading(name: name, value: .text(Hex.string(value)))]
        }
        guard let decoded = try? format.decode(value) else { return [] }
        // A field has the same name in each packet, whatever else the packet has.
        let isSingle = format.fields.count == 1
        return numbered(
            decoded.filter { !$0.isSilent }.compactMap { field in
                let name = isSingle ? name : "\(name) \(field.shortName)"
                return Value(field.content).map { SensorReading(name: name, value: $0, unit: field.unitSymbol) }
            })
    }
}

extension SensorReading.Value {
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

extension SensorReading.Value {
    var json: JSON {
        switch self {
        case .number(let number): .double(number)
        case .text(let text): .string(text)
        case .flag(let flag): .bool(flag)
        }
    }
}
