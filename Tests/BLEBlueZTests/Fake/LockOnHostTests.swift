import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import SmartLock
import Testing

/// The worked example's lock as a peripheral of a host, with its features on a central. The definition is the same as
/// in the simulation.
@Suite(.startsProcesses, .hangLimit)
struct LockOnHostTests {
    @Test func `on the simulated radio`() async throws {
        let radio = SimulatedRadio()
        let host = try await PeripheralHost(backend: .simulated(radio))
        let central = try await Central(backend: .simulated(radio), configuration: .quiet())
        try await LockOnHost(host: host, central: central).check()
    }

    @Test func `on bluetoothd`() async throws {
        let world = try await BlueZWorld()
        let host = try await world.makeHost()
        let central = try await Central(backend: .simulated(world.radio), configuration: .quiet())
        try await LockOnHost(host: host, central: central).check()
    }
}

/// A host that serves a lock, and a central in reach of it.
struct LockOnHost {
    let host: PeripheralHost
    let central: Central

    func check() async throws {
        do {
            try await use(SimulatedLock(partLength: 20))
        } catch {
            await central.shutDown()
            await host.shutDown()
            throw error
        }
        await central.shutDown()
        await host.shutDown()
    }

    private func use(_ lock: SimulatedLock) async throws {
        try await host.withServed(lock.definition) { _ in
            let devices = Devices(central, configuration: try .smartLock(), storage: MemoryDeviceStorage())
            let device = try await devices.connect(serial: "010203040506")
            try await device.feature(LockSettings.self).setName("Front door")
            #expect(try await device.feature(LockSettings.self).name() == "Front door")
            try await device.feature(LockAccess.self).pair()
            try await device.feature(LockAccess.self).setState(.unlocked)
            #expect(await lock.memory.state == .unlocked)
            try await device.disconnect()

            // The next link continues with the pairing.
            let again = try await devices.connect(serial: "010203040506")
            try await again.feature(LockAccess.self).setState(.locked)
            #expect(await lock.memory.state == .locked)
            #expect(await lock.rejectedCount == 0)
            // A reset is answered, although its key is forgotten with it.
            _ = try await again.messages.send(Message(.reset, isEncrypted: true))
            #expect(await lock.memory.name == "Simulated Lock")
            try await again.disconnect()
        }
    }
}
