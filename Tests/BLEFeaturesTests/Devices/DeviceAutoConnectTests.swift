import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport
import Testing

/// Devices that are connected as they come into range, and again.
@Suite(.hangLimit) struct DeviceAutoConnectTests {
    private let world: SimulatedWorld
    private let devices: Devices
    private let told = SharedValue<[String]>([])
    private let ready = SharedValue<[Device]>([])

    init() async throws {
        world = try await SimulatedWorld()
        devices = Devices(world.central, configuration: try Devices.Configuration(features: [], connectAttempts: 1))
    }

    private func fake(_ number: UInt8, rssi: Int = -50) async throws -> FakeDevice {
        var advertisement = FakeDevice.advertisement([number, 0, 0, 0, 0, 0], name: "Fake \(number)")
        advertisement.rssi = rssi
        return try await FakeDevice(in: world, advertisement: advertisement)
    }

    /// Follows the events, until the returned task is cancelled.
    private func follow(_ serials: Set<String>? = nil, limit: Int = .max) -> Task<Void, any Error> {
        let events = devices.autoConnections(serials: serials, limit: limit)
        return Task {
            for try await event in events {
                switch event {
                case .ready(let device):
                    ready.change { $0.append(device) }
                    told.change { $0.append("\(device.serial.prefix(2)) ready") }
                case .connectFailed(let serial, _, let pause):
                    told.change { $0.append("\(serial.prefix(2)) failed \(pause == nil ? "" : "pause")") }
                case .ended(let device, let error):
                    told.change { $0.append("\(device.serial.prefix(2)) \(error.code)") }
                }
            }
        }
    }

    private func until(_ expected: [String]) async throws {
        try await world.asTimePasses { try await told.until { $0 == expected } }
    }

    @Test func `devices in range are connected, strongest first, and again after a loss`() async throws {
        let weak = try await fake(1, rssi: -70)
        _ = try await fake(2)
        let following = follow()
        try await until(["02 ready", "01 ready"])
        await weak.grip.dropLink()
        try await until(["02 ready", "01 ready", "01 disconnected", "01 ready"])
        #expect(await devices.connectedDevices.map(\.serial) == ["010000000000", "020000000000"])
        following.cancel()
        await expectError(.cancelled) { try await following.value }
        #expect(await devices.connectedDevices.count == 2)
    }

    @Test func `only those with the given serial numbers, up to the limit, of which a lost one is replaced`()
        async throws
    {
        let first = try await fake(1)
        _ = try await fake(2, rssi: -60)
        _ = try await fake(3, rssi: -40)
        let following = follow(["01:00:00:00:00:00", "020000000000", "nonsense"], limit: 1)
        try await until(["01 ready"])
        await first.grip.setAdvertising(false)
        await first.grip.dropLink()
        try await until(["01 ready", "01 disconnected", "02 ready"])
        following.cancel()
    }

    @Test func `one that the program disconnects is left alone until the program connects to it`() async throws {
        _ = try await fake(1)
        let following = follow()
        try await until(["01 ready"])
        try await ready.value[0].disconnect()
        try await until(["01 ready", "01 disconnected"])
        try await world.asTimePasses { try await world.clock.sleep(for: .seconds(60)) }
        #expect(told.value.count == 2)
        _ = try await world.asTimePasses { try await devices.connect(serial: "010000000000") }
        try await until(["01 ready", "01 disconnected", "01 ready"])
        following.cancel()
    }

    @Test func `a failure is told with the pause, and tried again after it`() async throws {
        let fake = try await fake(1)
        await fake.grip.fail(.connect, .next(1), with: BLEError(.connectionFailed, "refused"))
        let following = follow()
        try await until(["01 failed pause", "01 ready"])
        following.cancel()
    }

    @Test func `a device that is connected already is told first, and a second stream tells the same`() async throws {
        let fake = try await fake(1)
        let device = try await world.asTimePasses { try await devices.connect(serial: "010000000000") }
        let following = follow()
        try await until(["01 ready"])
        #expect(ready.value[0] === device)
        let other = follow()
        try await until(["01 ready", "01 ready"])
        following.cancel()
        await expectError(.cancelled) { try await following.value }
        await fake.grip.dropLink()
        try await until(["01 ready", "01 ready", "01 disconnected", "01 ready"])
        other.cancel()
    }

    @Test func `one that is too weak is left alone, and one that is weak at times keeps its turn`() async throws {
        let fake = try await fake(1, rssi: -90)
        let events = devices.autoConnections(minimumRSSI: -80)
        let following = Task {
            for try await event in events {
                if case .ready(let device) = event { told.change { $0.append("\(device.serial.prefix(2)) ready") } }
            }
        }
        try await world.asTimePasses { try await world.clock.sleep(for: .seconds(5)) }
        #expect(told.value == [])
        await fake.grip.play([(0, -70), (0.5, -90), (0.6, -70)])
        try await until(["01 ready"])
        following.cancel()
    }

    @Test func `after the adapter was off, what was in range must be heard again, and there is no pause`() async throws
    {
        let fake = try await fake(1)
        let following = follow()
        try await until(["01 ready"])
        await world.radio.setPowered(false)
        try await told.until { $0.count >= 2 }
        #expect(told.value[1].hasPrefix("01 "))
        await world.radio.setPowered(true)
        try await world.asTimePasses { try await told.until { $0.last == "01 ready" && $0.count >= 3 } }
        #expect(await fake.grip.isConnected)
        following.cancel()
    }
}
