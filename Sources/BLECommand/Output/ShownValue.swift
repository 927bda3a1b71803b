import ArgumentParser
import BLE
import BLEProfiles

/// What commands that show values take.
struct ValueOptions: ParsableArguments {
    @Flag(help: "Guess at values that neither the SIG nor the peripheral describes.")
    var guess = false
}

/// A characteristic's value, in bytes and with what is known of it.
struct ShownValue {
    let bytes: [UInt8]
    /// The fields; nil where nothing describes the value or it is not as described.
    let fields: [FieldValue]?
    /// In what it is not as described.
    private let error: BLEError?
    private let guess: ValueGuess?

    init(_ bytes: [UInt8], _ format: ValueFormat?, guessing: Bool) {
        self.bytes = bytes
        var (fields, failure) = ([FieldValue]?.none, BLEError?.none)
        do throws(BLEError) { fields = try format?.decode(bytes) } catch { failure = error }
        (self.fields, error) = (fields, failure)
        guess = guessing && format == nil ? ValueGuess(bytes) : nil
    }

    /// The format of a characteristic's values: the SIG's, otherwise what the peripheral's own descriptor says, if it has one.
    static func format(of key: AttributeKey, on peripheral: Peripheral) async -> ValueFormat? {
        if let format = ValueFormat(of: key.characteristic) { return format }
        // Without it the value is shown in bytes.
        return (try? await peripheral.presentationFormat(of: key)).flatMap { $0 }.map(ValueFormat.init)
    }

    /// The value in words, for programs; nil where nothing is known of it.
    private var decoded: String? { fields.map(FieldValue.text) ?? guessed }

    /// The same for people.
    private var shown: String? { fields.map(FieldValue.shownText) ?? guessed?.harmless }

    private var guessed: String? {
        switch guess {
        case .int(let value): "\(value)"
        case .float(let value): "\(value)"
        case .string(let text): text
        case .undefined, .raw, nil: nil
        }
    }

    /// The value in words, or its bytes and what is wrong with them.
    var plainText: String {
        shown ?? "0x" + Hex.string(bytes) + (error.map { " (\($0.message.harmless))" } ?? "")
    }

    /// The bytes, and what is known of them.
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

    /// The keys `value`, `decoded`, `fields`, `guess` and `error`, which says in what the value is not as described.
    var json: [String: JSON] {
        Self.json(bytes, decoded, fields, guess, error)
    }

    /// The same keys for a value that could not be had.
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
    /// A field: its name, its value as far as JSON can have it, the number behind that, its unit and the whole in words.
    init(_ field: FieldValue) {
        self = .object([
            "name": .string(field.name), "value": JSON(field.content), "raw": Self.raw(field.content),
            "unit": .optional(field.unitSymbol) { .string($0) }, "text": .string(field.description),
        ])
    }

    /// The number that an integer, a choice or flags are; null for all else.
    private static func raw(_ content: FieldValue.Content) -> JSON {
        switch content {
        case .integer(let value): exact(value)
        case .flags(let bits, _): exact(Int128(bits))
        case .choice(let number, _): exact(Int128(number))
        default: .null
        }
    }

    /// A number, or its digits where a `Double` need not have it exactly, as many readers of JSON take it for one.
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
