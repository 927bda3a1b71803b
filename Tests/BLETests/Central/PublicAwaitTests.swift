import BLE
import BLESimulation
import BLETestSupport
import Testing

/// Every await in the public API ends with its task, and leaves nothing behind.
@Suite(.hangLimit) struct PublicAwaitTests {
    /// A call that waits for the backend, and what it waits for there.
    struct Call: Sendable, CustomTestStringConvertible {
        let name: String
        let waitsFor: ScriptedBackend.Operation
        let run: @Sendable (Bench) async throws -> Void

        var testDescription: String { "\(name), \(waitsFor)" }

        init(
            _ name: String, _ waitsFor: ScriptedBackend.Operation,
            _ run: @escaping @Sendable (Bench) async throws -> Void
        ) {
            self.name = name
            self.waitsFor = waitsFor
            self.run = run
        }
    }

    /// What needs a link waits at each step on the way to it, too.
    static let calls: [Call] =
        [
            Call("adapters", .adapters) { _ = try await $0.central.adapters() },
            Call("setPowered", .setPowered) { try await $0.central.setPowered(true) },
            Call("setAlias", .setAlias) { try await $0.central.setAlias("x", adapter: "hci1") },
            Call("nearby", .startDiscovery) { for try await _ in $0.central.nearby() {} },
            Call("first", .startDiscovery) { _ = try await $0.central.first(matching: .any) },
            Call("discoveries for", .startDiscovery) { _ = try await $0.central.discoveries(for: .seconds(3)) },
            Call("discoveries", .startDiscovery) { for try await _ in $0.central.discoveries() {} },
            Call("discoveryEvents", .startDiscovery) { for try await _ in $0.central.discoveryEvents() {} },
        ]
        + onLink("connect", nil) { try await $0.strap.connect() }
        + onLink("services", nil) { _ = try await $0.strap.services() }
        + onLink("withConnection", nil) { try await $0.strap.withConnection { _ in } }
        + onLink("read", .read) { _ = try await $0.strap.read(Bench.level) }
        + onLink("write", .write) { try await $0.strap.write([1], to: Bench.command) }
        + onLink("write without response", .write) {
            try await $0.strap.write([1], to: Bench.command, type: .withoutResponse)
        }
        + onLink("readDescriptor", .readDescriptor) {
            _ = try await $0.strap.readDescriptor(BluetoothUUID(0x2901), of: Bench.level.key)
        }
        + onLink("writeDescriptor", .writeDescriptor) {
            try await $0.strap.writeDescriptor([1], to: BluetoothUUID(0x2901), of: Bench.level.key)
        }
        + onLink("read at an offset", .read) { _ = try await $0.strap.read(Bench.level.key, offset: 1) }
        + onLink("attMTU", .attMTU) { _ = try await $0.strap.attMTU() }
        + onLink("maximumWriteLength", .attMTU) {
            _ = try await $0.strap.maximumWriteLength(for: .withoutResponse)
        }
        + onLink("signalStrength", .signalStrength) { _ = try await $0.strap.signalStrength() }
        + onLink("userDescription", .readDescriptor) { _ = try await $0.strap.userDescription(of: Bench.level.key) }
        + onLink("notifications over a socket", .acquireNotifications) {
            _ = try await $0.strap.notifications(Bench.level, delivery: .socket)
        }
        + onLink("packetWriter", .acquireWriting) { _ = try await $0.strap.packetWriter(to: Bench.command) }
        + onLink("pair", .pair) { try await $0.strap.pair() }
        + [
            Call("unpair", .unpair) {
                await $0.backend.setPaired($0.strap.id)
                try await $0.strap.unpair()
            },
            Call("pairingState", .pairingState) { _ = try await $0.strap.pairingState() },
            Call("isPaired", .pairingState) { _ = try await $0.strap.isPaired },
            Call("setTrusted", .set) { try await $0.strap.setTrusted(true) },
            Call("setBlocked", .set) { try await $0.strap.setBlocked(true) },
        ]
        + onLink("notifications", .startNotifications) { _ = try await $0.strap.notifications(Bench.level) }
        + onLink("readableValues", .read) { _ = try await $0.strap.readableValues() }
        + onLink("values", .startNotifications) { _ = try await $0.strap.values([.readAndNotify(Bench.level)]) }

    private static func onLink(
        _ name: String, _ operation: ScriptedBackend.Operation?, _ run: @escaping @Sendable (Bench) async throws -> Void
    ) -> [Call] {
        [.connect, .discoverServices, operation].compactMap { $0 }.map { Call(name, $0, run) }
    }

    @Test(arguments: calls) func `a cancelled call ends at once and leaves nothing`(_ call: Call) async throws {
        let bench = try await Bench()
        await bench.backend.set([1], of: 2)
        await bench.backend.script(call.waitsFor, .hold)
        let task = Task { try await call.run(bench) }
        await bench.backend.asked(call.waitsFor)
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        // No time runs any more, and where there was no link yet there is none.
        await until { bench.clock.sleeperCount == 0 }
        if [.connect, .discoverServices].contains(call.waitsFor) {
            await until { await bench.strap.connectionState == .disconnected }
            await until { await bench.backend.count(.disconnect) == 1 }
        }
        if call.waitsFor == .startDiscovery {
            // A scan that is being started is stopped when it has been.
            await bench.backend.release(.startDiscovery)
            await bench.backend.asked(.stopDiscovery)
        }
        if call.waitsFor == .startNotifications { await bench.backend.asked(.stopNotifications) }
        // All is as it was: the same call works.
        if call.waitsFor != .startDiscovery { try await call.run(bench) }
        await bench.central.shutDown()
    }

    @Test(arguments: calls) func `a call ends at its deadline and leaves nothing`(_ call: Call) async throws {
        let bench = try await Bench()
        await bench.backend.script(call.waitsFor, .hold)
        let task = Task { try await bench.central.withDeadline(.seconds(1)) { try await call.run(bench) } }
        await bench.backend.asked(call.waitsFor)
        bench.clock.advance(by: .seconds(1))
        await expectError(.timedOut) { try await task.value }
        await until { bench.clock.sleeperCount == 0 }
        await bench.central.shutDown()
    }

    @Test(arguments: calls) func `a call ends with the central`(_ call: Call) async throws {
        let bench = try await Bench()
        await bench.backend.script(call.waitsFor, .ignore)
        let task = Task { try await call.run(bench) }
        await bench.backend.asked(call.waitsFor)
        await bench.central.shutDown()
        await expectError(.shutDown) { try await task.value }
        await until { bench.clock.sleeperCount == 0 }
        await bench.backend.release(call.waitsFor)
    }

    @Test(arguments: calls) func `a call that comes cancelled asks for nothing`(_ call: Call) async throws {
        let bench = try await Bench()
        let task = Task {
            await untilCancelled()
            try await call.run(bench)
        }
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        for _ in 0..<100 { await Task.yield() }
        #expect(await bench.backend.calls == [.start])
    }
}
