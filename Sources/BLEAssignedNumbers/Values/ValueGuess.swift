/// A guess at the meaning of a value that has no description. The guess is meant for people; programs should not rely
/// on it.
public enum ValueGuess: Hashable, Codable, Sendable {
    /// No bytes.
    case undefined
    /// Text that is an integer of 32 bits.
    case int(Int32)
    /// Text that is another number.
    case float(Double)
    /// Other printable text in UTF-8.
    case string(String)
    /// Any other bytes.
    case raw([UInt8])

    /// Creates a guess at the meaning of the bytes.
    public init(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else {
            self = .undefined
            return
        }
        guard let text = String(validating: bytes, as: UTF8.self),
            text.unicodeScalars.allSatisfy(\.properties.isPrintable)
        else {
            self = .raw(bytes)
            return
        }
        if let integer = Int32(text) {
            self = .int(integer)
        } else if let number = Double(text), number.isFinite, text.allSatisfy({ "+-.0123456789eE".contains($0) }) {
            self = .float(number)
        } else {
            self = .string(text)
        }
    }

    /// The name of the kind of guess: `undefined`, `int`, `float`, `string` or `raw`.
    public var kind: String {
        switch self {
        case .undefined: "undefined"
        case .int: "int"
        case .float: "float"
        case .string: "string"
        case .raw: "raw"
        }
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isPrintable: Bool {
        switch generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }
}
