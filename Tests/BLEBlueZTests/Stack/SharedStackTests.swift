import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Logging
import Loop
import Testing

@testable import BLEBlueZ

/// Two roles on one stack: one session, one adapter, one recovery.
@Suite(.startsProcesses, .hangLimit)
struct SharedStackTests {
    /// A role of another kind than a central, which records its events.
    private actor Other: BlueZRole {
        nonisolated let stack: BlueZStack
        nonisolated var unownedExecutor: UnownedSerialExecutor { stack.unownedExecutor }
        private(set) var states: [AdapterState] = []
        private var role = 0

        init(_ stack: BlueZStack) { self.stack = stack }

        func join() async throws {
            role = try await stack.join(
                BlueZStack.Role(kind: .peripheral, logger: Logger(label: "test"), clock: ContinuousClock()) {
                    [weak self] event in
                    guard case .adapterStateChanged(let state) = event else { return }
                    self?.assumeIsolated { $0.states.append(state) }
                })
        }

        func leave() async { await stack.leave(role) }

        var deviceCount: Int { objects.devices.count }
    }

    private let world: BlueZWorld
    private let stack: BlueZStack
    private let other: Other
    private let battery: SimulatedPeripheral

    init() async throws {
        world = try await BlueZWorld()
        battery = await world.radio.add(.battery())
        stack = world.makeStack()
        other = Other(stack)
    }

    private func makeCentral() async throws -> Central {
        try await Central(backend: BlueZCentral(stack), configuration: .quiet(pairing: .justWorks))
    }

    @Test func `they share one session, also when they start at once`() async throws {
        async let joined: Void = other.join()
        let central = try await makeCentral()
        try await joined
        #expect(await world.daemon.calls["GetManagedObjects"] == 1)
        #expect(try await central.find().id == battery.id)
        // Both see the objects.
        #expect(await other.deviceCount == 1)
        await central.shutDown()
        #expect(await stack.session != nil)
        await other.leave()
        #expect(await stack.session == nil)
    }

    @Test func `one that leaves takes nothing from the other`() async throws {
        try await other.join()
        let central = try await makeCentral()
        let strap = try await central.find()
        try await strap.connect()
        await other.leave()
        #expect(try await strap.read(.batteryLevel) == 90)
        await central.shutDown()
    }

