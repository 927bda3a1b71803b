public import BLE

extension BluetoothUUID {
    /// The Weight Scale service.
    public static let weightScale = BluetoothUUID(0x181D)
}

/// The Weight Scale service (Weight Scale Service 1.0).
public struct WeightScale: Profile {
    /// 0x181D.
    public static let serviceUUID = BluetoothUUID.weightScale
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the measurements from now on, each of which is confirmed to the scale. The scale first sends stored
    /// measurements. Keeps the newest 256 unread measurements.
    public func measurements() async throws(BLEError) -> NotificationStream<WeightMeasurement> {
        try await service.notifications(.weightMeasurement)
    }

    /// Returns the features of the scale.
    public func feature() async throws(BLEError) -> WeightScaleFeature {
        try await service.read(.weightScaleFeature)
    }
}

extension Characteristic where Value == WeightMeasurement {
    /// A measurement, which the scale indicates (section 3.2).
    public static var weightMeasurement: Self { Characteristic(BluetoothUUID(0x2A9D), service: .weightScale) }
}

extension Characteristic where Value == WeightScaleFeature {
    /// The features of the scale (section 3.1).
    public static var weightScaleFeature: Self { Characteristic(BluetoothUUID(0x2A9E), service: .weightScale) }
}

/// The features of a scale (section 3.1).
public struct WeightScaleFeature: OptionSet, Hashable, Codable, ValueCodable {
    /// The bits.
    public let rawValue: UInt32
    /// Creates a set from its bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Creates features with the given resolutions.
    public init(
        _ features: WeightScaleFeature, massResolution: MassResolution, heightResolution: HeightResolution
    ) {
        rawValue =
            features.rawValue & 0x7 | UInt32(massResolution.rawValue & 0xF) << 3
            | UInt32(heightResolution.rawValue & 0x7) << 7
    }

    /// The time of the measurement.
    public static let timeStamp = WeightScaleFeature(rawValue: 0x0001)
    /// The user that was measured.
    public static let multipleUsers = WeightScaleFeature(rawValue: 0x0002)
    /// The body mass index.
    public static let bodyMassIndex = WeightScaleFeature(rawValue: 0x0004)

    /// The resolution of masses.
    public var massResolution: MassResolution { MassResolution(rawValue: UInt8(rawValue >> 3 & 0xF)) }
    /// The resolution of heights.
    public var heightResolution: HeightResolution { HeightResolution(rawValue: UInt8(rawValue >> 7 & 0x7)) }
}

extension WeightScaleFeature: NamedConstants {
    static let names = bits("timeStamp", "multipleUsers", "bodyMassIndex")
}

/// A measurement of a scale (section 3.2).
public struct WeightMeasurement: Hashable, Codable, ValueCodable {
    /// The weight in kilograms or pounds. Nil if the measurement failed.
    public var weight: Double?
    /// The units of weight and height.
    public var units: MeasurementSystem
    /// The time of the measurement. Nil if not sent.
    public var timeStamp: DateTime?
    /// The user that was measured. Nil if not sent.
    public var user: UserIndex?
    /// The body mass index and the height. Nil if not sent.
    public var proportion: Proportion?

    /// Creates a measurement.
    public init(
        weight: Double?, units: MeasurementSystem = .metric, timeStamp: DateTime? = nil, user: UserIndex? = nil,
        proportion: Proportion? = nil
    ) {
        self.weight = weight
        self.units = units
        self.timeStamp = timeStamp
        self.user = user
        self.proportion = proportion
    }

    /// Body mass index and height.
    public struct Proportion: Hashable, Codable, Sendable {
        /// The weight in kilograms divided by the square of the height in meters, in steps of 0.1.
        public var bodyMassIndex: Double
        /// The height in meters or inches, depending on the measurement's units.
        public var height: Double

        /// Body mass index and height.
        public init(bodyMassIndex: Double, height: Double) {
            self.bodyMassIndex = bodyMassIndex
            self.height = height
        }
    }

    /// The weight in kilograms. Nil if the measurement failed.
    public var kilograms: Double? { weight.map(units.kilograms) }

    /// Decodes a flag byte, the weight, and the fields that the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: Flags = try reader.raw()
        units = flags.contains(.imperial) ? .imperial : .metric
        let steps = try reader.uint16()
        weight = steps == .max ? nil : Double(steps) / units.massSteps
        timeStamp = flags.contains(.timeStamp) ? try DateTime(from: &reader) : nil
        user = flags.contains(.user) ? try reader.raw() : nil
        guard flags.contains(.proportion) else { return }
        let bodyMassIndex = Double(try reader.uint16()) / 10
        proportion = Proportion(bodyMassIndex: bodyMassIndex, height: Double(try reader.uint16()) / units.heightSteps)
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        var flags: Flags = units == .imperial ? .imperial : []
        if timeStamp != nil { flags.insert(.timeStamp) }
        if user != nil { flags.insert(.user) }
        if proportion != nil { flags.insert(.proportion) }
        writer.raw(flags)
        try writer.unlessUnsuccessful(weight, steps: units.massSteps)
        try timeStamp?.encode(into: &writer)
        if let user { writer.raw(user) }
        if let proportion {
            try writer.rounded(proportion.bodyMassIndex * 10, .uint16)
            try writer.rounded(proportion.height * units.heightSteps, .uint16)
        }
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let imperial = Flags(rawValue: 0x01)
        static let timeStamp = Flags(rawValue: 0x02)
        static let user = Flags(rawValue: 0x04)
        static let proportion = Flags(rawValue: 0x08)
    }
}

extension ValueWriter {
    /// Encodes a number in two bytes, with 0xFFFF for a failed measurement.
    mutating func unlessUnsuccessful(_ value: Double?, steps: Double) throws(BLEError) {
        guard let value else { return uint16(.max) }
        guard (value * steps).rounded() != 65535 else {
            throw BLEError(.invalidValue, "\(value) cannot be encoded: its number means a failed measurement")
        }
        try rounded(value * steps, .uint16)
    }
}
