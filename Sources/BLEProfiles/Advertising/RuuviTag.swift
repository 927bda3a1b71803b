public import BLE

/// What a RuuviTag measures (docs.ruuvi.com, data formats 3 and 5). What a tag cannot tell is nil.
public struct RuuviTag: Hashable, Sendable {
    /// How the tag sends it.
    public enum DataFormat: UInt8, Hashable, Sendable {
        /// RAWv1, of older firmware.
        case rawV1 = 3
        /// RAWv2.
        case rawV2 = 5
    }

    /// How it is sent.
    public var format: DataFormat
    /// In °C. Format 5: −163.835 to 163.835 in steps of 0.005. Format 3: −127.99 to 127.99 in steps of 0.01, always told.
    public var temperature: Double?
    /// Relative, in %. Format 5: 0 to 163.835 in steps of 0.0025. Format 3: 0 to 127.5 in steps of 0.5, always told.
    public var humidity: Double?
    /// In Pa, 50000 to 115534. Format 3: to 115535, always told.
    public var pressure: Int?
    /// Along three axes in mg, each −32767 to 32767. Format 3: always told.
    public var acceleration: Acceleration
    /// Of the battery, in mV, 1600 to 3646. Format 3: 0 to 65535, always told.
    public var voltage: Int?
    /// In dBm, −40 to 20, even. Format 5 only.
    public var txPower: Int?
    /// How often the tag was moved, 0 to 254, and then from 0 again. Format 5 only.
    public var movementCount: Int?
    /// The number of the measurement, 0 to 65534, and then from 0 again. Format 5 only.
    public var sequenceNumber: Int?
    /// The tag's address, 6 bytes, the most significant first. Format 5 only.
    public var address: [UInt8]?

    /// Acceleration along three axes, in mg; nil along an axis for which the tag cannot tell.
    public struct Acceleration: Hashable, Sendable {
        /// Along the x axis.
        public var x: Int?
        /// Along the y axis.
        public var y: Int?
        /// Along the z axis.
        public var z: Int?

        /// Along three axes.
        public init(x: Int? = nil, y: Int? = nil, z: Int? = nil) {
            self.x = x
            self.y = y
            self.z = z
        }
    }

    /// Measurements, none unless given.
    public init(
        format: DataFormat = .rawV2, temperature: Double? = nil, humidity: Double? = nil, pressure: Int? = nil,
        acceleration: Acceleration = Acceleration(), voltage: Int? = nil, txPower: Int? = nil,
        movementCount: Int? = nil, sequenceNumber: Int? = nil, address: [UInt8]? = nil
    ) {
        self.format = format
        self.temperature = temperature
        self.humidity = humidity
        self.pressure = pressure
        self.acceleration = acceleration
        self.voltage = voltage
        self.txPower = txPower
        self.movementCount = movementCount
        self.sequenceNumber = sequenceNumber
        self.address = address
    }

    private static let company: UInt16 = 0x0499

    static func error(_ reason: AdvertisementFormatError.Reason) -> AdvertisementFormatError {
        AdvertisementFormatError("RuuviTag", reason)
    }

    /// A whole number in `range`.
    static func check(_ value: Int, _ range: ClosedRange<Int>, _ field: String) throws(AdvertisementFormatError) -> Int
    {
        guard range.contains(value) else { throw error(.invalidValue(field: field)) }
        return value
    }

    /// `value` in steps of 1/`scale`, a number in `range`.
    static func check(
        _ value: Double, _ scale: Double, _ range: ClosedRange<Int>, _ field: String
    ) throws(AdvertisementFormatError) -> Int {
        guard let scaled = value.scaled(scale, range) else { throw error(.invalidValue(field: field)) }
        return scaled
    }
}

extension RuuviTag: AdvertisementDecodable, AdvertisementEncodable {
    /// The measurements in Ruuvi's manufacturer data; nil when there is none. Throws `unsupportedVersion` for other data formats
    /// than 3 and 5, `invalidLength` unless these have 14 and 24 bytes, `invalidValue` for what format 3 has no number for.
    public static func decode(_ advertisement: Advertisement) throws(AdvertisementFormatError) -> RuuviTag? {
        guard let data = advertisement.manufacturerData[company] else { return nil }
        guard let version = data.first else { throw error(.invalidLength(0)) }
        guard let format = DataFormat(rawValue: version) else { throw error(.unsupportedVersion(Int(version))) }
        guard data.count == (format == .rawV1 ? 14 : 24) else { throw error(.invalidLength(data.count)) }
        var reader = BigEndianReader(data.dropFirst())
        return switch format {
        case .rawV1: try RuuviTag(rawV1: &reader)
        case .rawV2: RuuviTag(rawV2: &reader)
        }
    }

    /// Sets Ruuvi's manufacturer data. Throws `invalidValue` for a value out of the format's range, for one that it has no room
    /// for, and for one that is missing and that format 3 always tells.
    public func encode(into advertisement: inout Advertisement) throws(AdvertisementFormatError) {
        let fields =
            switch format {
            case .rawV1: try encodeRawV1()
            case .rawV2: try encodeRawV2()
            }
        advertisement.manufacturerData[Self.company] = [format.rawValue] + fields
    }
}
