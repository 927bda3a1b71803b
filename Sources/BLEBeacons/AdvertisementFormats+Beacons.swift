public import BLE

extension AdvertisementFormats {
    /// The formats of this module: RuuviTag, iBeacon, Eddystone, the trackers and the robot.
    public static let beacons = AdvertisementFormats(
        RuuviTag.self, IBeacon.self, Eddystone.self, FindHubBeacon.self, LocationTracker.self, RobotStatus.self)
}
