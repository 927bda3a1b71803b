import BLE
import BLESimulation
import BLETestSupport
import Testing

/// How long callers wait: to their deadline or, on a maintained link, without a limit.
@Suite(.hangLimit) struct PatienceTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }

    init() async throws { bench = try await Bench() }

    private var notFound: ScriptedBackend.Behavior { .fail(Bench.error(.peripheralNotFound)) }

    private func powerOff() async {
        await bench.backend.emit(.adapterStateChanged(.poweredOff))
        await bench.backend.script(.connect, .fail(Bench.error(.poweredOff)))
    }

    // MARK: Peripherals that the system does not know

    @Test func `an unknown peripheral is searched for within the deadline`() async throws {
        await bench.backend.script(.connect, notFound)
        await bench.backend.set([77], of: 2)
        let reading = Task { [strap] in try await strap.read(Bench.level) }
        await bench.backend.asked(.startDiscovery)
        await bench.backend.emit(.advertisementReceived(strap.id, Advertisement()))
        #expect(try await reading.value == 77)
        await bench.backend.asked(.stopDiscovery)
    }

    @Test func `a peripheral that does not advertise is not found, and the error has the time of the search`()
        async throws
    {
        await bench.backend.script(.connect, notFound)
        var events = await strap.connectionEvents().makeAsyncIterator()
        let connecting = Task { [strap] in try await strap.connect(timeout: .seconds(7)) }
        await bench.backend.asked(.startDiscovery)
        await bench.clock.sleepers(1, for: .seconds(7))
        bench.clock.advance(by: .seconds(7))
        let error = await expectError(.peripheralNotFound) { try await connecting.value }
        #expect(error?.message.contains("7.0 seconds") == true)
        #expect(error?.peripheral == strap.id)
        #expect((error?.cause as? BLEError)?.code == .timedOut)
        await bench.backend.asked(.stopDiscovery)
        guard case .connecting = try await events.next() else { return #expect(Bool(false), "connecting was expected") }
        guard case .waiting(let reason) = try await events.next() else {
            return #expect(Bool(false), "waiting was expected")
        }
        #expect(reason.code == .peripheralNotFound)
    }

    // MARK: Errors of a deadline

    @Test func `connecting without Bluetooth ends with what it waited for`() async throws {
        let lost = BLEError(.bluetoothLost, "the daemon is not running", remedy: "Start it.")
        await bench.backend.emit(.stackLost(lost), .adapterStateChanged(.resetting))
        var events = await strap.connectionEvents().makeAsyncIterator()
        let connecting = Task { [strap] in try await strap.connect(timeout: .seconds(3)) }
        while let event = try await events.next() {
            guard case .waiting(let reason) = event else { continue }
            #expect(reason.message == lost.message)
            break
        }
        await bench.clock.sleepers(1, for: .seconds(3))
        bench.clock.advance(by: .seconds(3))
        let error = await expectError(.timedOut) { try await connecting.value }
        #expect(error?.message.hasSuffix("3.0 seconds: the daemon is not running") == true)
        #expect(error?.remedy == "Start it.")
        #expect((error?.cause as? BLEError)?.code == .bluetoothLost)
        // A later attempt that is only slow has not waited for Bluetooth.
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        await bench.backend.script(.connect, .hold)
        let slow = Task { [strap] in try await strap.connect(timeout: .seconds(2)) }
        await bench.backend.asked(.connect)
        await bench.clock.sleepers(1, for: .seconds(2))
        bench.clock.advance(by: .seconds(2))
        #expect(await expectError(.timedOut) { try await slow.value }?.cause == nil)
        await bench.backend.release(.connect)
    }

    @Test func `a reason that returns is told to a scan and a link that began since, and is that of the deadline`()
        async throws
    {
        func lost(_ message: String) -> BLEError { BLEError(.bluetoothLost, message) }
        await bench.backend.emit(.stackLost(lost("away")), .adapterStateChanged(.resetting))
        await bench.backend.set(obstacle: lost("another key"))
        await until { await bench.central.obstacle?.message == "another key" }
        var scan = bench.central.discoveryEvents().makeAsyncIterator()
        func scanReason() async throws -> String? {
            if case .waiting(let reason) = try await scan.next() { reason.message } else { nil }
        }
        #expect(try await scanReason() == "another key")
        var events = await strap.connectionEvents().makeAsyncIterator()
        func linkReason() async throws -> String? {
            if case .waiting(let reason) = try await events.next() { reason.message } else { nil }
        }
        let connecting = Task { [strap] in try await strap.connect(timeout: .seconds(3)) }
        guard case .connecting = try await events.next() else { Issue.record(); return }
        #expect(try await linkReason() == "another key")
        // Those told before are not told again, but are what is waited for.
        for reason in ["away", "another key", "away", "busy", "away"] {
            await bench.backend.set(obstacle: lost(reason))
            await until { await bench.central.obstacle?.message == reason }
        }
        for reason in ["away", "busy"] {
            #expect(try await scanReason() == reason)
            #expect(try await linkReason() == reason)
        }
        await bench.clock.sleepers(1, for: .seconds(3))
        bench.clock.advance(by: .seconds(3))
        let error = await expectError(.timedOut) { try await connecting.value }
        #expect(error?.message.hasSuffix("3.0 seconds: away") == true)
    }

    @Test func `on a maintained link, the deadline of a caller names the last failure`() async throws {
        await bench.backend.script(.connect, .fail(Bench.error(.connectionFailed)), .hold)
        try await bench.maintain(.seconds(1))
        await bench.clock.sleepers(1, for: .seconds(1))
        let connecting = Task { [strap] in try await strap.connect(timeout: .milliseconds(250)) }
        await bench.clock.sleepers(1, for: .milliseconds(250))
        bench.clock.advance(by: .milliseconds(250))
        let error = await expectError(.timedOut) { try await connecting.value }
        #expect((error?.cause as? BLEError)?.code == .connectionFailed)
        await bench.backend.release(.connect)
    }

    @Test func `an attempt that was ended on purpose is not what the next one waits for`() async throws {
        await bench.backend.script(.connect, .hold, .hold)
        await bench.backend.script(.disconnect, .hold)
        let ended = Task { [strap] in try await strap.connect() }
        await bench.backend.asked(.connect)
        let disconnecting = Task { [strap] in try await strap.disconnect() }
        // The attempt is over, its end is not.
        await bench.backend.asked(.disconnect)
        await expectError(.connectionCancelled) { try await ended.value }
        try await bench.maintain()
        await bench.backend.release(.disconnect)
        try await disconnecting.value
        await bench.backend.asked(.connect, 2)
        let connecting = Task { [strap] in try await strap.connect(timeout: .seconds(2)) }
        await bench.clock.sleepers(1, for: .seconds(2))
        bench.clock.advance(by: .seconds(2))
        let error = await expectError(.timedOut) { try await connecting.value }
        #expect(error?.message == "connecting took longer than 2.0 seconds")
        #expect(error?.cause == nil)
        // Of the first attempt nothing is held any longer.
        await until { await bench.backend.heldCount == 1 }
        await bench.backend.release(.connect)
        await until { await strap.connectionState == .connected }
    }

    // MARK: Maintained links

    @Test func `a first subscription on a maintained link waits for the adapter without end`() async throws {
        await powerOff()
        try await bench.maintain()
        let subscribing = Task { [strap] in try await strap.notifications(Bench.level) }
        await bench.backend.asked(.connect)
        await bench.settle()
        bench.clock.advance(by: .seconds(86_400))
        await bench.settle()
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        var values = try await subscribing.value.makeAsyncIterator()
        await bench.backend.notify([5], from: 2)
        #expect(try await values.next() == 5)
    }

    @Test func `the reason of the wait is reported`() async throws {
        await powerOff()
        var events = await strap.connectionEvents().makeAsyncIterator()
        try await bench.maintain()
        while let event = try await events.next() {
            guard case .waiting(let reason) = event else { continue }
            #expect(reason.code == .poweredOff)
            #expect(reason.peripheral == strap.id)
            break
        }
    }

    @Test func `it waits for the peripheral over pauses and a search`() async throws {
        await bench.backend.script(.connect, .fail(Bench.error(.connectionFailed)), notFound)
        try await bench.maintain(.seconds(1))
        await bench.clock.sleepers(1, for: .seconds(1))
        let subscribing = Task { [strap] in try await strap.notifications(Bench.level) }
        await bench.backend.asked(.startDiscovery)
        bench.clock.advance(by: .seconds(86_400))
        await bench.settle()
        await bench.backend.emit(.advertisementReceived(strap.id, Advertisement()))
        _ = try await subscribing.value
    }

    @Test func `a peripheral that ends its link at each subscription is tried less and less often`() async throws {
        try await bench.maintain(.seconds(1))
        await bench.backend.script(.startNotifications, .hold, .hold, .hold)
        let subscribing = Task { [strap] in try await strap.notifications(Bench.level) }
        for (round, pause) in [1, 2, 4].enumerated() {
            await bench.backend.asked(.startNotifications, round + 1)
            await bench.dropLink()
            await bench.clock.sleepers(1, for: .seconds(pause))
            bench.clock.advance(by: .seconds(pause))
        }
        _ = try await subscribing.value
    }

    @Test func `a wait without a limit gets a deadline when the link is no longer maintained`() async throws {
        await bench.backend.script(.connect, notFound)
        try await bench.maintain()
        let subscribing = Task { [strap] in try await strap.notifications(Bench.level) }
        await bench.backend.asked(.startDiscovery)
        // The attempt is the policy's own: it does not show that the subscriber waits.
        await bench.callers(1)
        try await strap.setConnectionPolicy(.manual)
        await bench.clock.sleepers(1, for: .seconds(20))
        bench.clock.advance(by: .seconds(20))
        await expectError(.peripheralNotFound) { try await subscribing.value }
        await bench.backend.asked(.stopDiscovery)
    }

    @Test func `a request on a maintained link ends at its deadline, whatever becomes of the link`() async throws {
        let answers = Characteristic<[UInt8]>(BluetoothUUID(0xFF03), service: Bench.vendor)
        await bench.backend.set(
            GATTDatabase(services: [
                GATTService(
                    uuid: Bench.vendor, handle: 1,
                    characteristics: [
                        GATTCharacteristic(
                            uuid: answers.key.characteristic, handle: 2, properties: [.write, .indicate])
                    ])
            ]))
        try await bench.maintain()
        await bench.backend.script(.startNotifications, .hold)
        let request = Task { [strap] in
            try await strap.request([1], on: answers.key.bytes, timeout: .seconds(5)) { _ in true }
        }
        await bench.backend.asked(.startNotifications)
        await bench.backend.script(.connect, notFound)
        await bench.dropLink()
        await expectError(.disconnected) { try await request.value }
    }

    @Test func `pairing with an unknown peripheral searches for it`() async throws {
        await bench.backend.script(.pairingState, .fail(Bench.error(.peripheralNotFound)))
        await bench.backend.script(.connect, notFound)
        let pairing = Task { [strap] in try await strap.pair() }
        await bench.backend.asked(.startDiscovery)
        await bench.backend.emit(.advertisementReceived(strap.id, Advertisement()))
        try await pairing.value
        #expect(await bench.backend.count(.pair) == 1)
    }

    @Test func `the error of an attempt that the adapter ends has the adapter's state`() async throws {
        var events = await strap.connectionEvents().makeAsyncIterator()
        await bench.backend.script(.connect, .hold)
        try await bench.maintain()
        await bench.backend.asked(.connect)
        await bench.backend.emit(.adapterStateChanged(.poweredOff))
        await bench.backend.release(.connect, Bench.error(.connectionFailed))
        while let event = try await events.next() {
            guard case .waiting(let reason) = event else { continue }
            #expect(reason.code == .poweredOff)
            break
        }
    }

    @Test func `a link that ends before the peripheral has agreed is waited for again`() async throws {
        try await bench.maintain(.seconds(1))
        await bench.backend.script(.startNotifications, .hold)
        let subscribing = Task { [strap] in try await strap.notifications(Bench.level) }
        await bench.backend.asked(.startNotifications)
        await bench.dropLink()
        // Not immediately: see `ConnectionMachine.linkLost`.
        await bench.clock.sleepers(1, for: .seconds(1))
        await bench.settle()
        #expect(await bench.backend.count(.connect) == 1)
        bench.clock.advance(by: .seconds(1))
        var values = try await subscribing.value.makeAsyncIterator()
        await until { await strap.connectionState == .connected }
        await bench.backend.notify([6], from: 2)
        #expect(try await values.next() == 6)
    }

    @Test func `declared values wait as well`() async throws {
        await powerOff()
        await bench.backend.set([50], of: 2)
        try await bench.maintain()
        let reading = Task { [strap] in try await strap.values([.read(Bench.level)]) }
        await bench.backend.asked(.connect)
        await bench.settle()
        bench.clock.advance(by: .seconds(86_400))
        await bench.settle()
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        let values = try await reading.value
        #expect(try values.value(of: Bench.level) == 50)
    }

    @Test func `a wait without end ends with its task, and with the maintenance`() async throws {
        await powerOff()
        try await bench.maintain()
        let cancelled = Task { [strap] in try await strap.notifications(Bench.level) }
        let dropped = Task { [strap] in try await strap.notifications(Bench.level) }
        await bench.backend.asked(.connect)
        await bench.settle()
        cancelled.cancel()
        await expectError(.cancelled) { try await cancelled.value }
        await bench.backend.script(.connect, .fail(Bench.error(.poweredOff)), .fail(Bench.error(.poweredOff)))
        try await strap.setConnectionPolicy(.manual)
        await expectError(.poweredOff) { try await dropped.value }
    }

    @Test func `an attempt that cannot succeed fails its callers`() async throws {
        await bench.backend.script(.connect, .hold)
        try await bench.maintain(.seconds(1))
        let subscribing = Task { [strap] in try await strap.notifications(Bench.level) }
        let reading = Task { [strap] in try await strap.read(Bench.level) }
        await bench.backend.asked(.connect)
        await bench.callers(2)
        await bench.backend.release(.connect, Bench.error(.unauthorized))
        await expectError(.unauthorized) { try await subscribing.value }
        await expectError(.unauthorized) { try await reading.value }
        // The policy is not changed by it.
        await bench.clock.sleepers(1, for: .seconds(1))
        bench.clock.advance(by: .seconds(1))
        await until { await strap.connectionState == .connected }
    }

    @Test func `an operation on a maintained link still ends at its deadline`() async throws {
        await bench.backend.script(.connect, notFound)
        try await bench.maintain()
        let reading = Task { [strap] in try await strap.read(Bench.level) }
        await bench.clock.sleepers(1, for: .seconds(20))
        bench.clock.advance(by: .seconds(20))
        await expectError(.peripheralNotFound) { try await reading.value }
    }

    // MARK: Boot order

    private func configuration(_ clock: ManualClock, waits: Bool) -> Central.Configuration {
        var configuration = Central.Configuration.quiet(clock: clock)
        configuration.waitsForBluetooth = waits
        return configuration
    }

    @Test func `a central may wait for a stack that comes up later`() async throws {
        let (clock, backend) = (ManualClock(), ScriptedBackend())
        await backend.script(
            .start, .fail(Bench.error(.bluetoothUnavailable)), .fail(Bench.error(.bluetoothUnavailable)),
            .fail(BLEError(.adapterNotFound, "another reason")))
        let reasons = SharedValue<[BLEError.Code]>([])
        var configuration = configuration(clock, waits: true)
        configuration.onWait = { error in reasons.change { $0.append(error.code) } }
        let waiting = configuration
        let starting = Task { try await Central(backend: backend, configuration: waiting) }
        for pause in [Duration.milliseconds(250), .milliseconds(500), .seconds(1)] {
            await clock.sleepers(1, for: pause)
            clock.advance(by: pause)
        }
        #expect(try await starting.value.adapterState == .poweredOn)
        #expect(await backend.count(.start) == 4)
        // Each reason is told once.
        #expect(reasons.value == [.bluetoothUnavailable, .adapterNotFound])
    }

    @Test func `it does not wait for what waiting does not mend, nor unasked`() async throws {
        let (clock, backend) = (ManualClock(), ScriptedBackend())
        await backend.script(
            .start, .fail(Bench.error(.unauthorized)), .fail(Bench.error(.bluetoothUnavailable)))
        await expectError(.unauthorized) {
            try await Central(backend: backend, configuration: configuration(clock, waits: true))
        }
        await expectError(.bluetoothUnavailable) {
            try await Central(backend: backend, configuration: configuration(clock, waits: false))
        }
    }

    @Test func `its wait ends with its task`() async throws {
        let (clock, backend) = (ManualClock(), ScriptedBackend())
        await backend.script(.start, .fail(Bench.error(.bluetoothUnavailable)))
        let starting = Task { try await Central(backend: backend, configuration: configuration(clock, waits: true)) }
        await clock.sleepers(1, for: .milliseconds(250))
        starting.cancel()
        await expectError(.cancelled) { try await starting.value }
    }
}
