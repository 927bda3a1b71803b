public import BLE

/// What a field of a value is.
public struct FieldValue: Hashable, Sendable {
    /// What a field can be.
    public enum Content: Hashable, Sendable {
        /// A whole number, exact.
        case integer(Int128)
        /// A number, the nearest to the exact one.
        case number(Double)
        /// Text.
        case text(String)
        /// Bits, and the names of those that are set; of several that are a number together, their name and that of the number.
        case flags(UInt64, names: [String])
        /// A number that stands for something, and its name; nil for a reserved one.
        case choice(UInt64, name: String?)
        /// A UUID.
        case uuid(BluetoothUUID)
        /// A number or a float that is none, such as `value is not known`.
        case special(String)
        /// Bytes that nothing is known of.
        case bytes([UInt8])
        /// Fields of its own.
        case fields([FieldValue])
    }

    /// The name, as the SIG publishes it; empty for a value that a descriptor describes.
    public let name: String
    /// What it is, in ``unit``.
    public let content: Content
    /// The unit; nil for what has none or one without a number.
    public let unit: BluetoothUUID?
    /// How the unit is written, such as `°C`; nil for none.
    public let unitSymbol: String?

    init(_ name: String, _ content: Content) {
        (self.name, self.content, unit, unitSymbol) = (name, content, nil, nil)
    }

    init(_ field: ValueFormat.Field, _ content: Content) {
        (name, self.content, unit) = (field.name, content, field.unit)
        unitSymbol = field.writtenUnit ?? field.unit.flatMap(AssignedNumbers.unitSymbol)
    }

    /// Several in a line: the only one without its name, otherwise each with it, separated by semicolons.
    public static func text(_ values: [FieldValue]) -> String {
        guard values.count != 1 else { return values[0].description }
        return values.map { "\($0.name): \($0)" }.joined(separator: "; ")
    }
}

extension FieldValue: CustomStringConvertible {
    /// The value with its unit, such as `21.37 °C`, `Charging` or `value is not known`.
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
        // A millionth of a kilogram in a cubic metre is much in air.
        if unit == BluetoothUUID(0x2715), value != 0, abs(value) < 1e-3 { return "\((value * 1e9).shortText) µg/m³" }
        return Self.with(unitSymbol, value.shortText)
    }

    /// A number and its unit. Signs of angle follow without a space.
    private static func with(_ symbol: String?, _ number: String) -> String {
        guard let symbol else { return number }
        return number + (["°", "′", "″"].contains(symbol) ? "" : " ") + symbol
    }

    /// A date and time of which every part is known.
    private static func dateTime(_ values: [FieldValue]) -> String? {
        guard values.map(\.name) == ["Year", "Month", "Day", "Hours", "Minutes", "Seconds"] else { return nil }
        var parts: [String] = []
        for (value, count) in zip(values, [4, 2, 2, 2, 2, 2]) {
            guard case .integer(let number) = value.content else { return nil }
            let digits = String(number)
            parts.append(String(repeating: "0", count: max(0, count - digits.count)) + digits)
        }
        return parts[..<3].joined(separator: "-") + " " + parts[3...].joined(separator: ":")
    }
}

extension Double {
    /// The shortest digits that mean this number, but at most 7 where it would take more than 10.
    var shortText: String {
        guard isFinite else { return isNaN ? "not a number" : self < 0 ? "-infinity" : "infinity" }
        let text = "\(self)"
        let digits = text.prefix { $0 != "e" }.filter(\.isNumber).drop { $0 == "0" }
        guard digits.count > 10, !(self == rounded() && magnitude < 1e16) else {
            return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
        }
        // The exponent of the last of 7 digits; the digits, rounded by Double, are exact in a Double.
        var exponent = -6
        var rest = magnitude
        while rest >= 10 { (rest, exponent) = (rest / 10, exponent + 1) }
        while rest < 1 { (rest, exponent) = (rest * 10, exponent - 1) }
        let rounded = (rest * 1e6).rounded()
        let short = Double("\(self < 0 ? "-" : "")\(Int(rounded))e\(exponent)") ?? self
        return short == self ? text : short.shortText
    }
}
