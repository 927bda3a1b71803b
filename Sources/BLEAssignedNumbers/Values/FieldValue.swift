public import BLE

/// A field of a decoded value.
public struct FieldValue: Hashable, Codable, Sendable {
    /// The content of a field.
    public enum Content: Hashable, Sendable {
        /// An exact integer.
        case integer(Int128)
        /// The number nearest to the exact value.
        case number(Double)
        /// Text.
        case text(String)
        /// Bits, with the names of the bits that are set. Bits that only announce other fields have no name here.
        /// Several bits that form a number have their name and the name of the number.
        case flags(UInt64, names: [String])
        /// A number with a meaning, and its name. The name is nil for a reserved number.
        case choice(UInt64, name: String?)
        /// A UUID.
        case uuid(BluetoothUUID)
        /// A special value in place of a number, such as `value is not known`.
        case special(String)
        /// Bytes of unknown meaning.
        case bytes([UInt8])
        /// The fields of a structure.
        case fields([FieldValue])
    }

    /// The name, as published by the SIG. Empty for a value that a descriptor describes.
    public let name: String
    /// The content, in ``unit``.
    public let content: Content
    /// The unit. Nil if the field has none, or if the unit has no assigned number.
    public let unit: BluetoothUUID?
    /// The symbol of the unit, such as `°C`. Nil if the field has no unit.
    public let unitSymbol: String?

    init(name: String, content: Content, unit: BluetoothUUID?, unitSymbol: String?) {
        (self.name, self.content, self.unit, self.unitSymbol) = (name, content, unit, unitSymbol)
    }

    /// Creates a field without a unit, such as for ``ValueFormat/encode(_:)``.
    public init(_ name: String, _ content: Content) {
        (self.name, self.content, unit, unitSymbol) = (name, content, nil, nil)
    }

    /// Creates a field whose unit has no assigned number.
    package init(_ name: String, _ content: Content, unitSymbol: String?) {
        self.init(name: name, content: content, unit: nil, unitSymbol: unitSymbol)
    }

    init(_ field: ValueFormat.Field, _ content: Content) {
        (name, self.content, unit) = (field.name, content, field.unit)
        unitSymbol = field.writtenUnit ?? field.unit.flatMap(AssignedNumbers.unitSymbol)
    }

    /// Whether the field only announces other fields, like the flags of many structures.
    public var isSilent: Bool {
        if case .flags(_, names: []) = content { name == "Flags" } else { false }
    }

    /// Returns fields in one line: a single field without its name, several fields each with its ``shortName``,
    /// separated by semicolons. Fields that only announce other fields are omitted.
    public static func text(_ values: [FieldValue]) -> String {
        guard values.count != 1 else { return values[0].description }
        return values.filter { !$0.isSilent }.map { "\($0.shortName): \($0)" }.joined(separator: "; ")
    }
}

extension FieldValue: CustomStringConvertible {
    /// The value with its unit, such as `21.37 °C`, `10 kJ`, `Charging` or `value is not known`.
    ///
    /// Binary fractions have at most four decimal places. A date and time whose parts are not known is `not known`;
    /// otherwise, question marks replace unknown parts. Text of a peripheral is returned as it was sent, with any
    /// control characters.
    public var description: String {
        switch content {
        case .integer(let value): Self.with(unitSymbol, "\(value)")
        case .number(let value): measure(value)
        case .text(let text): text
        case .flags(_, let names): names.isEmpty ? "none" : names.joined(separator: ", ")
        case .choice(let number, let name): name ?? "\(number) (reserved)"
        case .uuid(let uuid): uuid.name ?? uuid.description
        case .special(let name): name
        case .bytes(let bytes): bytes.isEmpty ? "no bytes" : "0x" + Hex.string(bytes)
        case .fields(let values): Self.dateTime(values) ?? "(\(Self.text(values)))"
        }
    }

    private func measure(_ value: Double) -> String {
        // Low densities, such as of pollutants in air, are shown in µg/m³.
        if unit == BluetoothUUID(0x2715), value != 0, abs(value) < 1e-3 { return "\((value * 1e9).shortText) µg/m³" }
        return Self.with(unitSymbol, value.shortened ?? value.shortText)
    }

    /// Returns a number with its unit. Symbols for angles follow without a space.
    static func with(_ symbol: String?, _ number: String) -> String {
        guard let symbol else { return number }
        return number + (["°", "′", "″"].contains(symbol) ? "" : " ") + symbol
    }
}

extension Double {
    /// The shortest digits that represent this number, or the number rounded to 7 digits if more than 10 would be
    /// necessary.
    var shortText: String {
        guard isFinite else { return isNaN ? "not a number" : self < 0 ? "-infinity" : "infinity" }
        let text = "\(self)"
        let digits = text.prefix { $0 != "e" }.filter(\.isNumber).drop { $0 == "0" }
        guard digits.count > 10, !(self == rounded() && magnitude < 1e16) else {
            return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
        }
        // The exponent of the last of 7 digits. The digits as an integer are exact in a Double.
        var exponent = -6
        var rest = magnitude
        while rest >= 10 { (rest, exponent) = (rest / 10, exponent + 1) }
        while rest < 1 { (rest, exponent) = (rest * 10, exponent - 1) }
        let rounded = (rest * 1e6).rounded()
        let short = Double("\(self < 0 ? "-" : "")\(Int(rounded))e\(exponent)") ?? self
        return short == self ? text : short.shortText
    }
}
