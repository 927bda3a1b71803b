/// The kind of a BTHome object (bthome.io/format, "Sensor data", "Binary sensor data", "Events" and "Device
/// information"), and its encoding.
public struct BTHomeKind: Hashable, Sendable {
    /// The encoding of an object's value.
    public enum Coding: Hashable, Sendable {
        /// An unsigned integer with the given number of bytes, in multiples of `step`.
        case unsigned(Int, step: Step)
        /// An integer in two's complement with the given number of bytes, in multiples of `step`.
        case signed(Int, step: Step)
        /// One byte, 0 or 1.
        case flag
        /// One byte, a ``BTHomeButton``.
        case button
        /// A byte with the direction, and a byte with the number of steps.
        case dimmer
        /// The number of arguments, a ``BTHomeCommand``, and the arguments.
        case command
        /// The number of bytes, followed by UTF-8.
        case text
        /// The number of bytes, followed by the bytes.
        case raw
        /// The given number of version numbers, the least significant first.
        case version(Int)
    }

    /// A step as a fraction, so that each value is the Double nearest to its decimal notation.
    public struct Step: Hashable, Sendable {
        /// The numerator.
        public let numerator: Int64
        /// The denominator.
        public let denominator: Int64

        init(_ numerator: Int64, _ denominator: Int64 = 1) {
            self.numerator = numerator
            self.denominator = denominator
        }
    }

    /// The object id.
    public let id: UInt8
    /// The name in the format's specification, such as `temperature` or `door`. Several ids may have the same name.
    public let name: String
    /// The unit. Empty for a number without a unit.
    public let unit: String
    /// The encoding of the value.
    public let coding: Coding

    /// Returns the kind with the given id. Nil if the id is unknown.
    public init?(id: UInt8) {
        guard let kind = Self.byID[Int(id)] else { return nil }
        self = kind
    }

    init(_ id: UInt8, _ name: String, _ coding: Coding, unit: String = "") {
        self.id = id
        self.name = name
        self.unit = unit
        self.coding = coding
    }

    /// The kinds by id, for fast look-ups: each report has several objects.
    private static let byID: [BTHomeKind?] = (0...255).map { id in all.first { $0.id == id } }
}
