/// What a BTHome object tells (bthome.io/format, "Sensor data", "Binary sensor data", "Events" and "Device information"), and how it is
/// spelled.
public struct BTHomeKind: Hashable, Sendable {
    /// How the object's bytes are to be read.
    public enum Coding: Hashable, Sendable {
        /// An unsigned number of so many bytes, which counts steps of `step`.
        case unsigned(Int, step: Step)
        /// A number of so many bytes in two's complement, which counts steps of `step`.
        case signed(Int, step: Step)
        /// One byte, 0 or 1.
        case flag
        /// One byte, a ``BTHomeButton``.
        case button
        /// A byte that says which way, and one that says how far.
        case dimmer
        /// The number of arguments, a ``BTHomeCommand``, and the arguments.
        case command
        /// The number of bytes, and as many of UTF-8.
        case text
        /// The number of bytes, and as many.
        case raw
        /// So many numbers of a version, the last first.
        case version(Int)
    }

    /// A step as a fraction, so that values come out as they would be written.
    public struct Step: Hashable, Sendable {
        /// The upper part.
        public let numerator: Int64
        /// The lower part.
        public let denominator: Int64

        init(_ numerator: Int64, _ denominator: Int64 = 1) {
            self.numerator = numerator
            self.denominator = denominator
        }
    }

    /// The object id.
    public let id: UInt8
    /// What is told, in the format's words: `temperature`, `door`. Several ids may tell the same.
    public let name: String
    /// The unit, empty for a number without one.
    public let unit: String
    /// How it is spelled.
    public let coding: Coding

    /// The kind with that id; nil when it is not known here.
    public init?(id: UInt8) {
        guard let kind = Self.byID[id] else { return nil }
        self = kind
    }

    init(_ id: UInt8, _ name: String, _ coding: Coding, unit: String = "") {
        self.id = id
        self.name = name
        self.unit = unit
        self.coding = coding
    }

    private static let byID = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
}
