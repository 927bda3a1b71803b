public import BLE

extension AdvertisementFormats {
    /// The formats of this module: RuuviTag, iBeacon, Eddystone and the robot.
    public static let beacons = AdvertisementFormats(RuuviTag.self, IBeacon.self, Eddystone.self, RobotStatus.self)
}
