import BLE
import BLEFakeBlueZ
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Logging
import Testing
import Waiting

@testable import BLEBlueZ

/// Scans through the kernel's management socket that end while they start, and connections to what they have found.
@Suite(.startsProcesses, .hangLimit)
struct ManagementStartTests {
    private let world: BlueZWorld
    private let battery: SimulatedPeripheral
    private var daemon: FakeBlueZ { world.daemon }

    init() async throws {
        world = try await BlueZWorld()
        battery = await world.radio.add(.battery())
    }

    private func makeCentral(_ socket: ManagementSocket) async throws -> (central: Central, backend: BlueZCentral) {
        let backend = BlueZCentral(world.makeStack(), socket)
        return (try await Central(backend: backend, configuration: .quiet()), backend)
    }

    private func events(_ central: Central) -> DiscoveryEvents.AsyncIterator {
        central.discoveryEvents(matching: .id(battery.id), duplicates: true, staleAfter: nil).makeAsyncIterator()
    }

    // MARK: Ends

    @Test func `a shutdown before the kernel has answered the start also stops the discovery`() async throws {
        let kernel = ScriptedKernel(answers: false)
        let (central, backend) = try await makeCentral(kernel.socket)
        let start = Task { try await backend.startDiscovery(DiscoveryFilter()) }
        await until { kernel.commands.count == 1 }
        await central.shutDown()
        await #expect(throws: BLEError.self) { try await start.value }
        kernel.answer(0)
        await until { kernel.commands.count == 2 }
        #expect(kernel.commands.last == ManagementCommand.stopDiscovery.packet(adapter: 0))
        #expect(kernel.socketCount == 1)
    }

    @Test func `a start that is given up is stopped when the kernel has answered`() async throws {
        let kernel = ScriptedKernel(answers: false)
        let (central, backend) = try await makeCentral(kernel.socket)
        let start = Task { try await backend.startDiscovery(DiscoveryFilter()) }
        await until { kernel.commands.count == 1 }
        start.cancel()
        await expectError(.cancelled) { try await start.value }
        kernel.answer(0)
        await until { kernel.commands.count == 2 }
        #expect(kernel.commands.last == ManagementCommand.stopDiscovery.packet(adapter: 0))
        await central.shutDown()
    }

    @Test func `a scan whose adapter is off and on while it starts goes on with another socket`() async throws {
        let kernel = ScriptedKernel(answers: false)
        let (central, _) = try await makeCentral(kernel.socket)
        let scan = Task {
            var events = events(central)
            return try await events.advertisement()
        }
        await until { kernel.commands.count == 1 }
        var states = await central.adapterStates().makeAsyncIterator()
        await daemon.setPowered(false)
        while try await states.next() != .poweredOff {}
        await daemon.setPowered(true)
        await until { kernel.socketCount == 2 && kernel.commands.count == 2 }
        kernel.answer(0)
        kernel.send(ManagementPacketTests.found(battery.id.octets, rssi: -33))
        #expect(try await scan.value.rssi == -33)
        await central.shutDown()
    }

    @Test func `a socket that ends while the scan starts ends it, and the next one opens another`() async throws {
        let kernel = ScriptedKernel(answers: false)
        let (central, _) = try await makeCentral(kernel.socket)
        let scan = Task { for try await _ in central.discoveries() {} }
        await until { kernel.commands.count == 1 }
        kernel.end()
        await expectError(.failed) { try await scan.value }
        let next = Task {
            var events = events(central)
            return try await events.advertisement()
        }
        await until { kernel.socketCount == 2 && kernel.commands.count == 2 }
        kernel.answer(0)
        kernel.send(ManagementPacketTests.found(battery.id.octets, rssi: -33))
        #expect(try await next.value.rssi == -33)
        await central.shutDown()
    }

    // MARK: Objects

    @Test func `a peripheral that bluetoothd does not receive is not found, and the scan goes on`() async throws {
        let (kernel, clock) = (ScriptedKernel(), ManualClock())
        let backend = BlueZCentral(world.makeStack(), kernel.socket)
        let central = try await Central(backend: backend, configuration: .quiet(clock: clock))
        try await backend.startDiscovery(DiscoveryFilter())
        let stranger = Peripheral.ID(rawValue: "F0:F1:F2:F3:F4:F5")
        await expectError(.peripheralNotFound) { try await backend.connect(stranger) }
        #expect(await daemon.calls["StartDiscovery"] == nil)
        kernel.send(ManagementPacketTests.found())
        await until { await backend.stack.tree.isStranger(stranger, adapter: "/org/bluez/hci0") }
        let connect = Task { try await backend.connect(stranger) }
        await clock.sleepers(1, for: .seconds(5))
        #expect(await daemon.isDiscovering)
        clock.advance(by: .seconds(5))
        await expectError(.peripheralNotFound) { try await connect.value }
        await until { await !daemon.isDiscovering }
        #expect(await backend.isQuiet)
        await central.shutDown()
    }

