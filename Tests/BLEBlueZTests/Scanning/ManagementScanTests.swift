import BLE
import BLEFakeBlueZ
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Logging
import Loop
import Testing
import Waiting

@testable import BLEBlueZ

/// Scans whose advertisements come from the kernel's management socket.
@Suite(.startsProcesses, .hangLimit)
struct ManagementScanTests {
    private static let level = Characteristic<[UInt8]>(BluetoothUUID(0x2A19))

    private let world: BlueZWorld
    private let battery: SimulatedPeripheral
    private var daemon: FakeBlueZ { world.daemon }

    init() async throws {
        world = try await BlueZWorld()
        battery = await world.radio.add(.battery())
    }

    private func withCentral(
        _ socket: ManagementSocket? = nil, _ configuration: Central.Configuration = .quiet(),
        _ check: (Central) async throws -> Void
    ) async throws {
        let central = try await Central(
            backend: BlueZCentral(world.makeStack(), socket ?? daemon.managementSocket), configuration: configuration)
        do {
            try await check(central)
        } catch {
            await central.shutDown()
            throw error
        }
        await central.shutDown()
    }

    private func events(_ central: Central, tolerance: Duration = .zero) -> DiscoveryEvents {
        central.discoveryEvents(
            matching: .id(battery.id), duplicates: true, staleAfter: nil, tolerance: tolerance)
    }

    /// Sets the strength with which the peripheral is received.
    private func setStrength(_ strength: Int) async {
        var advertisement = PeripheralDefinition.battery().advertisement
        advertisement.rssi = strength
        await battery.setAdvertisement(advertisement)
    }

    // MARK: Advertisements

    @Test func `advertisements have all structures, and the peripheral can be connected to`() async throws {
        try await withCentral { central in
            var events = events(central).makeAsyncIterator()
            let advertisement = try await events.advertisement()
            let sent = try PeripheralDefinition.battery().advertisement.data().structures
            #expect(advertisement.structures == sent)
            #expect(advertisement.localName == "Simulated Battery")
            #expect(advertisement.serviceUUIDs == [BluetoothUUID(0x180F)])
            #expect(advertisement.rssi == -60)
            #expect(advertisement.addressType == .random)
            // bluetoothd has no object yet, and scans until it has one.
            let peripheral = central.peripheral(battery.id)
            try await peripheral.connect()
            #expect(try await peripheral.read(Self.level) == [90])
            #expect(await daemon.calls["StartDiscovery"] == 1)
            await until { await !daemon.isDiscovering }
        }
    }

    @Test(arguments: [Duration.zero, .milliseconds(5), .milliseconds(200)])
    func `advertisements go on, also those that may wait`(_ tolerance: Duration) async throws {
        try await withCentral { central in
            var events = events(central, tolerance: tolerance).makeAsyncIterator()
            for strength in [-50, -50, -51, -52] {
                await setStrength(strength)
                while try await events.advertisement().rssi != strength {}
            }
        }
    }

    @Test func `new data is reported, and data that another packet lacks is kept`() async throws {
        try await withCentral { central in
            var events = events(central).makeAsyncIterator()
            while try await events.advertisement().structures.isEmpty {}
            await battery.setAdvertisement(Advertisement(rssi: -60, manufacturerData: [0x0059: [1]]))
            var advertisement = try await events.advertisement()
            while advertisement.manufacturerData.isEmpty { advertisement = try await events.advertisement() }
            #expect(advertisement.manufacturerData == [0x0059: [1]])
            #expect(advertisement.localName == "Simulated Battery")
            #expect(advertisement.structures == [AdvertisingStructure(type: 0xFF, bytes: [0x59, 0, 1])])
        }
    }

    @Test func `a connection to a peripheral that was not heard before finds it`() async throws {
        try await withCentral { central in
            let peripheral = central.peripheral(battery.id)
            try await peripheral.connect()
            #expect(try await peripheral.read(Self.level) == [90])
            #expect(await daemon.calls["StartDiscovery"] == 1)
            await until { await !daemon.isKernelDiscovering }
        }
    }

    @Test func `bluetoothd is not asked to scan`() async throws {
        try await withCentral { central in
            var events = events(central).makeAsyncIterator()
            for strength in [-50, -51] {
                await setStrength(strength)
                while try await events.advertisement().rssi != strength {}
            }
            #expect(await daemon.isKernelDiscovering)
        }
        #expect(await daemon.calls["SetDiscoveryFilter"] == nil)
        #expect(await daemon.calls["StartDiscovery"] == nil)
        await until { await !daemon.isKernelDiscovering && daemon.managementSocketCount == 0 }
    }

