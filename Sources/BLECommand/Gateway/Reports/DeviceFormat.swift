import BLE

/// A format of values that the configuration describes field by field, as a data sheet does.
struct DeviceFormat: Sendable {
    /// What in an advertisement has the format.
    enum Source: Hashable, Sendable {
        /// The manufacturer data of a company.
        case company(UInt16)
        /// The data of a service.
        case service(BluetoothUUID)
    }

    /// How a field is encoded.
    enum Coding: Equatable, Sendable {
        /// An integer of so many bytes, 1 to 4.
        case unsigned(Int)
        case signed(Int)
        /// A number of IEEE 754 in 4 bytes.
        case float
        /// A bit of a byte, from the lowest, 0, to 7.
        case bit(Int)

        /// The number of bytes.
        var count: Int {
            switch self {
            case .unsigned(let count), .signed(let count): count
            case .float: 4
            case .bit: 1
            }
        }
    }

    struct Field: Sendable {
        let name: String
        /// The position of its first byte, from 0.
        let position: Int
        let coding: Coding
        var scale = DecimalLine()
        var unit: String?
        /// The integers, as bits, that mean that the value is not known.
        var unknown: Set<UInt64> = []

        /// The bits that the field occupies.
        var bits: Range<Int> {
            if case .bit(let bit) = coding { return 8 * position + bit..<8 * position + bit + 1 }
            return 8 * position..<8 * (position + coding.count)
        }
    }

    /// Nil for a format of characteristics.
    var source: Source?
    /// The bytes that data of this format begins with. Other data has no fields.
    var start: [UInt8] = []
    /// The number of bytes that data of this format has. Nil for any number.
    var length: Int?
    var isBigEndian = false
    var fields: [Field] = []

    /// Returns the values in an advertisement.
    func fields(of advertisement: Advertisement) -> [DeviceField] {
        let data: [UInt8]? =
            switch source {
            case .company(let company): advertisement.manufacturerData[company]
            case .service(let service): advertisement.serviceData[service]
            case nil: nil
            }
        return data.map { fields(of: $0) } ?? []
    }

    /// Returns the values in data. A field that the data is too short for has none, and neither has one that is not
    /// known.
    func fields(of data: [UInt8]) -> [DeviceField] {
        guard data.starts(with: start), length.map({ $0 == data.count }) ?? true else { return [] }
        return fields.compactMap { field in
            guard field.position + field.coding.count <= data.count else { return nil }
            let bytes = data[field.position..<field.position + field.coding.count]
            let ordered = isBigEndian ? Array(bytes) : bytes.reversed()
            let bits = ordered.reduce(0) { $0 << 8 | UInt64($1) }
            return field.value(bits).map { DeviceField(name: field.name, value: $0, unit: field.unit) }
        }
    }
}

extension DeviceFormat.Field {
    fileprivate func value(_ bits: UInt64) -> DeviceField.Value? {
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
