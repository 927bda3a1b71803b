public import BLE

extension BluetoothUUID {
    /// The Body Composition service.
    public static let bodyComposition = BluetoothUUID(0x181B)
}

/// The Body Composition service (Body Composition Service 1.0).
public struct BodyComposition: Profile {
    /// 0x181B.
    public static let serviceUUID = BluetoothUUID.bodyComposition
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// The measurements from now on, made whole where they come in two parts; each is confirmed to the device, which sends what it has
    /// stored first. Keeps the newest 256 parts that are not read yet.
    public func measurements() async throws(BLEError) -> BodyCompositionMeasurements {
        BodyCompositionMeasurements(try await service.notifications(.bodyCompositionMeasurement))
    }

    /// What the device can tell.
    public func feature() async throws(BLEError) -> BodyCompositionFeature {
        try await service.read(.bodyCompositionFeature)
    }
}

extension Characteristic where Value == BodyCompositionMeasurement {
    /// A measurement or a part of one, indicated (section 3.2).
    public static var bodyCompositionMeasurement: Self {
        Characteristic(BluetoothUUID(0x2A9C), service: .bodyComposition)
    }
}

extension Characteristic where Value == BodyCompositionFeature {
    /// What the device can tell (section 3.1).
    public static var bodyCompositionFeature: Self { Characteristic(BluetoothUUID(0x2A9B), service: .bodyComposition) }
}

/// What a body composition analyzer can tell (section 3.1).
public struct BodyCompositionFeature: OptionSet, Hashable, ValueCodable {
    /// The bits.
    public let rawValue: UInt32
    /// Any bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// These features, told so finely.
    public init(
        _ features: BodyCompositionFeature, massResolution: MassResolution, heightResolution: HeightResolution
    ) {
        rawValue =
            features.rawValue & 0x7FF | UInt32(massResolution.rawValue & 0xF) << 11
            | UInt32(heightResolution.rawValue & 0x7) << 15
    }

    /// When it measured.
    public static let timeStamp = BodyCompositionFeature(rawValue: 0x0001)
    /// Whom it measured.
    public static let multipleUsers = BodyCompositionFeature(rawValue: 0x0002)
    /// The energy spent at rest.
    public static let basalMetabolism = BodyCompositionFeature(rawValue: 0x0004)
    /// The share of muscles.
    public static let musclePercentage = BodyCompositionFeature(rawValue: 0x0008)
    /// The mass of muscles.
    public static let muscleMass = BodyCompositionFeature(rawValue: 0x0010)
    /// The mass without fat.
    public static let fatFreeMass = BodyCompositionFeature(rawValue: 0x0020)
    /// The mass without fat and bones.
    public static let softLeanMass = BodyCompositionFeature(rawValue: 0x0040)
    /// The mass of water.
    public static let bodyWaterMass = BodyCompositionFeature(rawValue: 0x0080)
    /// The electric resistance.
    public static let impedance = BodyCompositionFeature(rawValue: 0x0100)
    /// The weight.
    public static let weight = BodyCompositionFeature(rawValue: 0x0200)
    /// The height.
    public static let height = BodyCompositionFeature(rawValue: 0x0400)

    /// How finely it tells masses.
    public var massResolution: MassResolution { MassResolution(rawValue: UInt8(rawValue >> 11 & 0xF)) }
    /// How finely it tells heights.
    public var heightResolution: HeightResolution { HeightResolution(rawValue: UInt8(rawValue >> 15 & 0x7)) }
}

extension BodyCompositionFeature: NamedConstants {
    static let names = bits(
        "timeStamp", "multipleUsers", "basalMetabolism", "musclePercentage", "muscleMass", "fatFreeMass",
        "softLeanMass", "bodyWaterMass", "impedance", "weight", "height")
}
