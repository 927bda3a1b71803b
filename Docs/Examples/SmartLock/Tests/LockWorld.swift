import BLE
import BLEFeatures
import BLESimulation
import BLETesting
import SmartLock

/// A simulated lock in virtual time, and who wants to use it.
struct LockWorld {
    static let serial = "010203040506"

    let radio: SimulatedWorld
    let lock: SimulatedLock
    let grip: SimulatedPeripheral
    let devices: Devices

    /// - Parameter partLength: how many bytes of a reply the lock puts into one notification.
    init(
        mode: MessageCipher.Mode = .bound, partLength: Int = 244, storage: any DeviceStorage = MemoryDeviceStorage()
    ) async throws {
        lock = SimulatedLock(mode: mode, partLength: partLength)
        radio = try await SimulatedWorld()
        grip = await radio.radio.add(lock.definition)
        devices = Devices(radio.central, configuration: try .smartLock(mode: mode), storage: storage)
    }

    var clock: ManualClock { radio.clock }

    func connect() async throws -> Device { try await devices.connect(serial: Self.serial) }

    /// A device with keys for encrypted messages.
    func pair() async throws -> Device {
        let device = try await connect()
        try await device.feature(LockAccess.self).pair()
        return device
    }

    /// How many centrals listen to the lock's replies.
    var subscriberCount: Int {
        get async { await grip.subscriberCount(of: Devices.Configuration.defaultReply) }
    }
}
