package import BLE
package import BLEAssignedNumbers

extension DataLayout {
    /// Returns the fields of a characteristic's value, without those that it is too short for. Throws `invalidValue` if
    /// it has none of the fields, or not the layout's beginning and length.
    package func decode(_ value: [UInt8]) throws(BLEError) -> [FieldValue] {
        guard matches(value) else {
            throw BLEError(.invalidValue, "the value 0x\(Hex.string(value)) does not have the vendor's layout")
        }
        let values = fields.compactMap { field in
            bits(of: field, in: value).map { FieldValue(field.name, field.content($0), unitSymbol: field.unit) }
        }
        guard !values.isEmpty else {
            throw BLEError(.invalidValue, "the value 0x\(Hex.string(value)) is too short for the vendor's layout")
        }
        return values
    }

    /// Returns fields in one line, as `FieldValue.text(_:)` does, with their whole names.
    package func text(of values: [FieldValue]) -> String {
        guard values.count != 1 else { return values[0].description }
        return values.map { "\($0.name): \($0)" }.joined(separator: "; ")
    }

    /// Returns the fields that a text gives, in the form for ``encode(text:)``. Of several fields, only some may be
    /// given. Throws `invalidValue`.
    package func given(text: String) throws(BLEError) -> [GivenField] {
        let pairs = try pairs(of: text)
        guard !pairs.isEmpty else { throw needsNames }
        return try pairs.map { (pair) throws(BLEError) in try pair.field.given(pair.text) }
    }

    /// Returns the value whose fields a text gives: that of the only field, or `name=value` pairs of all fields in any
    /// order, separated by commas or semicolons. Bytes without a field are zero. Throws `invalidValue`.
    package func encode(text: String) throws(BLEError) -> [UInt8] {
        let pairs = try pairs(of: text)
        let missing = fields.map(\.name).filter { name in !pairs.contains { $0.field.name == name } }
        guard missing.isEmpty else {
            throw BLEError(.invalidValue, "not given: \(missing.joined(separator: ", "))")
        }
        let end = fields.map { $0.position + $0.coding.count }.max() ?? 0
        var value = [UInt8](repeating: 0, count: length ?? max(start.count, end))
        value.replaceSubrange(0..<start.count, with: start)
        for (field, text) in pairs {
            let bits = try field.bits(text)
            if case .bit(let bit) = field.coding {
                value[field.position] = value[field.position] & ~(1 << bit) | UInt8(bits) << bit
                continue
            }
            for index in 0..<field.coding.count {
                let byte = UInt8(truncatingIfNeeded: bits >> (8 * index))
                value[field.position + (isBigEndian ? field.coding.count - 1 - index : index)] = byte
            }
        }
        guard matches(value) else {
            throw BLEError(.invalidValue, "values of this layout begin with 0x\(Hex.string(start))")
        }
        return value
    }

    private var needsNames: BLEError {
        let names = fields.map(\.name).joined(separator: ", ")
        return BLEError(.invalidValue, "the value has several fields, given as name=value: \(names)")
    }

    /// Returns the fields that a text gives, with their texts.
    private func pairs(of text: String) throws(BLEError) -> [(field: Field, text: String)] {
        if fields.count == 1, !text.contains("=") { return [(fields[0], text.trimmed)] }
        var pairs: [(field: Field, text: String)] = []
        for part in text.split(whereSeparator: { $0 == "," || $0 == ";" }) {
            guard let sign = part.firstIndex(of: "=") else { throw needsNames }
            let id = SensorReading.id(String(part[..<sign]))
            guard let field = fields.first(where: { SensorReading.id($0.name) == id }) else {
                let names = fields.map(\.name).joined(separator: ", ")
                throw BLEError(.invalidValue, "there is no field “\(String(part[..<sign]).excerpt)”, but \(names)")
            }
            guard !pairs.contains(where: { $0.field.name == field.name }) else {
                throw BLEError(.invalidValue, "\(field.name) is given twice")
            }
            pairs.append((field, String(part[part.index(after: sign)...]).trimmed))
        }
        return pairs
    }
}

extension DataLayout.Field {
    /// What the text of a bit can be.
    private static let words = [
        "yes": true, "on": true, "true": true, "1": true, "no": false, "off": false, "false": false, "0": false,
    ]
    private static let unknownText = "value is not known"

