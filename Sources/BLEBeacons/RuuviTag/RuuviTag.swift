public import BLE

/// The measurements of a RuuviTag (docs.ruuvi.com, data formats 3 and 5). A value is nil if it is not available.
public struct RuuviTag: Hashable, Codable, Sendable {
    /// The data format of a tag's advertisements.
    public enum DataFormat: UInt8, Hashable, Codable, Sendable {
        /// RAWv1, of older firmware.
        case rawV1 = 3
        /// RAWv2.
        case rawV2 = 5
    }

    /// The data format.
    public var format: DataFormat
    /// The temperature in °C. Format 5: −163.835 to 163.835 in steps of 0.005. Format 3: −127.99 to 127.99 in steps of
    /// 0.01, never nil.
    public var temperatureCelsius: Double?
    /// The relative humidity in %. Format 5: 0 to 163.835 in steps of 0.0025. Format 3: 0 to 127.5 in steps of 0.5,
    /// never nil.
    public var humidityPercent: Double?
    /// The pressure in Pa. Format 5: 50000 to 115534. Format 3: 50000 to 115535, never nil.
    public var pressurePascals: Int?
    /// The acceleration along three axes in mg, each −32767 to 32767. Format 3: never nil.
    public var accelerationMilligravities: Acceleration
    /// The battery voltage in mV. Format 5: 1600 to 3646. Format 3: 0 to 65535, never nil.
    public var batteryMillivolts: Int?
    /// The transmit power in dBm, an even number from −40 to 20. Format 5 only.
    public var txPower: Int?
    /// The number of movements, 0 to 254, after which it begins again at 0. Format 5 only.
    public var movementCount: Int?
    /// The number of the measurement, 0 to 65534, after which it begins again at 0. Format 5 only.
    public var sequenceNumber: Int?
    /// The tag's address, 6 bytes, most significant first. Format 5 only.
    public var address: [UInt8]?

    /// The acceleration along three axes, in mg. Nil if the value of an axis is not available.
    public struct Acceleration: Hashable, Codable, Sendable {
        /// The acceleration along the x axis.
        public var x: Int?
        /// The acceleration along the y axis.
        public var y: Int?
        /// The acceleration along the z axis.
        public var z: Int?

        /// Creates an acceleration.
        public init(x: Int? = nil, y: Int? = nil, z: Int? = nil) {
            self.x = x
            self.y = y
            self.z = z
        }
    }

    /// Creates measurements. Values are not available by default.
    public init(
        format: DataFormat = .rawV2, temperatureCelsius: Double? = nil, humidityPercent: Double? = nil,
        pressurePascals: Int? = nil,
        accelerationMilligravities: Acceleration = Acceleration(), batteryMillivolts: Int? = nil, txPower: Int? = nil,
        movementCount: Int? = nil, sequenceNumber: Int? = nil, address: [UInt8]? = nil
    ) {
        self.format = format
        self.temperatureCelsius = temperatureCelsius
        self.humidityPercent = humidityPercent
        self.pressurePascals = pressurePascals
        self.accelerationMilligravities = accelerationMilligravities
        self.batteryMillivolts = batteryMillivolts
        self.txPower = txPower
        self.movementCount = movementCount
        self.sequenceNumber = sequenceNumber
        self.address = address
    }

    static let company: UInt16 = 0x0499

    static func error(_ reason: AdvertisementFormatError.Reason) -> AdvertisementFormatError {
        AdvertisementFormatError("RuuviTag", reason)
    }

    /// Checks that a number is in `range`.
    static func check(_ value: Int, _ range: ClosedRange<Int>, _ field: String) throws(AdvertisementFormatError) -> Int
    {
        guard range.contains(value) else { throw error(.invalidValue(field: field)) }
        return value
    }

    /// Converts `value` to steps of 1/`scale`, and checks that the result is in `range`.
    static func check(
        _ value: Double, _ scale: Double, _ range: ClosedRange<Int>, _ field: String
    ) throws(AdvertisementFormatError) -> Int {
        guard let scaled = value.scaled(scale, range) else { throw error(.invalidValue(field: field)) }
        return scaled
    }
}

extension RuuviTag: AdvertisementDecodable, AdvertisementEncodable {
    /// Decodes the measurements in Ruuvi's manufacturer data. Returns nil if there are none. Throws
    /// `unsupportedVersion` for data formats other than 3 and 5, `invalidLength` unless format 3 has 14 bytes and
    /// format 5 has 24, and `invalidValue` for numbers that are not valid in format 3.
    public static func decode(_ advertisement: Advertisement) throws(AdvertisementFormatError) -> RuuviTag? {
        guard let data = advertisement.data(ofCompany: company) else { return nil }
        guard let version = data.first else { throw error(.invalidLength(0)) }
        guard let format = DataFormat(rawValue: version) else { throw error(.unsupportedVersion(Int(version))) }
        guard data.count == (format == .rawV1 ? 14 : 24) else { throw error(.invalidLength(data.count)) }
        var reader = BigEndianReader(data.dropFirst())
        return switch format {
        case .rawV1: try RuuviTag(rawV1: &reader)
        case .rawV2: RuuviTag(rawV2: &reader)
        }
    }

    /// Sets Ruuvi's manufacturer data. Throws `invalidValue` for a value that is out of the format's range or not part
    /// of the format, and for a missing value that format 3 requires.
    public func encode(into advertisement: inout Advertisement) throws(AdvertisementFormatError) {
        let fields =
            switch format {
            case .rawV1: try encodeRawV1()
            case .rawV2: try encodeRawV2()
            }
        advertisement.manufacturerData[Self.company] = [format.rawValue] + fields
    }
}
