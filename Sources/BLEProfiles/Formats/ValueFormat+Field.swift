public import BLE

extension ValueFormat {
    /// One field of a value.
    public struct Field: Hashable, Sendable {
        /// The name, as the SIG publishes it; empty for the only field of a format that a descriptor describes.
        public let name: String
        /// The unit; nil for what has none or one without a number.
        public internal(set) var unit: BluetoothUUID?
        /// A unit that has no number.
        var writtenUnit: String?

        var kind: Kind
        /// Whether it occurs as often as there are bytes.
        var isRepeated = false
        /// What all must be so for the field to be there.
        var conditions: [Condition] = []
        var scale = DecimalScale()
        /// The numbers that are allowed besides special ones; nil for any.
        var range: ClosedRange<Int64>?
        /// Numbers, as their bits, that mean something else.
        var specials: [UInt64: String] = [:]
        /// The names of numbers that are no quantities; empty for quantities.
        var choices: [UInt64: String] = [:]
        /// The names of bits.
        var bits: [Bits] = []

        init(_ name: String, _ kind: Kind) {
            self.name = name
            self.kind = kind
        }

        /// The same under another name, there under other conditions.
        func renamed(_ name: String, conditions: [Condition]) -> Field {
            var field = Field(name, kind)
            (field.unit, field.writtenUnit, field.isRepeated) = (unit, writtenUnit, isRepeated)
            (field.scale, field.range) = (scale, range)
            (field.specials, field.choices, field.bits) = (specials, choices, bits)
            field.conditions = conditions
            return field
        }
    }

    /// What a field's bytes are. Numbers are little-endian.
    enum Kind: Hashable, Sendable {
        /// An integer in so many bytes, of which only some bits count.
        case integer(bytes: Int, bits: Int, isSigned: Bool)
        /// An unsigned integer of some bits of the bytes that it shares with its neighbors, the least significant first.
        case bits(Int)
        /// IEEE 11073-20601, of 2 bytes or 4.
        case medFloat(bytes: Int)
        /// IEEE 754, of 4 bytes or 8.
        case float(bytes: Int)
        /// 1.1 to the power of a byte less 64.
        case timeExponential
        /// What a device looks like, two bytes.
        case appearance
        /// A byte or more of which the lowest bit is true or false.
        case boolean
        /// Bits with names; all bytes that are left, one or two, without a number of them.
        case flags(bytes: Int?)
        /// UTF-8; all bytes that are left, without a number of them.
        case text(bytes: Int?)
        /// UTF-8 up to a zero byte.
        case terminatedText
        /// UTF-16; all bytes that are left.
        case text16
        /// A UUID; all bytes that are left, 2 or 16, without a number of them.
        case uuid(bytes: Int?)
        /// All bytes that are left, without a number of them.
        case bytes(Int?)
        /// Fields of its own.
        case structure([Field])
    }

    /// What must be so for a field to be there. Fields are counted from 0, in one structure.
    enum Condition: Hashable, Sendable {
        case bit(field: Int, bit: Int, isSet: Bool)
        case equal(field: Int, UInt64)
        case unequal(field: Int, UInt64)
        case bytesLeft
    }

    /// A bit, or some that are a number together, and its name.
    struct Bits: Hashable, Sendable {
        let range: ClosedRange<Int>
        let name: String
        /// The names of the number's values.
        let choices: [UInt64: String]
    }
}
