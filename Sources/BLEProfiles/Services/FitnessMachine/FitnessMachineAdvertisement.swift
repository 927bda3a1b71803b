public import BLE

/// What a fitness machine says of itself while it advertises (Fitness Machine Service 1.0, section 3.1): the service data of 1826.
///
/// ```swift
/// for try await found in central.discoveries(.service(.fitnessMachine)) {
///     let machine = try? FitnessMachineAdvertisement.decode(found.advertisement)
///     print(found.peripheral.id, machine?.kinds ?? [])  // indoorBike
/// }
/// ```
public struct FitnessMachineAdvertisement: Hashable, Sendable {
    /// Whether it can be used now.
    public var isAvailable: Bool
    /// What it is; several kinds for a machine that can be turned into another.
    public var kinds: Kinds

    /// A machine.
    public init(isAvailable: Bool = true, kinds: Kinds) {
        self.isAvailable = isAvailable
        self.kinds = kinds
    }

    /// Kinds of machines. Other bits are reserved, and kept.
    public struct Kinds: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt16
        /// Any bits.
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
        /// An indoor bike, or a trainer that a bike is put on.
        public static let indoorBike = Kinds(rawValue: 1 << 5)
    }
}

extension FitnessMachineAdvertisement: AdvertisementDecodable, AdvertisementEncodable {
    /// The service data of 1826: flags, of which reserved ones are ignored, and the kinds in two bytes; nil when there is none. Throws
    /// `invalidLength` for more or fewer than three bytes.
    public static func decode(
        _ advertisement: Advertisement
    ) throws(AdvertisementFormatError) -> FitnessMachineAdvertisement? {
        guard let data = advertisement.serviceData[.fitnessMachine] else { return nil }
        guard data.count == 3 else { throw AdvertisementFormatError("fitness machine", .invalidLength(data.count)) }
        return FitnessMachineAdvertisement(
            isAvailable: data[0] & 0x01 != 0, kinds: Kinds(rawValue: UInt16(data[1]) | UInt16(data[2]) << 8))
    }

    /// The same.
    public func encode(into advertisement: inout Advertisement) {
        advertisement.serviceData[.fitnessMachine] = [
            isAvailable ? 0x01 : 0x00, UInt8(truncatingIfNeeded: kinds.rawValue), UInt8(kinds.rawValue >> 8),
        ]
    }
}

extension FitnessMachineAdvertisement.Kinds: NamedConstants {
    static let names = bits("treadmill", "crossTrainer", "stepClimber", "stairClimber", "rower", "indoorBike")
}
