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
        // (without it the value is shown in bytes)
        return (try? await peripheral.presentationFormat(of: key)).flatMap { $0 }.map(ValueFormat.init)
    }

    /// The value in words; nil where nothing is known of it.
    var decoded: String? {
        if let fields { return FieldValue.text(fields) }
        return switch guess {
        case .int(let value): "\(value)"
        case .float(let value): "\(value)"
        case .string(let text): text
        case .undefined, .raw, nil: nil
        }
    }

    /// The value in words, or its bytes and what is wrong with them.
    var plainText: String {
        decoded ?? "0x" + Hex.string(bytes) + (error.map { " (\($0.message))" } ?? "")
    }

    /// The bytes, and what is known of them.
    func text(_ output: Output) -> String {
        var text = Hex.string(bytes)
        if let error {
            text += "  " + output.paint("(\(error.message))", .dim)
        } else if let guess {
            text += "  " + output.paint("guess: \(guess.kind)" + (decoded.map { " \($0)" } ?? ""), .dim)
        } else if let decoded, !decoded.isEmpty {
            text += "  " + output.paint(decoded, .dim)
        }
        return text
    }

    /// The keys `value`, `decoded`, `fields` and `guess`.
    var json: [String: JSON] {
        [
            "value": .hex(bytes), "decoded": .optional(decoded) { .string($0) },
            "fields": .optional(fields) { .array($0.map(JSON.init)) },
            "guess": .optional(guess) { .string($0.kind) },
        ]
    }
}

extension JSON {
    /// A field: its name, its value as far as JSON can have it, its unit and how people see it.
    init(_ field: FieldValue) {
        self = .object([
            "name": .string(field.name), "value": JSON(field.content),
            "unit": .optional(field.unitSymbol) { .string($0) }, "text": .string(field.description),
        ])
    }

    private init(_ content: FieldValue.Content) {
        switch content {
        case .integer(let value): self = Int(exactly: value).map(JSON.int) ?? .string("\(value)")
        case .number(let value): self = value.isFinite ? .double(value) : .null
        case .text(let text): self = .string(text)
        case .flags(_, let names): self = .array(names.map { .string($0) })
        case .choice(let number, let name):
            self = name.map(JSON.string) ?? (Int(exactly: number).map(JSON.int) ?? .null)
        case .uuid(let uuid): self = .string(uuid.description)
        case .special: self = .null
        case .bytes(let bytes): self = .hex(bytes)
        case .fields(let fields): self = .array(fields.map(JSON.init))
        }
    }
}
