public import BLE

/// The source of a device's time (Current Time Service 1.1, section 3.3).
public struct ReferenceTimeInformation: Hashable, ValueCodable {
    /// The source.
    public var source: TimeSource
    /// The maximum deviation of the clock in seconds, 0 to 31.625, in steps of 1/8. Infinite if it is larger, nil if
    /// unknown.
    public var accuracySeconds: Double?
    /// The hours since the last update from the source, 0 to 6119. Nil for 255 days or more.
    public var hoursSinceUpdate: Int?

    /// Creates the information.
    public init(source: TimeSource, accuracySeconds: Double? = nil, hoursSinceUpdate: Int?) {
        self.source = source
        self.accuracySeconds = accuracySeconds
        self.hoursSinceUpdate = hoursSinceUpdate
    }

    /// Decodes four bytes: the source, the accuracy, days and hours. Days or hours of 255 mean 255 days or more.
    public init(from reader: inout ValueReader) throws(BLEError) {
        source = try reader.raw()
        accuracySeconds =
            switch try reader.uint8() {
            case 255: nil
            case 254: .infinity
            case let eighths: Double(eighths) / 8
            }
        let days = Int(try reader.uint8())
        let hours = Int(try reader.uint8())
        guard days != 255, hours != 255 else { return }
        guard hours <= 23 else { throw reader.invalid("\(hours) hours are not in the range 0 to 23") }
        hoursSinceUpdate = days * 24 + hours
    }

    /// Encodes four bytes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.raw(source)
        switch accuracySeconds {
        case nil: writer.uint8(255)
        case .infinity: writer.uint8(254)
        case let seconds?:
            guard 0...31.625 ~= seconds else {
                throw BLEError(.invalidValue, "an accuracy of \(seconds) s is not in the range 0 to 31.625")
            }
            try writer.rounded(seconds * 8, .uint8)
        }
        guard let hoursSinceUpdate else { return writer.bytes([255, 255]) }
        guard 0..<255 * 24 ~= hoursSinceUpdate else {
            throw BLEError(.invalidValue, "\(hoursSinceUpdate) hours are not in the range 0 to 6119")
        }
        try writer.integer(hoursSinceUpdate / 24, .uint8)
        try writer.integer(hoursSinceUpdate % 24, .uint8)
    }
}

/// A source of time (GATT Specification Supplement, Time Source). Other numbers are reserved.
public struct TimeSource: RawRepresentable, Hashable, Codable, ValueCodable {
    /// The number.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Unknown, or another source.
    public static let unknown = TimeSource(rawValue: 0)
    /// The Network Time Protocol.
    public static let networkTimeProtocol = TimeSource(rawValue: 1)
    /// GPS.
    public static let gps = TimeSource(rawValue: 2)
    /// A radio time signal.
    public static let radioTimeSignal = TimeSource(rawValue: 3)
    /// A person who set the clock.
    public static let manual = TimeSource(rawValue: 4)
    /// An atomic clock.
    public static let atomicClock = TimeSource(rawValue: 5)
    /// A mobile network.
    public static let cellularNetwork = TimeSource(rawValue: 6)
    /// No source. The clock is not synchronized.
    public static let notSynchronized = TimeSource(rawValue: 7)
}

extension TimeSource: NamedConstants {
    static let names = consecutive(
        "unknown", "networkTimeProtocol", "gps", "radioTimeSignal", "manual", "atomicClock", "cellularNetwork",
        "notSynchronized")
}

/// Stored and sent as an object with the names of the properties. An infinite accuracy is the text `infinity`.
extension ReferenceTimeInformation: Codable {
    private enum CodingKeys: CodingKey {
        case source, accuracySeconds, hoursSinceUpdate
    }

    /// Reads the information.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let isInfinite = (try? container.decode(String.self, forKey: .accuracySeconds)) == "infinity"
        self.init(
            source: try container.decode(TimeSource.self, forKey: .source),
            accuracySeconds: isInfinite
                ? .infinity : try container.decodeIfPresent(Double.self, forKey: .accuracySeconds),
            hoursSinceUpdate: try container.decodeIfPresent(Int.self, forKey: .hoursSinceUpdate))
    }

    /// Writes the information.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(source, forKey: .source)
        if accuracySeconds == .infinity {
            try container.encode("infinity", forKey: .accuracySeconds)
        } else {
            try container.encodeIfPresent(accuracySeconds, forKey: .accuracySeconds)
        }
        try container.encodeIfPresent(hoursSinceUpdate, forKey: .hoursSinceUpdate)
    }
}
