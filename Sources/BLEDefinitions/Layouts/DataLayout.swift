public import BLE

/// A layout of data, described field by field as in a data sheet: of what a company or a service advertises, or of the
/// values of a characteristic.
///
/// ``VendorDefinition`` reads layouts from JSON.
public struct DataLayout: Sendable {
    /// How a field is encoded.
    package enum Coding: Equatable, Sendable {
        /// An integer of so many bytes, 1 to 4.
        case unsigned(Int)
        case signed(Int)
        /// A number of IEEE 754 in 4 bytes.
        case float
        /// A bit of a byte, from the lowest, 0, to 7.
        case bit(Int)

        /// The number of bytes.
        package var count: Int {
            switch self {
            case .unsigned(let count), .signed(let count): count
            case .float: 4
            case .bit: 1
            }
        }
    }

    package struct Field: Sendable {
        package let name: String
        /// The position of its first byte, from 0.
        package let position: Int
        package let coding: Coding
        package var scale = DecimalLine()
        package var unit: String?
        /// The integers, as bits, that mean that the value is not known.
        package var unknown: Set<UInt64> = []

        /// The bits that the field occupies.
        package var bits: Range<Int> {
            if case .bit(let bit) = coding { return 8 * position + bit..<8 * position + bit + 1 }
            return 8 * position..<8 * (position + coding.count)
        }
    }

    /// The data of an advertisement that has the layout. Nil for a layout of characteristics.
    public internal(set) var source: AdvertisementFormat.DataSource?
    /// The bytes that data of this layout begins with. Other data has no readings.
    package var start: [UInt8] = []
    /// The number of bytes that data of this layout has. Nil for any number.
    package var length: Int?
    package var isBigEndian = false
    package var fields: [Field] = []

    /// Returns the readings in an advertisement.
    public func readings(in advertisement: Advertisement) -> [SensorReading] {
        source?.data(in: advertisement).map { readings(in: $0) } ?? []
    }

    /// Returns the readings in data. A field that the data is too short for has none, and neither has one that is not
    /// known.
    public func readings(in data: [UInt8]) -> [SensorReading] {
        guard matches(data) else { return [] }
        return fields.compactMap { field in
            guard let value = bits(of: field, in: data).flatMap(field.value) else { return nil }
            return SensorReading(name: field.name, value: value, unit: field.unit)
        }
    }
}

extension DataLayout {
    /// Whether data has the beginning and the length.
    func matches(_ data: [UInt8]) -> Bool { data.starts(with: start) && length.map { $0 == data.count } ?? true }

    /// Returns the bytes of a field as a number. Nil if the data is too short for it.
    func bits(of field: Field, in data: [UInt8]) -> UInt64? {
        guard field.position + field.coding.count <= data.count else { return nil }
        let bytes = data[field.position..<field.position + field.coding.count]
        let ordered = isBigEndian ? Array(bytes) : bytes.reversed()
        return ordered.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The layout as a format of advertising data. Nil for a layout of characteristics.
    ///
    /// - Parameter name: the name of the format.
    public func advertisementFormat(named name: String) -> AdvertisementFormat? {
        source.map { source in
            AdvertisementFormat(AdvertisementFormat.Description(name, source)) { advertisement in
                guard let data = source.data(in: advertisement), matches(data) else { return nil }
                return readings(in: data)
            }
        }
    }
}

extension DataLayout.Field {
    /// Returns the value that bits mean. Nil if they mean that it is not known.
    func value(_ bits: UInt64) -> SensorReading.Value? {
        guard !unknown.contains(bits) else { return nil }
        switch coding {
        case .unsigned: return .number(scale(Int64(bits)))
        case .signed(let count):
            let unused = 64 - 8 * count
            return .number(scale(Int64(bitPattern: bits << unused) >> unused))
        case .float:
            let number = Float(bitPattern: UInt32(truncatingIfNeeded: bits))
            guard number.isFinite else { return nil }
            // The shortest decimal number with these bits: 21.3 instead of 21.299999.
            return .number(scale(Double("\(number)") ?? Double(number)))
        case .bit(let bit): return .flag(bits >> UInt64(bit) & 1 == 1)
        }
    }
}
