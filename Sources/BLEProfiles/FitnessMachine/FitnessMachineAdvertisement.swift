public import BLE

/// The advertising data of a fitness machine: the service data of 1826 (Fitness Machine Service 1.0, section 3.1).
///
/// ```swift
/// for try await found in central.discoveries(matching: .service(.fitnessMachine)) {
///     let machine = try? FitnessMachineAdvertisement.decode(found.advertisement)
///     print(found.peripheral.id, machine?.kinds ?? [])  // indoorBike
/// }
/// ```
public struct FitnessMachineAdvertisement: Hashable, Codable, Sendable {
    /// Whether the machine is available for use.
    public var isAvailable: Bool
    /// The kind of the machine, or several if it can be converted.
    public var kinds: Kinds

    /// Creates advertising data.
    public init(isAvailable: Bool = true, kinds: Kinds) {
        self.isAvailable = isAvailable
        self.kinds = kinds
    }

    /// Kinds of machines, including reserved bits.
    public struct Kinds: OptionSet, Hashable, Codable, Sendable {
        /// The bits.
        public let rawValue: UInt16
        /// Creates a set from its bits.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// A treadmill.
        public static let treadmill = Kinds(rawValue: 1 << 0)
        /// A cross trainer.
        public static let crossTrainer = Kinds(rawValue: 1 << 1)
        /// A step climber.
        public static let stepClimber = Kinds(rawValue: 1 << 2)
        /// A stair climber.
        public static let stairClimber = Kinds(rawValue: 1 << 3)
        /// A rowing machine.
        public static let rower = Kinds(rawValue: 1 << 4)
        /// An indoor bike, or a trainer on which a bike is mounted.
        public static let indoorBike = Kinds(rawValue: 1 << 5)
    }
}

extension FitnessMachineAdvertisement: AdvertisementDecodable, AdvertisementEncodable {
    /// Decodes the service data of 1826: flags and the kinds in two bytes. Reserved flags are ignored. Returns nil if
    /// there is none. Throws `invalidLength` unless there are three bytes.
    public static func decode(
        _ advertisement: Advertisement
    ) throws(AdvertisementFormatError) -> FitnessMachineAdvertisement? {
        guard let data = advertisement.data(ofService: .fitnessMachine) else { return nil }
        guard data.count == 3 else { throw AdvertisementFormatError("fitness machine", .invalidLength(data.count)) }
        return FitnessMachineAdvertisement(
            isAvailable: data[0] & 0x01 != 0, kinds: Kinds(rawValue: UInt16(data[1]) | UInt16(data[2]) << 8))
    }

    /// Adds the service data of 1826 to an advertisement.
    public func encode(into advertisement: inout Advertisement) {
        advertisement.serviceData[.fitnessMachine] = [
            isAvailable ? 0x01 : 0x00, UInt8(truncatingIfNeeded: kinds.rawValue), UInt8(kinds.rawValue >> 8),
        ]
    }
}

extension FitnessMachineAdvertisement.Kinds: NamedConstants {
    static let names = bits("treadmill", "crossTrainer", "stepClimber", "stairClimber", "rower", "indoorBike")
}
