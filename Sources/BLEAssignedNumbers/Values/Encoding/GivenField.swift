package import BLE

/// A field as a text gives it, to compare the fields of a value with.
package struct GivenField: Sendable {
    /// The name for people.
    package let name: String
    /// What is given, for people.
    package let text: String
    private let accepts: @Sendable (FieldValue) -> Bool

    /// - Parameter accepts: whether a field has the name and the content that are given.
    package init(_ name: String, _ text: String, accepts: @escaping @Sendable (FieldValue) -> Bool) {
        (self.name, self.text, self.accepts) = (name, text, accepts)
    }

    /// Whether a value with the given fields has all that are expected. Of a repeated field, those that are expected
    /// must be found in the same order.
    package static func areMet(_ expected: [GivenField], by fields: [FieldValue]) -> Bool {
        var next: [String: Int] = [:]
        return expected.allSatisfy { given in
            guard let index = fields[(next[given.name] ?? 0)...].firstIndex(where: given.accepts) else { return false }
            next[given.name] = index + 1
            return true
        }
    }

    /// Returns fields in one line, as ``FieldValue/text(_:)`` does.
    package static func text(_ fields: [GivenField]) -> String {
        guard fields.count != 1 else { return fields[0].text }
        return fields.map { "\($0.name): \($0.text)" }.joined(separator: "; ")
    }
}

/// A number as a text gives it. It accepts all numbers that are the same when rounded to its last digit.
package struct GivenNumber: Sendable {
    package let value: Double
    private var tolerance: Double

    /// Parses a decimal number. Nil for other text, infinity and NaN included.
    package init?(_ text: some StringProtocol) {
        guard let number = DecimalNumber(text) else { return nil }
        self.init(number)
    }

    init?(_ number: DecimalNumber) {
        guard let value = Double("\(number)"), value.isFinite, let half = Double("5e\(number.exponent - 1)") else {
            return nil
        }
        self.value = value
        // Both may differ from the decimal numbers by rounding errors.
        tolerance = half + 4 * value.ulp
    }

    /// The number that accepts no others, apart from rounding errors: for fields that can be exactly this number.
    package var exact: GivenNumber {
        var exact = self
        exact.tolerance = 4 * value.ulp
        return exact
    }

    /// Whether the number has a Float.
    package var isFloat: Bool { Double(Float(value)) == value }

    package func accepts(_ number: Double) -> Bool { (number - value).magnitude <= tolerance }

    package func accepts(_ content: FieldValue.Content) -> Bool {
        switch content {
        case .integer(let number): accepts(Double(number))
        case .number(let number): accepts(number)
        default: false
        }
    }
}

extension ValueFormat {
    /// Returns the fields that a text gives, in the form for ``encode(text:)``. Of several fields, only some may be
    /// given. Throws `invalidValue`.
    package func given(text: String) throws(BLEError) -> [GivenField] {
        guard text.utf8.count <= 16_384 else {
            throw BLEError(.invalidValue, "the text has \(text.utf8.count) bytes, more than 16384")
        }
        let given = try Self.given(try ValueText(text).items(of: self), fields)
        guard isRecord else { return given }
        return [
            GivenField("Record", GivenField.text(given)) { record in
                if case .fields(let values) = record.content { GivenField.areMet(given, by: values) } else { false }
            }
        ]
    }

    fileprivate static func given(_ items: [EncodedItem], _ fields: [Field]) throws(BLEError) -> [GivenField] {
        var given: [GivenField] = []
        for item in items {
            let exact = fields.filter { item.name == $0.name }
            let named = exact.isEmpty ? fields.filter { item.isNamed(like: $0) } : exact
            var (found, failure) = ([(field: Field, content: GivenContent)](), BLEError?.none)
            for field in named {
                // Without a unit, the first form of a value is meant: mmHg rather than kPa.
                if let first = found.first, !item.hasUnit, first.field.unitSymbol != field.unitSymbol { continue }
                do throws(BLEError) { found.append((field, try field.given(item.input))) } catch { failure = error }
            }
            guard let first = found.first else {
                throw failure ?? BLEError(.invalidValue, "there is no field \(item.name[...].quoted)")
            }
            let contents = found.map { (name: $0.field.name, content: $0.content) }
            given.append(
                GivenField(first.field.shortName, first.content.text) { value in
                    contents.contains { $0.name == value.name && $0.content.accepts(value.content) }
                })
        }
        return given
    }
}

/// What is given for a field.
private struct GivenContent: Sendable {
    let text: String
    let accepts: @Sendable (FieldValue.Content) -> Bool
}

extension ValueFormat.Field {
    fileprivate func given(_ input: EncodedItem.Input) throws(BLEError) -> GivenContent {
        switch input {
        case .items(let items):
            guard let inner else { throw error("is not a structure") }
            let given = try ValueFormat.given(items, inner)
            return GivenContent(text: "(\(GivenField.text(given)))") { content in
                if case .fields(let values) = content { GivenField.areMet(given, by: values) } else { false }
            }
        case .text(let text) where isNumber && choices.isEmpty && special(named: text[...].trimmed) == nil:
            let number = try decimal(text[...].trimmed)
            return GivenContent(text: measure(number), accepts: try accepting(number))
        case .text(let text): return GivenContent(text: text, accepts: accepting(try encode(input)))
        case .content(let content):
            return GivenContent(
                text: FieldValue(self, content).description, accepts: accepting(try encode(input)))
        }
    }

    /// Accepts the number, or those that are the number when rounded to its last digit if the field cannot be exactly
    /// the number. Throws if no value of the field is accepted.
    private func accepting(
        _ number: DecimalNumber
    ) throws(BLEError) -> @Sendable (FieldValue.Content) -> Bool {
        guard let given = GivenNumber(number) else { throw error("is \(measure(number)), which is out of range") }
        do throws(BLEError) {
            let bits = try self.number(number)
            // A Double does not represent all integers.
            switch kind {
            case .integer where scale.isOne: return accepting(bits)
            // These are encoded as the nearest number.
            case .timeExponential: break
            case .float where !given.isFloat: break
            default: return { given.exact.accepts($0) }
            }
        } catch {
            guard case .between(let lower, let isNearerToNext) = number.steps(of: scale),
                let nearest = DecimalNumber(
                    isNearerToNext ? lower + 1 : lower, isNegative: number.isNegative, scale),
                let value = Double("\(nearest)"), given.accepts(value)
            else { throw error }
            _ = try self.number(nearest)
        }
        return { given.accepts($0) }
    }

    private func accepting(_ expected: EncodedField) -> @Sendable (FieldValue.Content) -> Bool {
        { content in
            let found = try? encode(EncodedItem(FieldValue(name, content)).input)
            // Only the flags that are named.
            guard case .flags(let flags, let fixed) = expected, case .flags(let others, _)? = found else {
                return found == expected
            }
            return (flags ^ others) & fixed == 0
        }
    }
}