    @Test func `connections to several peripherals and a scan share one session`() async throws {
        let (kernel, clock) = (ScriptedKernel(), ManualClock())
        let backend = BlueZCentral(world.makeStack(), kernel.socket)
        let central = try await Central(backend: backend, configuration: .quiet(clock: clock))
        try await backend.startDiscovery(DiscoveryFilter())
        let strangers = (1...3).map { DeviceID(address: 0xF000_0000_0000 | $0) }
        for stranger in strangers { kernel.send(ManagementPacketTests.found(stranger.octets)) }
        for stranger in strangers {
            await until { await backend.stack.tree.isStranger(stranger, adapter: "/org/bluez/hci0") }
        }
        let connects = strangers.map { stranger in Task { try await backend.connect(stranger) } }
        await clock.sleepers(3, for: .seconds(5))
        #expect(await daemon.isDiscovering)
        connects[1].cancel()
        await expectError(.cancelled) { try await connects[1].value }
        // A scan begins while they wait.
        try await backend.startDiscovery(DiscoveryFilter(transport: .any))
        await clock.sleepers(2, for: .seconds(5))
        clock.advance(by: .seconds(5))
        await expectError(.peripheralNotFound) { try await connects[0].value }
        await expectError(.peripheralNotFound) { try await connects[2].value }
        #expect(await daemon.isDiscovering)
        #expect(await backend.isListening)
        #expect(await daemon.calls["StartDiscovery"] == 1)
        #expect(await daemon.calls["StopDiscovery"] == nil)
        // Another one for LE alone ends the session.
        try await backend.startDiscovery(DiscoveryFilter())
        #expect(await !daemon.isDiscovering)
        #expect(await backend.isQuiet)
        await central.shutDown()
    }

    @Test func `a scan that ends leaves the session to a connection that waits`() async throws {
        let (kernel, clock) = (ScriptedKernel(), ManualClock())
        let backend = BlueZCentral(world.makeStack(), kernel.socket)
        let central = try await Central(backend: backend, configuration: .quiet(clock: clock))
        try await backend.startDiscovery(DiscoveryFilter())
        let stranger = DeviceID(address: 0xF000_0000_0001)
        kernel.send(ManagementPacketTests.found(stranger.octets))
        await until { await backend.stack.tree.isStranger(stranger, adapter: "/org/bluez/hci0") }
        let connect = Task { try await backend.connect(stranger) }
        await clock.sleepers(1, for: .seconds(5))
        try await backend.startDiscovery(DiscoveryFilter(transport: .classic))
        try await backend.stopDiscovery()
        #expect(await daemon.isDiscovering)
        #expect(await daemon.calls["StartDiscovery"] == 1)
        clock.advance(by: .seconds(5))
        await expectError(.peripheralNotFound) { try await connect.value }
        await until { await !daemon.isDiscovering }
        await central.shutDown()
    }

    @Test func `a shutdown ends a wait for bluetoothd to receive a peripheral, and its scan`() async throws {
        let (kernel, clock) = (ScriptedKernel(), ManualClock())
        let stack = world.makeStack()
        let host = try await stack.join(
            BlueZStack.Role(kind: .peripheral, logger: Logger(label: "test"), clock: clock) { _ in })
        let backend = BlueZCentral(stack, kernel.socket)
        let central = try await Central(backend: backend, configuration: .quiet(clock: clock))
        try await backend.startDiscovery(DiscoveryFilter())
        let stranger = Peripheral.ID(rawValue: "F0:F1:F2:F3:F4:F5")
        kernel.send(ManagementPacketTests.found())
        await until { await stack.tree.isStranger(stranger, adapter: "/org/bluez/hci0") }
        let connect = Task { try await backend.connect(stranger) }
        await clock.sleepers(1, for: .seconds(5))
        await central.shutDown()
        await expectError(.shutDown) { try await connect.value }
        await until { await !daemon.isDiscovering }
        let starts = await daemon.calls["StartDiscovery"]
        await expectError(.shutDown) { try await backend.connect(stranger) }
        #expect(await daemon.calls["StartDiscovery"] == starts)
        await stack.leave(host)
    }
}