    @Test func `both hear of a loss, and both come back`() async throws {
        try await other.join()
        let central = try await makeCentral()
        var states = await central.adapterStates().makeAsyncIterator()
        // It has an agent now.
        try await central.find().connect()
        #expect(await world.daemon.calls["RegisterAgent"] == 1)
        await world.daemon.kill()
        try await world.daemon.start()
        for state in [AdapterState.poweredOn, .resetting, .poweredOn] { #expect(try await states.next() == state) }
        #expect(await other.states == [.resetting, .poweredOn])
        // Renewed before the return is reported.
        #expect(await world.daemon.calls["RegisterAgent"] == 2)
        #expect(await world.daemon.calls["GetManagedObjects"] == 2)
        await central.shutDown()
        await other.leave()
    }

    @Test func `a central that leaves takes its agent, notifications and scan along`() async throws {
        try await other.join()
        let central = try await makeCentral()
        let strap = try await central.find()
        let values = try await strap.notifications(.batteryLevel)
        let scan = Task { for try await _ in central.discoveries() {} }
        await until { await world.daemon.isDiscovering }
        await central.shutDown()
        #expect(await world.daemon.calls["UnregisterAgent"] == 1)
        #expect(await !world.daemon.isDiscovering)
        #expect(await stack.withDeliveries { $0.paths } == [])
        await world.daemon.kill()
        try await world.daemon.start()
        await until { await other.states == [.resetting, .poweredOn] }
        #expect(await world.daemon.calls["RegisterAgent"] == 1)
        // The next attempt starts from the beginning, and can pair.
        let next = try await makeCentral()
        try await next.find().connect()
        #expect(await world.daemon.calls["RegisterAgent"] == 2)
        await next.shutDown()
        await other.leave()
        _ = await scan.result
        withExtendedLifetime(values) {}
    }

    @Test func `a stack opens again for a role that comes later`() async throws {
        let first = try await makeCentral()
        await first.shutDown()
        let second = try await makeCentral()
        #expect(try await second.find().read(.batteryLevel) == 90)
        await second.shutDown()
    }

    @Test func `a second central on a stack is refused`() async throws {
        let first = try await makeCentral()
        let error = await expectError(.busy) { try await makeCentral() }
        #expect(error?.isRetryable == false)
        #expect(try await first.find().id == battery.id)
        await first.shutDown()
    }

    @Test func `a start that is given up ends at once, and a later one succeeds`() async throws {
        await world.daemon.hang("GetManagedObjects")
        let starting = Task { try await makeCentral() }
        await world.daemon.untilHung()
        starting.cancel()
        await expectError(.cancelled) { try await starting.value }
        await world.daemon.release()
        let central = try await makeCentral()
        #expect(try await central.find().id == battery.id)
        await central.shutDown()
    }

    @Test func `a start that is given up leaves another's alone`() async throws {
        await world.daemon.hang("GetManagedObjects")
        let starting = Task { try await makeCentral() }
        await world.daemon.untilHung()
        async let joined: Void = other.join()
        await until { await stack.isShared }
        starting.cancel()
        await expectError(.cancelled) { try await starting.value }
        await world.daemon.release()
        try await joined
        #expect(await world.daemon.calls["GetManagedObjects"] == 1)
        await other.leave()
    }

    @Test func `a central that is released without a shutdown leaves its stack`() async throws {
        try await other.join()
        do {
            let central = BlueZCentral(stack)
            try await central.start(
                CentralContext(handleEvent: { _ in }, logger: Logger(label: "test"), clock: ContinuousClock()))
            #expect(await stack.isShared)
        }
        await until { await !stack.isShared }
        await other.leave()
    }

    @Test func `a program makes both on one connection, in either order, and ends them in either`() async throws {
        let bluez = BlueZConnection(bus: world.bus.address)
        for isCentralFirst in [true, false] {
            let lists = await world.daemon.calls["GetManagedObjects"] ?? 0
            let central: @Sendable () async throws -> Central = {
                try await Central(backend: bluez.makeCentral(), configuration: .quiet(pairing: .justWorks))
            }
            let first = isCentralFirst ? try await central() : nil
            let served = try await PeripheralHost(backend: bluez.makePeripheral())
            let own = if let first { first } else { try await central() }
            await expectError(.busy) { try await PeripheralHost(backend: bluez.makePeripheral()) }
            #expect(await world.daemon.calls["GetManagedObjects"] == lists + 1)
            try await served.withServed(.battery()) { _ in
                let level = try await own.find(battery.id).read(.batteryLevel)
                #expect(level == 90)
                #expect(await world.daemon.servedCounts.applications == 1)
                if isCentralFirst { await own.shutDown() }
            }
            await served.shutDown()
            if !isCentralFirst {
                #expect(try await own.find(battery.id).read(.batteryLevel) == 90)
                await own.shutDown()
            }
        }
    }

    @Test func `a scope of both roles has one connection, and leaves nothing behind`() async throws {
        let connection = BlueZConnection(bus: world.bus.address)
        let (id, daemon) = (battery.id, world.daemon)
        let lists = await daemon.calls["GetManagedObjects"] ?? 0
        for isCancelled in [false, true] {
            let isServing = SharedValue(false)
            let task = Task {
                try await withBluetooth(on: connection, central: .quiet(), host: .quiet()) { central, host in
                    try await host.withServed(.battery()) { _ in
                        #expect(try await central.find(id).read(.batteryLevel) == 90)
                        #expect(await daemon.servedCounts.applications == 1)
                        isServing.change { $0 = true }
                        if isCancelled { try await host.advertise(.beacon(company: 0xFFFF, data: [1])) }
                    }
                }
            }
            try await isServing.until { $0 }
            if isCancelled {
                task.cancel()
                await expectError(.cancelled) { try await task.value }
            } else {
                try await task.value
            }
            #expect(await daemon.servedCounts.applications == 0)
            #expect(await !battery.isConnected)
        }
        #expect(await daemon.calls["GetManagedObjects"] == lists + 2)
    }

    @Test func `a scope of both roles runs on the thread that delivers`() async throws {
        let stack = stack
        let places = try await withBluetooth(
            centralBackend: BlueZCentral(stack), hostBackend: BlueZPeripheral(stack), central: .quiet(), host: .quiet()
        ) { central, _ in
            let isBefore = stack.loop.isCurrent
            _ = try await central.find()
            return [isBefore, stack.loop.isCurrent]
        }
        #expect(places == [true, true])
    }

    @Test func `central and peripheral share a stack, and both come back after a loss`() async throws {
        let central = try await makeCentral()
        let served = try await PeripheralHost(backend: BlueZPeripheral(stack))
        var events = await served.events().makeAsyncIterator()
        let definition = PeripheralDefinition(
            advertisement: Advertisement(serviceUUIDs: [BluetoothUUID(0xFFE0)]),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFFE0),
                    characteristics: [CharacteristicDefinition(BluetoothUUID(0xFFE1), .read, value: [7])])
            ])
        let serving = Task { try await served.serve(definition) }
        while let event = try await events.next() {
            if case .advertisingStarted = event { break }
        }
        #expect(await world.daemon.calls["GetManagedObjects"] == 1)
        let level = try await central.find(battery.id).read(.batteryLevel)
        #expect(level == 90)
        await world.daemon.kill()
        try await world.daemon.start()
        while let event = try await events.next() {
            if case .advertisingStarted = event { break }
        }
        // A central of another machine, and this machine's in its own role.
        let remote = try await Central(backend: .simulated(world.radio), configuration: .quiet())
        let ours = try await remote.first(matching: .service(BluetoothUUID(0xFFE0)), timeout: HangLimit.step).peripheral
        let value = try await ours.read(Characteristic<[UInt8]>(BluetoothUUID(0xFFE1)))
        #expect(value == [7])
        let again = try await central.find(battery.id).read(.batteryLevel)
        #expect(again == 90)
        await remote.shutDown()
        await served.shutDown()
        await expectError(.shutDown) { try await serving.value }
        #expect(await world.daemon.servedCounts.applications == 0)
        await central.shutDown()
    }
}