    /// Returns what bits mean, with the words of the SIG's formats.
    fileprivate func content(_ bits: UInt64) -> FieldValue.Content {
        switch value(bits) {
        case .number(let number):
            // Without a scale, it is exact.
            if coding != .float, scale.isIdentity { .integer(Int128(number)) } else { .number(number) }
        case .flag(let flag): .choice(bits >> bitPosition & 1, name: flag ? "yes" : "no")
        case .text(let text): .text(text)
        case nil: .special(Self.unknownText)
        }
    }

    private var bitPosition: UInt64 { if case .bit(let bit) = coding { UInt64(bit) } else { 0 } }

    private func text(_ number: Double) -> String {
        FieldValue(name, .number(number), unitSymbol: unit).description
    }

    /// Returns the bits of a text, from the lowest. Throws `invalidValue`.
    fileprivate func bits(_ text: String) throws(BLEError) -> UInt64 {
        if case .bit = coding {
            guard let flag = Self.words[text.lowercased()] else {
                throw BLEError(.invalidValue, "\(name) is yes or no")
            }
            return flag ? 1 : 0
        }
        if Self.isUnknown(text) {
            if coding == .float { return UInt64(Float.nan.bitPattern) }
            guard let bits = unknown.min() else { throw BLEError(.invalidValue, "\(name) is always known") }
            return bits
        }
        let number = try number(text).value
        let steps = (number - scale.summand) / scale.factor
        if coding == .float {
            guard Float(steps).isFinite else { throw BLEError(.invalidValue, "\(name) is too large") }
            return UInt64(Float(steps).bitPattern)
        }
        return try bits(of: number, steps)
    }

    private static func isUnknown(_ text: String) -> Bool { ["unknown", unknownText].contains(text.lowercased()) }

    private func number(_ text: String) throws(BLEError) -> GivenNumber {
        var digits = text
        if let unit, text.hasSuffix(unit) { digits = String(text.dropLast(unit.count)).trimmed }
        guard let number = GivenNumber(digits) else {
            throw BLEError(.invalidValue, "\(name) is a number\(unit.map { " in \($0)" } ?? "")")
        }
        return number
    }

    /// Returns the field with what a text gives for it. Throws `invalidValue` if it never has that.
    fileprivate func given(_ text: String) throws(BLEError) -> GivenField {
        let name = name
        if case .bit = coding {
            let flag = try bits(text)
            return GivenField(name, flag == 1 ? "yes" : "no") { field in
                if case .choice(flag, _) = field.content { field.name == name } else { false }
            }
        }
        if Self.isUnknown(text) {
            _ = try bits(text)
            return GivenField(name, Self.unknownText) { $0.name == name && $0.content == .special(Self.unknownText) }
        }
        var number = try number(text)
        do throws(BLEError) {
            _ = try bits(text)
            if coding != .float || number.isFloat { number = number.exact }
        } catch {
            let steps = ((number.value - scale.summand) / scale.factor).rounded()
            guard coding != .float, let integer = Int64(exactly: steps), number.accepts(scale(integer)) else {
                throw error
            }
            _ = try bits(of: scale(integer), steps)
        }
        let given = number
        return GivenField(name, self.text(given.value)) { $0.name == name && given.accepts($0.content) }
    }

    /// Returns the bits of an integer.
    ///
    /// - Parameter steps: the number before scaling.
    private func bits(of number: Double, _ steps: Double) throws(BLEError) -> UInt64 {
        let count = 8 * coding.count
        let isSigned = if case .signed = coding { true } else { false }
        let range: ClosedRange<Int64> =
            isSigned ? -(1 << (count - 1))...(1 << (count - 1)) - 1 : 0...(1 << count) - 1
        guard let integer = Int64(exactly: steps.rounded()), range.contains(integer) else {
            let limits = [scale(range.lowerBound), scale(range.upperBound)].sorted().map(text)
            throw BLEError(
                .invalidValue, "\(name) is \(text(number)), which is not from \(limits[0]) to \(limits[1])")
        }
        guard scale(integer) == number else {
            let nearest = [steps.rounded(.down), steps.rounded(.up)].map { scale(Int64($0)) }.sorted().map(text)
            throw BLEError(
                .invalidValue, "\(name) is \(text(number)), which is between \(nearest[0]) and \(nearest[1])")
        }
        let bits = UInt64(bitPattern: integer) & (1 << UInt64(count) - 1)
        guard !unknown.contains(bits) else {
            throw BLEError(.invalidValue, "\(name) is \(text(number)), which means that it is not known")
        }
        return bits
    }
}

extension String {
    /// The text without spaces at its ends.
    fileprivate var trimmed: String {
        let start = drop(while: \.isWhitespace)
        return String(start.reversed().drop(while: \.isWhitespace).reversed())
    }
}
