import BLE
import BLEProfiles

/// What a small robot says of itself in service data of DFB0, as a user's own format: battery and charging (2 bytes); these and a
/// version of three numbers (6 bytes); or a version of two, the battery, charging and sleep (5 bytes).
struct RobotStatus: Hashable {
    var battery: UInt8
    var isCharging: Bool
    var version: String?
    var isInDeepSleep: Bool?

    static let service = BluetoothUUID(0xDFB0)
}

extension RobotStatus: AdvertisementDecodable {
    static func decode(_ advertisement: Advertisement) throws(AdvertisementFormatError) -> RobotStatus? {
        // Data of other lengths is of the form of 2 bytes, if it has them.
        guard let data = advertisement.serviceData[service], data.count >= 2 else { return nil }
        switch data.count {
        case 5:
            return RobotStatus(
                battery: data[2], isCharging: data[3] == 1, version: "\(data[0]).\(data[1])",
                isInDeepSleep: data[4] == 1)
        case 6:
            let revision = Int(data[4]) << 8 | Int(data[5])
            return RobotStatus(
                battery: data[0], isCharging: data[1] == 1, version: "\(data[2]).\(data[3]).\(revision)")
        default: return RobotStatus(battery: data[0], isCharging: data[1] == 1)
        }
    }
}
