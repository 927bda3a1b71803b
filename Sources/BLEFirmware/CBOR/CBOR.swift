/// A CBOR data item (RFC 8949), as far as management messages need it.
///
/// Tags are skipped on decoding: a tagged item is decoded as its content.
public indirect enum CBOR: Hashable, Sendable {
    /// An integer from 0 to 2⁶⁴ − 1.
    case unsigned(UInt64)
    /// The integer −1 − n, as CBOR represents negative integers.
    case negative(UInt64)
    /// A byte string.
    case bytes([UInt8])
    /// A text string. Invalid UTF-8 is decoded with U+FFFD in its place, because devices cut texts at any byte.
    case text(String)
    /// An array.
    case array([CBOR])
    /// A map.
    case map(CBORMap)
    /// False or true.
    case bool(Bool)
    /// Null.
    case null
    /// Undefined.
    case undefined
    /// Another simple value, 0 to 19 or 32 to 255.
    case simple(UInt8)
    /// A number of 16, 32 or 64 bits, which is encoded with 64.
    case float(Double)
}

extension CBOR: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Creates an integer.
    public init(integerLiteral value: Int) { self.init(value) }
    /// Creates a text string.
    public init(stringLiteral value: String) { self = .text(value) }
    /// Creates a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates an array.
    public init(arrayLiteral elements: CBOR...) { self = .array(elements) }
    /// Creates a map with text keys. Of equal keys, the first one counts.
    public init(dictionaryLiteral elements: (String, CBOR)...) {
        self = .map(CBORMap(elements.map { (.text($0), $1) }))
    }
}

extension CBOR {
    /// Creates an integer.
    public init(_ value: Int) {
        self = value < 0 ? .negative(UInt64(-1 - value)) : .unsigned(UInt64(value))
    }

    /// The integer, if the item is one that fits. A boolean is 0 or 1, because implementations differ in which of the
    /// two they send.
    public var integer: Int? {
        switch self {
        case .unsigned(let value): Int(exactly: value)
        case .negative(let value): Int(exactly: value).map { -1 - $0 }
        case .bool(let value): value ? 1 : 0
        default: nil
        }
    }

    /// The boolean, if the item is one, or the integer 0 or 1.
    public var bool: Bool? {
        switch self {
        case .bool(let value): value
        case .unsigned(0): false
        case .unsigned(1): true
        default: nil
        }
    }

    /// The text string, if the item is one.
    public var text: String? { if case .text(let value) = self { value } else { nil } }

    /// The byte string, if the item is one.
    public var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }

    /// The array, if the item is one.
    public var array: [CBOR]? { if case .array(let value) = self { value } else { nil } }

    /// The map, if the item is one.
    public var map: CBORMap? { if case .map(let value) = self { value } else { nil } }
}

/// The pairs of a CBOR map, in their order.
public struct CBORMap: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// The keys and values. A map from a device can have a key twice.
    public private(set) var pairs: [Pair]

    /// A key and its value.
    public struct Pair: Hashable, Sendable {
        /// The key, usually a text string.
        public let key: CBOR
        /// The value.
        public let value: CBOR
    }

    /// Creates a map.
    public init(_ pairs: [(CBOR, CBOR)] = []) { self.pairs = pairs.map { Pair(key: $0, value: $1) } }

    /// Creates a map with text keys.
    public init(dictionaryLiteral elements: (String, CBOR)...) { self.init(elements.map { (.text($0), $1) }) }

    /// The first value with a text key. Setting nil removes it.
    public subscript(_ key: String) -> CBOR? {
        get { pairs.first { $0.key == .text(key) }?.value }
        set {
            let index = pairs.firstIndex { $0.key == .text(key) }
            switch (index, newValue) {
            case (let index?, let value?): pairs[index] = Pair(key: .text(key), value: value)
            case (let index?, nil): pairs.remove(at: index)
            case (nil, let value?): pairs.append(Pair(key: .text(key), value: value))
            case (nil, nil): break
            }
        }
    }
}
