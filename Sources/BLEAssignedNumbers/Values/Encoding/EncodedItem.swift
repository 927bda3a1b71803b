internal import BLE

/// What is given for a field: its name, and its content or text.
struct EncodedItem {
    /// What is encoded.
    enum Input {
        case content(FieldValue.Content)
        case text(String)
        /// The fields of a structure.
        case items([EncodedItem])
    }

    let name: String
    /// The symbol of the unit, if it is known.
    var unitSymbol: String?
    /// Whether a number has its unit in the text.
    var hasUnit = false
    let input: Input

    init(name: String, input: Input) {
        (self.name, self.input) = (name, input)
    }

    init(_ value: FieldValue) {
        (name, unitSymbol) = (value.name, value.unitSymbol)
        input =
            if case .fields(let values) = value.content { .items(values.map(Self.init)) } else {
                .content(value.content)
            }
    }

    /// Whether this is given for a field, by one of the field's names.
    func isNamed(like field: ValueFormat.Field) -> Bool {
        name == field.name || field.isNamed(name[...])
    }
}

/// The bytes or the number of a field.
enum EncodedField: Hashable {
    /// The bits of a number.
    case bits(UInt128)
    /// Flags, and those that must not be changed to announce other fields.
    case flags(UInt64, fixed: UInt64)
    case bytes([UInt8])
}

extension ValueFormat.Field {
    /// The name without the parts that only distinguish the forms of a value.
    var shortName: String { FieldValue(name, .bytes([])).shortName }

    /// Whether the text is the name or the short name. Only letters and digits are compared.
    func isNamed(_ text: Substring) -> Bool {
        let pattern = NamePattern(String(text))
        return pattern.isName(name) || pattern.isName(shortName)
    }

    /// The name in messages.
    var title: String { name.isEmpty ? "the value" : shortName }

    /// The symbol of the unit. Nil if there is none.
    var unitSymbol: String? { writtenUnit ?? unit.flatMap(AssignedNumbers.unitSymbol) }

    /// Returns an error about the field.
    func error(_ text: String) -> BLEError { BLEError(.invalidValue, "\(title) \(text)") }

    /// The fields, if the field is a structure.
    var inner: [ValueFormat.Field]? {
        if case .structure(let fields) = kind { fields } else { nil }
    }
}
