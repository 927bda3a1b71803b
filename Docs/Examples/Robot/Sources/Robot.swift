import BLE
import BLEBeacons
import BLEFeatures
import BLEProfiles

/// A classroom robot: found by what it advertises, driven by frames of commands.
struct Robot: Sendable {
    let peripheral: Peripheral
    /// The status at the time that it was found.
    let status: RobotStatus
    private let session: TransactionSession<ChecksumCodec>

    /// Returns the nearest robot. Throws `peripheralNotFound` if none is in range.
    static func nearest(_ central: Central) async throws -> Robot {
        let found = try await central.discoveries(matching: .serviceData(RobotStatus.service), for: .seconds(3))
        for discovery in found {
            // Data of one byte is not a status.
            guard let status = try? RobotStatus.decode(discovery.advertisement) else { continue }
            return Robot(discovery.peripheral, status)
        }
        throw BLEError(.peripheralNotFound, "there is no robot nearby", remedy: "Switch it on.")
    }

    private init(_ peripheral: Peripheral, _ status: RobotStatus) {
        (self.peripheral, self.status) = (peripheral, status)
        session = TransactionSession(
            peripheral, codec: ChecksumCodec(),
            configuration: TransactionConfiguration(
                request: CharacteristicKey(service: .commands, characteristic: .writeCommand),
                reply: CharacteristicKey(service: .commands, characteristic: .robotReport),
                writeType: .withoutResponse))
    }

    /// Sends commands in one frame. Returns when it is written: the robot does not answer.
    func perform(_ commands: RobotCommand...) async throws(BLEError) {
        try await session.post(ChecksumFrame(commands.map(\.encoded)))
    }

    /// The manufacturer, the model, the serial number and the revision of the firmware, as far as the robot has them.
    func information() async throws(BLEError) -> DeviceInformation { try await DeviceInformation(of: peripheral) }

    /// The charge of the battery in percent, whenever it changes. Ends with the link.
    func batteryLevels() async throws(BLEError) -> NotificationStream<UInt8> {
        try await peripheral.notifications(.batteryLevel)
    }

    /// The name, and whether it is charging, kept up to date.
    func values() async throws -> PeripheralValues {
        try await peripheral.values([.read(.robotName), .readAndNotify(.isCharging)])
    }
}
