import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEDefinitions

/// The options of commands that show values.
struct ValueOptions: ParsableArguments {
    @Flag(help: "Guess at values that neither the SIG nor the peripheral describes.")
    var guess = false
}

/// A format of an attribute's values.
protocol AttributeFormat: Sendable {
    /// Returns the fields of a value. Throws `invalidValue` if it does not have the format.
    func decode(_ bytes: [UInt8]) throws(BLEError) -> [FieldValue]
    /// Returns the value of a text. Throws `invalidValue`.
    func encode(text: String) throws(BLEError) -> [UInt8]
    /// Returns the fields that a text gives, of several fields also only some. Throws `invalidValue`.
    func given(text: String) throws(BLEError) -> [GivenField]
    /// Returns fields in one line.
    func text(of fields: [FieldValue]) -> String
}

extension ValueFormat: AttributeFormat {
    func text(of fields: [FieldValue]) -> String { FieldValue.text(fields) }
}
extension DataLayout: AttributeFormat {}

/// A characteristic's value: its bytes, and their meaning if it is known.
struct ShownValue {
    let bytes: [UInt8]
    /// The fields. Nil if there is no description of the value, or if the value does not match it.
    let fields: [FieldValue]?
    /// The reason why the value does not match its description.
    private let error: BLEError?
    /// The fields as text.
    private let fieldsText: String?
    private let guess: ValueGuess?

    init(_ bytes: [UInt8], _ format: (any AttributeFormat)?, guessing: Bool) {
        self.bytes = bytes
        var (fields, failure) = ([FieldValue]?.none, BLEError?.none)
        do throws(BLEError) { fields = try format?.decode(bytes) } catch { failure = error }
        (self.fields, error) = (fields, failure)
        fieldsText = fields.flatMap { format?.text(of: $0) }
        guess = guessing && format == nil ? ValueGuess(bytes) : nil
    }

    /// Returns the format of a type's values: a vendor's, otherwise the SIG's.
    static func format(of characteristic: BluetoothUUID) -> (any AttributeFormat)? {
        VendorFiles.current.values[characteristic] ?? ValueFormat(of: characteristic)
    }

    /// Returns the format of a characteristic's values: that of its type, otherwise the one in the peripheral's own
    /// descriptor, if any.
    static func format(of key: CharacteristicKey, on peripheral: Peripheral) async -> (any AttributeFormat)? {
        if let format = format(of: key.characteristic) { return format }
        // Without a format, the value is shown as bytes.
        return (try? await peripheral.presentationFormat(of: key)).flatMap { $0 }.map(ValueFormat.init)
    }

    /// The value as text, for programs. Nil if nothing is known about it.
    private var decoded: String? { fieldsText ?? guessed }

    /// The value as text, for people. Nil if nothing is known about it.
    private var shown: String? { (fieldsText ?? guessed)?.harmless }

    private var guessed: String? {
        switch guess {
        case .int(let value): "\(value)"
        case .float(let value): "\(value)"
        case .string(let text): text
        case .undefined, .raw, nil: nil
        }
    }

    /// The value as text, or its bytes and the error.
    var plainText: String {
        shown.flatMap { $0.isEmpty ? nil : $0 } ?? "0x" + Hex.string(bytes)
            + (error.map { " (\($0.message.harmless))" } ?? "")
    }

    /// Returns the bytes, and their meaning if it is known.
    func text(_ output: Output) -> String {
        var text = Hex.string(bytes)
        if let error {
            text += "  " + output.paint("(\(error.message.harmless))", .dim)
        } else if let guess {
            text += "  " + output.paint("guess: \(guess.kind)" + (shown.map { " \($0)" } ?? ""), .dim)
        } else if let shown, !shown.isEmpty {
            text += "  " + output.paint(shown, .dim)
        }
        return text
    }

    /// The keys `value`, `decoded`, `fields`, `guess` and `error`. The error is the reason why the value does not match
    /// its description.
    var json: [String: JSON] {
        Self.json(bytes, decoded, fields, guess, error)
    }

    /// Returns the same keys for a value that could not be obtained.
    static func json(_ error: BLEError) -> [String: JSON] {
        json(nil, nil, nil, nil, error)
    }

    private static func json(
        _ bytes: [UInt8]?, _ decoded: String?, _ fields: [FieldValue]?, _ guess: ValueGuess?, _ error: BLEError?
    ) -> [String: JSON] {
        [
            "value": .optional(bytes, JSON.hex), "decoded": .optional(decoded, JSON.string),
            "fields": .optional(fields) { .array($0.map(JSON.init)) },
            "guess": .optional(guess) { .string($0.kind) }, "error": .optional(error) { .string($0.message) },
        ]
    }
}

extension JSON {
    /// Creates the JSON of a field: its name, value, raw number, unit, and text.
    init(_ field: FieldValue) {
        self = .object([
            "name": .string(field.name), "value": JSON(field.content), "raw": Self.raw(field.content),
            "unit": .optional(field.unitSymbol) { .string($0) }, "text": .string(field.description),
        ])
    }

    /// Returns the number behind an integer, a choice or flags. Null for other values.
    private static func raw(_ content: FieldValue.Content) -> JSON {
        switch content {
        case .integer(let value): exact(value)
        case .flags(let bits, _): exact(Int128(bits))
        case .choice(let number, _): exact(Int128(number))
        default: .null
        }
    }

    /// Returns a number, or its digits if a `Double`, which many JSON readers use, may not represent it exactly.
    private static func exact(_ value: Int128) -> JSON {
        value.magnitude <= 1 << 53 ? .int(Int(value)) : .string("\(value)")
    }

    private init(_ content: FieldValue.Content) {
        switch content {
        case .integer(let value): self = Int(exactly: value).map(JSON.int) ?? .double(Double(value))
        case .number(let value): self = value.isFinite ? .double(value) : .null
        case .text(let text): self = .string(text)
        case .flags(_, let names): self = .array(names.map { .string($0) })
        case .choice(_, let name): self = .optional(name, JSON.string)
        case .uuid(let uuid): self = .string(uuid.description)
        case .special: self = .null
        case .bytes(let bytes): self = .hex(bytes)
        case .fields(let fields): self = .array(fields.map(JSON.init))
        }
    }
}
