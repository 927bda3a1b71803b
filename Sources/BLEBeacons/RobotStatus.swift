public import BLE

/// The status that small classroom robots advertise as service data of the service 0xDFB0.
///
/// There are three forms: battery and charging (2 bytes); battery, charging and a firmware version of three numbers (6
/// bytes); and a firmware version of two numbers, battery, charging and sleep (5 bytes).
public struct RobotStatus: Hashable, Codable, Sendable {
    /// The charge of the battery, in percent.
    public var batteryPercent: UInt8
    /// Whether the battery is charging.
    public var isCharging: Bool
    /// The firmware version, such as `1.2.300`. Nil if the form does not contain it.
    public var version: String?
    /// Whether the robot is in deep sleep. Nil if the form does not contain this.
    public var isInDeepSleep: Bool?

    /// The UUID of the service data.
    public static let service = BluetoothUUID(0xDFB0)

    /// Creates a status.
    public init(batteryPercent: UInt8, isCharging: Bool, version: String? = nil, isInDeepSleep: Bool? = nil) {
        self.batteryPercent = batteryPercent
        self.isCharging = isCharging
        self.version = version
        self.isInDeepSleep = isInDeepSleep
    }
}

extension RobotStatus: AdvertisementDecodable {
    /// Decodes service data of 0xDFB0. Returns nil if there is none, or only one byte of it.
    ///
    /// Data of any other length is decoded as the form of 2 bytes.
    public static func decode(_ advertisement: Advertisement) throws(AdvertisementFormatError) -> RobotStatus? {
        guard let data = advertisement.data(ofService: service), data.count >= 2 else { return nil }
        switch data.count {
        case 5:
            return RobotStatus(
                batteryPercent: data[2], isCharging: data[3] == 1, version: "\(data[0]).\(data[1])",
                isInDeepSleep: data[4] == 1)
        case 6:
            let revision = Int(data[4]) << 8 | Int(data[5])
            return RobotStatus(
                batteryPercent: data[0], isCharging: data[1] == 1, version: "\(data[2]).\(data[3]).\(revision)")
        default: return RobotStatus(batteryPercent: data[0], isCharging: data[1] == 1)
        }
    }
}
