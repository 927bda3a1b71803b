/// The presentation of a characteristic's value: the Characteristic Presentation Format descriptor, 0x2904 (Core
/// Specification 5.4, volume 3, part G, section 3.3.3.5).
///
/// A value of a fixed-point format is the integer times ten to the power of ``exponent``, in ``unit``.
public struct PresentationFormat: Hashable, Codable, Sendable {
    /// The type of a value (Assigned Numbers, section 2.4.1). There are more types than the constants here.
    public struct Format: RawRepresentable, Hashable, Codable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Creates an instance from its number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// One bit: true or false.
        public static let boolean = Format(rawValue: 0x01)
        /// An unsigned integer of 8 bits.
        public static let uint8 = Format(rawValue: 0x04)
        /// An unsigned integer of 16 bits.
        public static let uint16 = Format(rawValue: 0x06)
        /// An unsigned integer of 24 bits.
        public static let uint24 = Format(rawValue: 0x07)
        /// An unsigned integer of 32 bits.
        public static let uint32 = Format(rawValue: 0x08)
        /// An unsigned integer of 48 bits.
        public static let uint48 = Format(rawValue: 0x09)
        /// An unsigned integer of 64 bits.
        public static let uint64 = Format(rawValue: 0x0A)
        /// A signed integer of 8 bits.
        public static let sint8 = Format(rawValue: 0x0C)
        /// A signed integer of 16 bits.
        public static let sint16 = Format(rawValue: 0x0E)
        /// A signed integer of 24 bits.
        public static let sint24 = Format(rawValue: 0x0F)
        /// A signed integer of 32 bits.
        public static let sint32 = Format(rawValue: 0x10)
        /// A signed integer of 64 bits.
        public static let sint64 = Format(rawValue: 0x12)
        /// A floating point number of 32 bits (IEEE 754).
        public static let float32 = Format(rawValue: 0x14)
        /// A floating point number of 64 bits (IEEE 754).
        public static let float64 = Format(rawValue: 0x15)
        /// A decimal number of 16 bits, SFLOAT (IEEE 11073-20601).
        public static let medfloat16 = Format(rawValue: 0x16)
        /// A decimal number of 32 bits, FLOAT (IEEE 11073-20601).
        public static let medfloat32 = Format(rawValue: 0x17)
        /// Text in UTF-8.
        public static let utf8 = Format(rawValue: 0x19)
        /// Text in UTF-16.
        public static let utf16 = Format(rawValue: 0x1A)
        /// A structure without a standard format.
        public static let opaque = Format(rawValue: 0x1B)
    }

    /// The namespace that defines the numbers of ``description``.
    public struct Namespace: RawRepresentable, Hashable, Codable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Creates an instance from its number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The namespace of the Bluetooth SIG.
        public static let bluetoothSIG = Namespace(rawValue: 0x01)
    }

    /// The value's type.
    public var format: Format
    /// The power of ten, for fixed-point formats.
    public var exponent: Int8
    /// The unit, such as 0x272F for degrees Celsius, 0x2700 for none (Assigned Numbers, section 3.5).
    public var unit: BluetoothUUID
    /// The namespace that defines the numbers of ``description``.
    public var namespace: Namespace
    /// Distinguishes the value if the peripheral has several of a kind.
    public var description: Description

    /// Creates a format.
    public init(
        format: Format, exponent: Int8 = 0, unit: BluetoothUUID = BluetoothUUID(0x2700),
        namespace: Namespace = .bluetoothSIG, description: Description = .unknown
    ) {
        self.format = format
        self.exponent = exponent
        self.unit = unit
        self.namespace = namespace
        self.description = description
    }
}

extension PresentationFormat: ValueCodable {
    /// Decodes the 7 bytes of a descriptor.
    public init(from reader: inout ValueReader) throws(BLEError) {
        self.init(
            format: try reader.raw(), exponent: try reader.int8(), unit: BluetoothUUID(UInt32(try reader.uint16())),
            namespace: try reader.raw(), description: try reader.raw())
    }

    /// Encodes the 7 bytes of a descriptor. A unit without a 16-bit form becomes 0x2700, unitless.
    public func encode(into writer: inout ValueWriter) {
        writer.raw(format)
        writer.integer(exponent)
        writer.uint16(unit.short ?? 0x2700)
        writer.raw(namespace)
        writer.raw(description)
    }

    /// The 7 bytes of a descriptor.
    public var bytes: [UInt8] {
        var writer = ValueWriter()
        encode(into: &writer)
        return writer.bytes
    }

    /// Always true: additional bytes are ignored.
    public static var ignoresTrailingBytes: Bool { true }
}
