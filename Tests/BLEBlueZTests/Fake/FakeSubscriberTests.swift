import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Logging
import Loop
import Synchronization
import Testing

@testable import BLEBlueZ
@testable import BLEFakeBlueZ
@testable import BlueZTestSupport
@testable import DBus

/// Several subscribers, each with a socket, as with bluetoothd from 5.80 on.
@Suite(.startsProcesses, .hangLimit)
struct FakeSubscriberTests {
    private static let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))
    private static let one = DeviceID(rawValue: "C0:00:00:00:0A:01")
    private static let other = DeviceID(rawValue: "C0:00:00:00:0A:02")

    private let world: BlueZWorld

    init() async throws { world = try await BlueZWorld(minorVersion: 80) }

    private static func definition(_ properties: CharacteristicProperties) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(serviceUUIDs: [.battery]),
            services: [
                ServiceDefinition(
                    .battery,
                    characteristics: [CharacteristicDefinition(output.key.characteristic, properties, value: [0])])
            ])
    }

    private func withTwo(
        _ properties: CharacteristicProperties = .notify, clock: any Clock<Duration> = ContinuousClock(),
        _ check: (PeripheralHost, ServedPeripheral, DaemonEnd, DaemonEnd) async throws -> Void
    ) async throws {
        var configuration = PeripheralHost.Configuration.quiet()
        configuration.clock = clock
        let host = try await world.makeHost(configuration)
        try await host.withServed(Self.definition(properties)) { served in
            let (first, second) = (try await world.subscribe(Self.one), try await world.subscribe(Self.other))
            try await check(host, served, first, second)
            first.close()
            second.close()
        }
        await host.shutDown()
    }

    private func awaitSignals(_ values: [[UInt8]]) async {
        await until { world.daemon.signaledValues.withLock(\.self) == values }
    }

    @Test func `values on their way are limited, sockets wait for room, and signals are lost`() throws {
        let socket = PacketSocket(try PacketSocket.pair().0, on: EventLoop(name: "test"))
        let packet = FakeArrivals.Value.packet(
            [1], ServedAttribute(application: 1, service: 0, characteristic: 0), Self.one)
        let signal = FakeArrivals.Value.signal([2], path: "/a", client: ":1.1")
        var arrivals = FakeArrivals()
        var rooms: [Bool] = []
        for _ in 1...FakeArrivals.capacity { rooms.append(arrivals.append(packet: packet, from: socket)) }
        #expect(rooms.firstIndex(of: false) == FakeArrivals.capacity - 1)
        arrivals.append(signal: signal)
        #expect(arrivals.lostCount == 1)
        var resumed: [Int] = []
        var count = 0
        while let (_, sockets) = arrivals.popFirst() {
            count += 1
            if !sockets.isEmpty { resumed.append(count) }
        }
        #expect(count == FakeArrivals.capacity)
        #expect(resumed == [FakeArrivals.capacity / 2])
        arrivals.append(signal: signal)
        let next = arrivals.popFirst()
        #expect(next != nil)
        #expect(arrivals.lostCount == 1)
    }

    @Test func `a value reaches the subscriber that it is for, or all`() async throws {
        try await withTwo { _, served, first, second in
            #expect(Set(try await served.subscribers(of: Self.output)) == [Self.one, Self.other])
            try await served.notify([1], from: Self.output, to: Self.one)
            try await served.notify([2], from: Self.output, to: Self.other)
            var (ones, others) = (first.packets.makeAsyncIterator(), second.packets.makeAsyncIterator())
            #expect(await ones.next() == [1])
            #expect(await others.next() == [2])
            // bluetoothd sends it to both.
            try await served.notify([3], from: Self.output)
            try await served.notify([4], from: Self.output, to: Self.one)
            #expect(await ones.next() == [4])
            await awaitSignals([[3]])
            // An empty packet would end the socket.
            await expectError(.notSupported) { try await served.notify([], from: Self.output, to: Self.one) }
            try await served.notify([], from: Self.output)
            await awaitSignals([[3], []])
        }
    }

    @Test func `a subscriber whose socket is closed has unsubscribed`() async throws {
        let clock = ManualClock()
        try await withTwo(clock: clock) { host, served, first, second in
            var events = await host.events().makeAsyncIterator()
            first.close()
            // It waits for the decision.
            let notifying = Task { try await served.notify([1], from: Self.output, to: Self.one) }
            await clock.sleepers(1, for: .milliseconds(500))
            clock.advance(by: .milliseconds(500))
            try await notifying.value
            while let event = try await events.next() {
                guard case .unsubscribed(let subscriber) = event else { continue }
                #expect(subscriber.central == Self.one)
                break
            }
            try await served.notify([2], from: Self.output, to: Self.other)
            var others = second.packets.makeAsyncIterator()
            #expect(await others.next() == [2])
            #expect(try await served.subscribers(of: Self.output) == [Self.other])
        }
    }

    @Test func `a subscriber whose socket bluetoothd has closed for another one still receives values`() async throws {
        // Time stands still: the end of the link is never late.
        try await withTwo(clock: ManualClock()) { host, served, first, second in
            // As bluetoothd does when the link of one without a bond ends: the oldest socket, and then its own.
            first.close()
            second.close()
            await world.daemon.pretend(Self.other, isConnected: false)
            await until { (try? await served.subscribers(of: Self.output)) == [Self.one] }
            // Its values are signaled from then on.
            try await served.notify([1], from: Self.output, to: Self.one)
            await awaitSignals([[1]])
            // With another subscriber, a signal can no longer reach one of them alone.
            let third = try await world.subscribe(Self.other)
            await expectError(.notSupported) { try await served.notify([3], from: Self.output, to: Self.one) }
            try await served.notify([4], from: Self.output, to: Self.other)
            var thirds = third.packets.makeAsyncIterator()
            #expect(await thirds.next() == [4])
            // On the next link, it gets a socket.
            let again = try await world.subscribe(Self.one)
            try await served.notify([5], from: Self.output, to: Self.one)
            var values = again.packets.makeAsyncIterator()
            #expect(await values.next() == [5])
            third.close()
            again.close()
        }
    }

    @Test func `a subscriber with a bond receives values again on its next link`() async throws {
        try await withTwo(clock: ManualClock()) { _, served, first, second in
            await world.daemon.pretend(Self.one, isConnected: true, isPaired: true)
            first.close()
            await world.daemon.pretend(Self.one, isConnected: false)
            await until { (try? await served.subscribers(of: Self.output)) == [Self.other] }
            await world.daemon.pretend(Self.one, isConnected: true)
            await until { (try? await served.subscribers(of: Self.output))?.count == 2 }
            // It has no socket, and a signal would reach the other one, too.
            await expectError(.notSupported) { try await served.notify([1], from: Self.output, to: Self.one) }
            try await served.notify([2], from: Self.output)
            await awaitSignals([[2]])
        }
    }

    @Test func `an indication returns when its central has confirmed it, or can no longer`() async throws {
        try await withTwo(.indicate) { _, served, first, second in
            var (ones, others) = (first.packets.makeAsyncIterator(), second.packets.makeAsyncIterator())
            // A value whose confirmation is not awaited is confirmed, too.
            try await served.notify([1], from: Self.output, to: Self.one)
            let indication = Task { try await served.indicate([2], from: Self.output, to: Self.one) }
            #expect(await ones.next() == [1])
            // The next value is sent after that: bluetoothd may report two confirmations as one.
            for _ in 0..<200 { await Task.yield() }
            #expect(first.count.value == 1)
            _ = try first.socket.send([1])
            #expect(await ones.next() == [2])
            _ = try first.socket.send([7])
            #expect(try await served.subscribers(of: Self.output).count == 2)
            _ = try first.socket.send([1])
            try await indication.value
            // A value that waits for the confirmation of another does so for no longer than the link may.
            let cancelled = Task {
                try await served.notify([4], from: Self.output, to: Self.one)
                try await served.notify([5], from: Self.output, to: Self.one)
            }
            #expect(await ones.next() == [4])
            cancelled.cancel()
            await expectError(.cancelled) { try await cancelled.value }
            // The socket is closed, and no confirmation arrives.
            let vain = Task { try await served.indicate([3], from: Self.output, to: Self.other) }
            #expect(await others.next() == [3])
            second.close()
            await expectError(.disconnected) { try await vain.value }
        }
    }

    @Test func `a value for a subscription that has ended does not reach the central's next one`() async throws {
        let backend = BlueZPeripheral(world.makeStack())
        try await backend.start(
            PeripheralContext(
                handleEvent: { _ in }, read: { (_, _) throws(ATTError) in [] },
                write: { (_, _, _) throws(ATTError) in },
                logger: Logger(label: "test"), clock: ManualClock()))
        try await backend.register(Self.definition(.notify).services, as: 1)
        let attribute = ServedAttribute(application: 1, service: 0, characteristic: 0)
        let first = try await world.subscribe(Self.one)
        first.close()
        await until { await backend.subscribers.socket(of: Self.one, attribute) == nil }
        // Whether the central has unsubscribed is not known yet.
        let late = Task { try await backend.send([1], from: attribute, to: Self.one) }
        await until { await !backend.values.awaited.isEmpty }
        let next = try await world.subscribe(Self.one)
        #expect(try await late.value == false)
        #expect(try await backend.send([2], from: attribute, to: Self.one))
        var packets = next.packets.makeAsyncIterator()
        #expect(await packets.next() == [2])
        next.close()
        await backend.shutDown()
    }

    @Test func `a subscriber that confirms nothing holds up no other`() async throws {
        let backend = BlueZPeripheral(world.makeStack())
        try await backend.start(
            PeripheralContext(
                handleEvent: { _ in }, read: { (_, _) throws(ATTError) in [] },
                write: { (_, _, _) throws(ATTError) in },
                logger: Logger(label: "test"), clock: ContinuousClock()))
        try await backend.register(Self.definition(.indicate).services, as: 1)
        let attribute = ServedAttribute(application: 1, service: 0, characteristic: 0)
        let (first, second) = (try await world.subscribe(Self.one), try await world.subscribe(Self.other))
        var (ones, others) = (first.packets.makeAsyncIterator(), second.packets.makeAsyncIterator())
        let silent = Task { try await backend.indicate([1], from: attribute, to: Self.one) }
        #expect(await ones.next() == [1])
        let answered = Task { try await backend.indicate([2], from: attribute, to: Self.other) }
        #expect(await others.next() == [2])
        _ = try second.socket.send([1])
        try await answered.value
        // A value for all subscribers is confirmed by a call, regardless of pending values on sockets.
        await world.daemon.confirmNoSignals()
        let toAll = Task { try await backend.indicate([3], from: attribute, to: nil) }
        await awaitSignals([[3]])
        await world.daemon.confirm()
        try await toAll.value
        _ = try first.socket.send([1])
        try await silent.value
        first.close()
        second.close()
        await backend.shutDown()
    }

    @Test func `an indication that was signaled to a central ends with its link, and another is confirmed`()
        async throws
    {
        try await withTwo(.indicate, clock: ManualClock()) { _, served, first, second in
            // The first one has no socket after this, and its values are signaled.
            first.close()
            second.close()
            await world.daemon.pretend(Self.other, isConnected: false)
            await until { (try? await served.subscribers(of: Self.output)) == [Self.one] }
            await world.daemon.confirmNoSignals()
            let vain = Task { try await served.indicate([1], from: Self.output, to: Self.one) }
            await awaitSignals([[1]])
            await world.daemon.pretend(Self.one, isConnected: false)
            await expectError(.disconnected) { try await vain.value }
            let third = try await world.subscribe(Self.other)
            let indication = Task { try await served.indicate([2], from: Self.output) }
            await awaitSignals([[1], [2]])
            await world.daemon.confirm()
            try await indication.value
            third.close()
        }
    }

    @Test func `an indication to all ends with the last subscriber`() async throws {
        try await withTwo(.indicate) { _, served, first, second in
            await world.daemon.confirmNoSignals()
            let vain = Task { try await served.indicate([1], from: Self.output) }
            await awaitSignals([[1]])
            await world.daemon.pretend(Self.one, isConnected: false)
            await until { (try? await served.subscribers(of: Self.output)) == [Self.other] }
            await world.daemon.pretend(Self.other, isConnected: false)
            await expectError(.disconnected) { try await vain.value }
        }
    }

    @Test func `values that a central was notified of are not waited for when it asks for indications`() async throws {
        let clock = ManualClock()
        let backend = BlueZPeripheral(world.makeStack())
        try await backend.start(
            PeripheralContext(
                handleEvent: { _ in }, read: { (_, _) throws(ATTError) in [] },
                write: { (_, _, _) throws(ATTError) in },
                logger: Logger(label: "test"), clock: clock))
        try await backend.register(Self.definition([.notify, .indicate]).services, as: 1)
        let attribute = ServedAttribute(application: 1, service: 0, characteristic: 0)
        let central = try await world.subscribe(Self.one)
        var packets = central.packets.makeAsyncIterator()
        // For notifications, which it does not confirm.
        for number in UInt8(1)...90 {
            try await backend.notify([number], from: attribute, to: Self.one)
            #expect(await packets.next() == [number])
            clock.advance(by: .seconds(1))
        }
        // The central changes its subscription, for which bluetoothd does not ask for another socket. Its pending
        // confirmations are counted.
        clock.advance(by: .seconds(59))
        try await backend.notify([1], from: attribute, to: Self.one)
        #expect(await packets.next() == [1])
        let indication = Task { try await backend.indicate([2], from: attribute, to: Self.one) }
        #expect(await packets.next() == [2])
        _ = try central.socket.send([1])
        _ = try central.socket.send([1])
        try await indication.value
        central.close()
        await backend.shutDown()
    }

    /// Serves a characteristic to a subscriber, without a host.
    private func withIndicating(
        _ properties: CharacteristicProperties, clock: any Clock<Duration>,
        _ check: (BlueZPeripheral, ServedAttribute, DaemonEnd) async throws -> Void
    ) async throws {
        let backend = BlueZPeripheral(world.makeStack())
        try await backend.start(
            PeripheralContext(
                handleEvent: { _ in }, read: { (_, _) throws(ATTError) in [] },
                write: { (_, _, _) throws(ATTError) in },
                logger: Logger(label: "test"), clock: clock))
        try await backend.register(Self.definition(properties).services, as: 1)
        let central = try await world.subscribe(Self.one)
        try await check(backend, ServedAttribute(application: 1, service: 0, characteristic: 0), central)
        central.close()
        await backend.shutDown()
    }

    @Test func `values that are confirmed one by one arrive in the order in which they were sent`() async throws {
        try await withIndicating(.indicate, clock: ContinuousClock()) { backend, attribute, central in
            var packets = central.packets.makeAsyncIterator()
            try await backend.notify([0], from: attribute, to: Self.one)
            var values: [Task<Void, any Error>] = []
            for number in UInt8(1)...20 {
                values.append(Task { try await backend.notify([number], from: attribute, to: Self.one) })
                await until { await backend.values.turns.count == Int(number) }
            }
            // One that comes with a confirmation does not overtake those that have waited for it.
            values.append(Task { try await backend.confirmAndNotify([21], attribute, Self.one) })
            for number in UInt8(0)...21 {
                #expect(await packets.next() == [number])
                if number > 0 { _ = try central.socket.send([1]) }
            }
            for value in values { try await value.value }
            #expect(await backend.values.turns.isEmpty)
        }
    }

    @Test func `a value waits for the confirmation of the one before for as long as the protocol allows`() async throws
    {
        let clock = ManualClock()
        try await withIndicating(.indicate, clock: clock) { backend, attribute, central in
            var packets = central.packets.makeAsyncIterator()
            try await backend.notify([1], from: attribute, to: Self.one)
            let second = Task { try await backend.notify([2], from: attribute, to: Self.one) }
            await until { await !backend.values.awaited.isEmpty }
            let third = Task { try await backend.notify([3], from: attribute, to: Self.one) }
            await until { await backend.values.turns.count == 2 }
            await clock.sleepers(1, for: .seconds(30))
            clock.advance(by: .seconds(30))
            try await second.value
            #expect(await packets.next() == [1])
            #expect(await packets.next() == [2])
            // It waits for the second.
            await until { await !backend.values.awaited.isEmpty }
            _ = try central.socket.send([1])
            try await third.value
            #expect(await packets.next() == [3])
        }
    }

    @Test func `the end of another's link does not prolong the wait for a confirmation`() async throws {
        let clock = ManualClock()
        try await withIndicating(.indicate, clock: clock) { backend, attribute, central in
            let other = try await world.subscribe(Self.other)
            try await backend.notify([1], from: attribute, to: Self.one)
            let second = Task { try await backend.notify([2], from: attribute, to: Self.one) }
            await clock.sleepers(1, for: .seconds(30))
            clock.advance(by: .seconds(20))
            await world.daemon.pretend(Self.other, isConnected: false)
            await until { await backend.subscribers.number(of: Self.other, attribute) == nil }
            clock.advance(by: .seconds(10))
            try await second.value
            other.close()
        }
    }

    @Test func `a socket stays open until the value on its way is confirmed`() async throws {
        try await withIndicating(.indicate, clock: ManualClock()) { backend, attribute, central in
            try await backend.notify([1], from: attribute, to: Self.one)
            let late = Task { try await backend.send([2], from: attribute, to: Self.one) }
            await until { await !backend.values.awaited.isEmpty }
            let end = Task { await backend.unregister(1) }
            await until { await backend.applications[1]?.isEnding != false }
            #expect(await backend.subscribers.socket(of: Self.one, attribute) != nil)
            _ = try central.socket.send([1])
            await end.value
            // Nothing follows that could be confirmed later.
            #expect(try await late.value == false)
            var packets = central.packets.makeAsyncIterator()
            #expect(await packets.next() == [1])
            #expect(await packets.next() == nil)
        }
    }

    @Test func `a socket stays open until an indication is confirmed, even if its caller is cancelled`() async throws {
        try await withIndicating([.notify, .indicate], clock: ManualClock()) { backend, attribute, central in
            var packets = central.packets.makeAsyncIterator()
            let indication = Task { try await backend.indicate([1], from: attribute, to: Self.one) }
            #expect(await packets.next() == [1])
            indication.cancel()
            await expectError(.cancelled) { try await indication.value }
            let end = Task { await backend.unregister(1) }
            await until { await backend.applications[1]?.isEnding != false }
            #expect(await backend.subscribers.socket(of: Self.one, attribute) != nil)
            _ = try central.socket.send([1])
            await end.value
        }
    }

    @Test func `a handler that is cancelled while it waits for a confirmation is not reported`() async throws {
        let backend = BlueZPeripheral(world.makeStack())
        let host = try await PeripheralHost(backend: backend, configuration: .quiet())
        var events = await host.events().makeAsyncIterator()
        let definition = PeripheralDefinition(
            advertisement: Advertisement(serviceUUIDs: [.battery]),
            services: [
                ServiceDefinition(
                    .battery,
                    characteristics: [
                        CharacteristicDefinition(
                            Self.output.key.characteristic, .indicate,
                            onSubscribe: { notifier in
                                await notifier.notify([1])
                                await notifier.notify([2])
                            })
                    ])
            ])
        let central = try await host.withServed(definition) { _ in
            let central = try await world.subscribe(Self.one)
            await until { await !backend.values.awaited.isEmpty }
            return central
        }
        central.close()
        await host.shutDown()
        while let event = try? await events.next() {
            if case .failed(let error) = event { Issue.record("reported: \(error)") }
        }
    }
}

extension BlueZPeripheral {
    /// Sends a value in the turn in which a confirmation has arrived.
    fileprivate func confirmAndNotify(
        _ value: [UInt8], _ attribute: ServedAttribute, _ central: DeviceID
    ) async throws(BLEError) {
        confirmed(by: central, attribute)
        try await notify(value, from: attribute, to: central)
    }
}
