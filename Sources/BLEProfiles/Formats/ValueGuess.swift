/// A guess at what the bytes of a value mean that nothing describes. For people to look at; no program should rely on it.
public enum ValueGuess: Hashable, Sendable {
    /// No bytes.
    case undefined
    /// Text that is a whole number of 32 bits.
    case int(Int32)
    /// Text that is another number.
    case float(Double)
    /// Other text in UTF-8, all of it printable.
    case string(String)
    /// Anything else.
    case raw([UInt8])

    /// What the bytes may mean.
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

    /// What kind of guess it is: `undefined`, `int`, `float`, `string` or `raw`.
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