    @Test func `the kernel's discovery is started again after each end`() async throws {
        let clock = ManualClock()
        let world = try await BlueZWorld(clock: clock)
        let (daemon, id) = (world.daemon, await world.radio.add(.battery()).id)
        let backend = BlueZCentral(world.makeStack(), daemon.managementSocket)
        let central = try await Central(backend: backend, configuration: .quiet(clock: clock))
        let scan = Task {
            for try await _ in central.discoveryEvents(matching: .id(id), duplicates: true, staleAfter: nil) {}
        }
        for count in 1...3 {
            await until { await daemon.kernelDiscoveries == count }
            await clock.sleepers(1, for: .milliseconds(10_240))
            await until { await backend.management?.discovery.isOwn == true }
            clock.advance(by: .milliseconds(10_240))
        }
        await until { await daemon.kernelDiscoveries == 4 }
        scan.cancel()
        await until { await !daemon.isKernelDiscovering }
        #expect(await daemon.foreignStops == 0)
        await central.shutDown()
    }

    @Test func `a scan for other transports comes from bluetoothd`() async throws {
        try await withCentral { central in
            let found = try await central.first(matching: .id(battery.id) && .transport(.any))
            #expect(found.advertisement.structures.isEmpty)
            #expect(daemon.managementSocketCount == 0)
        }
    }

    @Test func `of two centrals, one has the socket, and both hear`() async throws {
        let other = try await world.makeCentral()
        var others = other.discoveryEvents(duplicates: true).makeAsyncIterator()
        _ = try await others.advertisement()
        try await withCentral { central in
            var events = events(central).makeAsyncIterator()
            #expect(try await !events.advertisement().structures.isEmpty)
            #expect(await daemon.kernelDiscoveries == 0)
            for strength in [-70, -50] {
                await setStrength(strength)
                while try await others.advertisement().rssi != strength {}
                while try await events.advertisement().rssi != strength {}
            }
        }
        // The other's scan is not stopped.
        #expect(await daemon.isDiscovering)
        #expect(await daemon.foreignStops == 0)
        await other.shutDown()
    }

    @Test func `a program that begins to scan takes the discovery over, and gives it back`() async throws {
        try await withCentral { central in
            var events = events(central).makeAsyncIterator()
            _ = try await events.advertisement()
            let other = try await world.makeCentral()
            var others = other.discoveryEvents(duplicates: true).makeAsyncIterator()
            _ = try await others.advertisement()
            #expect(await !daemon.isKernelDiscovering)
            await setStrength(-41)
            while try await events.advertisement().rssi != -41 {}
            await other.shutDown()
            await until { await daemon.isKernelDiscovering }
            await setStrength(-42)
            while try await events.advertisement().rssi != -42 {}
            #expect(await daemon.foreignStops == 0)
        }
    }

    // MARK: Refusals and losses

