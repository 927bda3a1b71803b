public import BLE

extension BluetoothUUID {
    /// The Body Composition service.
    public static let bodyComposition = BluetoothUUID(0x181B)
}

/// The Body Composition service (Body Composition Service 1.0).
public struct BodyComposition: Profile {
    /// 0x181B.
    public static let serviceUUID = BluetoothUUID.bodyComposition
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the measurements from now on. Measurements in two parts are merged. Each part is confirmed to the
    /// device, which first sends stored measurements. Keeps the newest 256 unread parts.
    public func measurements() async throws(BLEError) -> BodyCompositionMeasurements {
        BodyCompositionMeasurements(try await service.notifications(.bodyCompositionMeasurement))
    }

    /// Returns the features of the device.
    public func feature() async throws(BLEError) -> BodyCompositionFeature {
        try await service.read(.bodyCompositionFeature)
    }
}

extension Characteristic where Value == BodyCompositionMeasurement {
    /// A measurement or a part of one, which the device indicates (section 3.2).
    public static var bodyCompositionMeasurement: Self {
        Characteristic(BluetoothUUID(0x2A9C), service: .bodyComposition)
    }
}

extension Characteristic where Value == BodyCompositionFeature {
    /// The features of the device (section 3.1).
    public static var bodyCompositionFeature: Self { Characteristic(BluetoothUUID(0x2A9B), service: .bodyComposition) }
}

/// The features of a body composition analyzer (section 3.1).
public struct BodyCompositionFeature: OptionSet, Hashable, Codable, ValueCodable {
    /// The bits.
    public let rawValue: UInt32
    /// Creates a set from its bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Creates features with the given resolutions.
    public init(
        _ features: BodyCompositionFeature, massResolution: MassResolution, heightResolution: HeightResolution
    ) {
        rawValue =
            features.rawValue & 0x7FF | UInt32(massResolution.rawValue & 0xF) << 11
            | UInt32(heightResolution.rawValue & 0x7) << 15
    }

    /// The time of the measurement.
    public static let timeStamp = BodyCompositionFeature(rawValue: 0x0001)
    /// The user that was measured.
    public static let multipleUsers = BodyCompositionFeature(rawValue: 0x0002)
    /// The basal metabolism, which is the energy spent at rest.
    public static let basalMetabolism = BodyCompositionFeature(rawValue: 0x0004)
    /// The percentage of muscle.
    public static let musclePercentage = BodyCompositionFeature(rawValue: 0x0008)
    /// The muscle mass.
    public static let muscleMass = BodyCompositionFeature(rawValue: 0x0010)
    /// The fat-free mass.
    public static let fatFreeMass = BodyCompositionFeature(rawValue: 0x0020)
    /// The soft lean mass, which excludes fat and bones.
    public static let softLeanMass = BodyCompositionFeature(rawValue: 0x0040)
    /// The body water mass.
    public static let bodyWaterMass = BodyCompositionFeature(rawValue: 0x0080)
    /// The impedance.
    public static let impedance = BodyCompositionFeature(rawValue: 0x0100)
    /// The weight.
    public static let weight = BodyCompositionFeature(rawValue: 0x0200)
    /// The height.
    public static let height = BodyCompositionFeature(rawValue: 0x0400)

    /// The resolution of masses.
    public var massResolution: MassResolution { MassResolution(rawValue: UInt8(rawValue >> 11 & 0xF)) }
    /// The resolution of heights.
    public var heightResolution: HeightResolution { HeightResolution(rawValue: UInt8(rawValue >> 15 & 0x7)) }
}

extension BodyCompositionFeature: NamedConstants {
    static let names = bits(
        "timeStamp", "multipleUsers", "basalMetabolism", "musclePercentage", "muscleMass", "fatFreeMass",
        "softLeanMass", "bodyWaterMass", "impedance", "weight", "height")
}
