public import BLE

extension ValueFormat {
    /// A field of a value.
    public struct Field: Hashable, Sendable {
        /// The name, as published by the SIG. Empty for the only field of a format that a descriptor describes.
        public let name: String
        /// The unit. Nil if the field has none, or if the unit has no assigned number.
        public internal(set) var unit: BluetoothUUID?
        /// The symbol of a unit that has no assigned number.
        var writtenUnit: String?

        var kind: Kind
        /// Whether the field is repeated up to the end of the bytes.
        var isRepeated = false
        /// The conditions under which the field is present. All must be met.
        var conditions: [Condition] = []
        var scale = DecimalScale()
        /// The numbers that are allowed, in addition to special values. Nil for any number.
        var range: ClosedRange<Int64>?
        /// The names of special values, by their bits.
        var specials: [UInt64: String] = [:]
        /// The names of numbers that are not quantities. Empty for quantities.
        var choices: [UInt64: String] = [:]
        /// The names of bits.
        var bits: [Bits] = []

        init(_ name: String, _ kind: Kind) {
            self.name = name
            self.kind = kind
        }

        /// Returns the same field with another name and other conditions.
        func renamed(_ name: String, conditions: [Condition]) -> Field {
            var field = Field(name, kind)
            (field.unit, field.writtenUnit, field.isRepeated) = (unit, writtenUnit, isRepeated)
            (field.scale, field.range) = (scale, range)
            (field.specials, field.choices, field.bits) = (specials, choices, bits)
            field.conditions = conditions
            return field
        }
    }

    /// The encoding of a field. Numbers are little-endian.
    enum Kind: Hashable, Sendable {
        /// An integer in the given number of bytes, of which only some bits are used.
        case integer(bytes: Int, bits: Int, isSigned: Bool)
        /// An unsigned integer with the given number of bits, which shares bytes with its neighbors. Starts at the
        /// lowest bit.
        case bits(Int)
        /// A number of IEEE 11073-20601, of 2 or 4 bytes.
        case medFloat(bytes: Int)
        /// A number of IEEE 754, of 4 or 8 bytes.
        case float(bytes: Int)
        /// A byte n for the number 1.1 to the power of n − 64.
        case timeExponential
        /// The external appearance of a device, two bytes.
        case appearance
        /// A byte whose lowest bit is true or false.
        case boolean
        /// Bits with names. If `bytes` is nil, all remaining bytes, one or two.
        case flags(bytes: Int?)
        /// UTF-8. If `bytes` is nil, all remaining bytes.
        case text(bytes: Int?)
        /// UTF-8 up to a zero byte.
        case terminatedText
        /// UTF-16, all remaining bytes.
        case text16
        /// A UUID. If `bytes` is nil, all remaining bytes, 2 or 16.
        case uuid(bytes: Int?)
        /// Bytes. If their number is nil, all remaining bytes.
        case bytes(Int?)
        /// A structure of fields.
        case structure([Field])
    }

    /// A condition under which a field is present. Fields are counted from 0 in their structure.
    enum Condition: Hashable, Sendable {
        case bit(field: Int, bit: Int, isSet: Bool)
        case equal(field: Int, UInt64)
        case unequal(field: Int, UInt64)
        case bytesLeft
    }

    /// A bit, or several bits that form a number, and its name.
    struct Bits: Hashable, Sendable {
        let range: ClosedRange<Int>
        let name: String
        /// The names of the number's values.
        let choices: [UInt64: String]
    }
}