    @Test func `without the permission, a scan throws, and bluetoothd alone still serves`() async throws {
        daemon.forbidManagement()
        try await withCentral { central in
            let error = await #expect(throws: BLEError.self) {
                for try await _ in central.discoveries(matching: .any) {}
            }
            #expect(error?.code == .unauthorized)
            #expect(error?.isRetryable == false)
            #expect(error?.remedy?.contains("CAP_NET_ADMIN") == true)
            #expect(await daemon.calls["StartDiscovery"] == nil)
            await until { daemon.managementSocketCount == 0 }
            _ = try await central.first(matching: .transport(.any))
        }
    }

    @Test func `a kernel that does not know the command is not taken for one that sends`() async throws {
        let kernel = ScriptedKernel(answers: false)
        try await withCentral(kernel.socket) { central in
            let scan = Task { for try await _ in central.discoveries(matching: .any) {} }
            await until { kernel.socketCount == 1 }
            kernel.answer(0x01)
            let error = await expectError(.notSupported) { try await scan.value }
            #expect(error?.message.contains("status 1") == true)
            #expect(await daemon.calls["StartDiscovery"] == nil)
        }
    }

    @Test func `a socket that cannot be opened is an error of the scan`() async throws {
        let socket = ManagementSocket { .failure(BLEError(.notSupported, "there are no sockets")) }
        try await withCentral(socket) { central in
            let error = await #expect(throws: BLEError.self) {
                for try await _ in central.discoveries(matching: .any) {}
            }
            #expect(error?.code == .notSupported)
            #expect(await daemon.calls["StartDiscovery"] == nil)
        }
    }

    @Test func `a socket that does not answer fails after 10 s`() async throws {
        let (kernel, clock) = (ScriptedKernel(answers: false), ManualClock())
        try await withCentral(kernel.socket, .quiet(clock: clock)) { central in
            let scan = Task { for try await _ in central.discoveries(matching: .any) {} }
            await clock.sleepers(1, for: BlueZStack.promptly)
            clock.advance(by: BlueZStack.promptly)
            let error = await #expect(throws: BLEError.self) { try await scan.value }
            #expect(error?.code == .timedOut)
        }
    }

    @Test func `a socket that ends also ends the scan, and the next one opens another`() async throws {
        try await withCentral { central in
            var events = events(central).makeAsyncIterator()
            while try await events.advertisement().structures.isEmpty {}
            daemon.endManagement()
            let error = await #expect(throws: BLEError.self) { while try await events.next() != nil {} }
            #expect(error?.code == .failed)
            var again = self.events(central).makeAsyncIterator()
            while try await again.advertisement().structures.isEmpty {}
        }
    }

    @Test func `a scan goes on when the adapter is on again`() async throws {
        try await withCentral { central in
            var events = events(central).makeAsyncIterator()
            while try await events.advertisement().structures.isEmpty {}
            try await central.setPowered(false)
            await until { daemon.managementSocketCount == 0 }
            try await central.setPowered(true)
            await until { daemon.managementSocketCount == 1 }
            await setStrength(-40)
            while try await events.advertisement().rssi != -40 {}
        }
    }

    @Test func `a scan comes back with bluetoothd`() async throws {
        try await withCentral { central in
            var events = events(central).makeAsyncIterator()
            while try await events.advertisement().structures.isEmpty {}
            await daemon.kill()
            await until { daemon.managementSocketCount == 0 }
            try await daemon.start()
            while try await events.advertisement().structures.isEmpty {}
        }
    }

    // MARK: What the kernel sends

    @Test func `bluetoothd's signals about advertisements are skipped`() async throws {
        let kernel = ScriptedKernel()
        try await withCentral(kernel.socket) { central in
            // bluetoothd scans for another program, and has made the object.
            let other = try await world.makeCentral()
            var others = other.discoveryEvents(duplicates: true).makeAsyncIterator()
            _ = try await others.advertisement()
            let found = events(central)
            let first = Task { () -> Advertisement in
                var events = found.makeAsyncIterator()
                return try await events.advertisement()
            }
            await until { !kernel.commands.isEmpty }
            await setStrength(-30)
            await until { await daemon.shownStrength(of: battery.id) == -30 }
            // Every signal that was sent before is handled.
            _ = try await central.adapters()
            kernel.send(ManagementPacketTests.found(battery.id.octets, rssi: -33))
            #expect(try await first.value.rssi == -33)
            await other.shutDown()
        }
    }

    @Test func `what bluetoothd answers at a connection does not replace what the kernel reports`() async throws {
        let (kernel, stack) = (ScriptedKernel(), world.makeStack())
        let central = try await Central(
            backend: BlueZCentral(stack, kernel.socket), configuration: .quiet())
        let other = try await world.makeCentral()
        var others = other.discoveryEvents(duplicates: true).makeAsyncIterator()
        _ = try await others.advertisement()
        let found = events(central)
        let scan = Task { for try await _ in found {} }
        await until { !kernel.commands.isEmpty }
        kernel.send(ManagementPacketTests.found(battery.id.octets, rssi: -33))
        let path = try #require(await stack.path(of: battery.id))
        await until { await stack.tree.devices[path]?.advertisement.rssi == -33 }
        let structures = await stack.tree.devices[path]?.advertisement.structures
        #expect(structures?.isEmpty == false)
        await setStrength(-70)
        await until { await daemon.shownStrength(of: battery.id) == -70 }
        try await stack.refresh(path)
        #expect(await stack.tree.devices[path]?.advertisement.rssi == -33)
        #expect(await stack.tree.devices[path]?.advertisement.structures == structures)
        // Those of adapters whose advertisements do not arrive from the kernel are read.
        #expect(await stack.advertised(of: DevicePath(path)) == .none)
        #expect(await stack.advertised(of: DevicePath("/org/bluez/hci1/dev_F0_F1_F2_F3_F4_F5")) == .all)
        scan.cancel()
        await until { await stack.packetAdapter == nil }
        #expect(await stack.advertised(of: DevicePath(path)) == .all)
        await central.shutDown()
        await other.shutDown()
    }

    @Test func `other adapters, unknown addresses and nonsense do not disturb`() async throws {
        let kernel = ScriptedKernel()
        try await withCentral(kernel.socket) { central in
            let found = events(central)
            let last = Task { () -> [Advertisement] in
                var events = found.makeAsyncIterator()
                return [try await events.advertisement(), try await events.advertisement()]
            }
            await until { !kernel.commands.isEmpty }
            kernel.send(ManagementPacketTests.found(battery.id.octets, rssi: -20, adapter: 1))
            kernel.send([])
            kernel.send([UInt8](repeating: 0xFF, count: 4096))
            for number in 0..<10_000 {
                // More than the socket holds, so that this waits for the central.
                let address = [0xC1, 0, 0, 0, UInt8(number >> 8), UInt8(number & 0xFF)]
                await until { kernel.send(ManagementPacketTests.found(address)) }
            }
            // A malformed structure, and one without an end.
            await until {
                kernel.send(
                    ManagementPacketTests.found(battery.id.octets, rssi: -34, [1, 1, 3, 3, 0x0F, 0x18, 30, 9, 65]))
            }
            await until { kernel.send(ManagementPacketTests.found(battery.id.octets, rssi: 127)) }
            let advertisements = try await last.value
            #expect(advertisements[0].rssi == -34)
            #expect(advertisements[0].serviceUUIDs == [BluetoothUUID(0x180F)])
            #expect(advertisements[1].rssi == nil)
        }
    }
}
