import BLE
import BLEProfiles
import BLETestSupport
import Logging
import Testing

@testable import BLESimulation

/// What a test can disturb on this machine in the peripheral role, besides what `HostRadioContract` checks.
@Suite(.hangLimit) struct HostFaultTests {
    private static let level = Characteristic<UInt8>(BluetoothUUID(0xFF01), service: BluetoothUUID(0xFF00))
    private let clock = ManualClock()
    private let radio: SimulatedRadio
    private let host: PeripheralHost
    private let definition = PeripheralDefinition(
        advertisement: Advertisement(localName: "Tank"),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFF00),
                characteristics: [CharacteristicDefinition(Self.level.uuid, [.read, .write, .indicate], value: [7])])
        ])

    init() async throws {
        radio = SimulatedRadio(clock: clock)
        host = try await PeripheralHost(backend: .simulated(radio), configuration: .quiet())
    }

    @Test(arguments: [SimulatedEvent.register, .advertise])
    func `an adapter that goes off as a call of the host is held fails the call`(_ event: SimulatedEvent) async throws {
        let radio = radio
        await radio.hold(
            event,
            .while {
                // Has its turn before the call that is being decided about goes on.
                Task(executorPreference: radio.taskExecutor) { await radio.setPowered(false) }
                return true
            })
        await expectError(.poweredOff) { try await host.serve(definition) }
    }

    @Test(arguments: [SimulatedEvent.register, .advertise])
    func `an adapter that goes off between two faults of a call of the host fails the call`(
        _ event: SimulatedEvent
    ) async throws {
        let (radio, host, definition) = (radio, host, definition)
        let first = await radio.hold(event)
        await radio.hold(event)
        let serving = Task(executorPreference: radio.taskExecutor) {
            try await host.withServed(definition) { _ in }
        }
        await first.disturbed()
        // In one step, so that the adapter goes off before the call goes on.
        await Task(executorPreference: radio.taskExecutor) {
            Task(executorPreference: radio.taskExecutor) { await first.release() }
            Task(executorPreference: radio.taskExecutor) { await radio.setPowered(false) }
        }.value
        await expectError(.poweredOff) { try await serving.value }
    }

    @Test(arguments: [SimulatedEvent.register, .advertise])
    func `an adapter that goes off before a fault of a call of the host fails the call`(
        _ event: SimulatedEvent
    ) async throws {
        let (radio, host, definition) = (radio, host, definition)
        let first = await radio.hold(event)
        await radio.fail(event)
        let serving = Task(executorPreference: radio.taskExecutor) {
            try await host.withServed(definition) { _ in }
        }
        await first.disturbed()
        // In one step, so that the adapter goes off before the call goes on.
        await Task(executorPreference: radio.taskExecutor) {
            Task(executorPreference: radio.taskExecutor) { await first.release() }
            Task(executorPreference: radio.taskExecutor) { await radio.setPowered(false) }
        }.value
        await expectError(.poweredOff) { try await serving.value }
    }

    @Test(arguments: [SimulatedEvent.register, .advertise])
    func `a call that is held fails as shut down when its host leaves the radio`(_ event: SimulatedEvent) async throws {
        let id = try await radio.openHost(nil) { _ in }
        let held = await radio.hold(event)
        let call = Task { [radio] () -> BLEError.Code? in
            do throws(BLEError) {
                _ = try await radio.admit(event.kind, at: id, nil)
                return nil
            } catch {
                return error.code
            }
        }
        await held.disturbed()
        await radio.closeHost(id)
        #expect(await call.value == .shutDown)
    }

    enum Answer: CaseIterable { case value, error }

    @Test(arguments: Answer.allCases)
    func `the link that is lost after a request is the one that the request was on`(_ answer: Answer) async throws {
        let log = LogRecords()
        let radio = SimulatedRadio(clock: clock, logger: log.logger(.debug))
        let host = try await PeripheralHost(backend: .simulated(radio), configuration: .quiet())
        let (isAsked, isAnswered) = (SharedValue(0), SharedValue(false))
        let definition = PeripheralDefinition(
            advertisement: Advertisement(localName: "Tank"),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFF00),
                    characteristics: [
                        CharacteristicDefinition(
                            Self.level.uuid, .read,
                            onRead: { (_) throws(ATTError) in
                                isAsked.change { $0 += 1 }
                                // Goes on when its central has left.
                                while !isAnswered.value { await Task.yield() }
                                if answer == .error { throw .insufficientResources }
                                return [7]
                            })
                    ])
            ])
        try await host.withServed(definition) { _ in
            let central = try await Central(backend: .simulated(radio), configuration: .quiet(clock: clock))
            let remote = try await central.find()
            try await remote.connect()
            await radio.dropLink(after: .request, .next(1))
            let read = Task { try await remote.read(Self.level) }
            try await isAsked.until { $0 == 1 }
            try await remote.disconnect()
            await expectError(.disconnected) { try await read.value }
            try await remote.connect()
            isAnswered.change { $0 = true }
            for _ in 1...20 { _ = await Result { try await remote.read(Self.level) } }
            #expect(log.metadata(of: "simulated link ended").count == 1)
            // On its own link, the fault takes that.
            await radio.dropLink(after: .request, .next(1))
            await expectError(.disconnected) { try await remote.read(Self.level) }
            #expect(log.metadata(of: "simulated link ended").count == 2)
            await central.shutDown()
        }
        await host.shutDown()
    }

    @Test func `a fault of one characteristic leaves requests for others and their confirmations alone`() async throws {
        let alarm = Characteristic<UInt8>(BluetoothUUID(0xFF02), service: BluetoothUUID(0xFF00))
        let clock = clock
        func service(_ uuid: UInt32, _ characteristics: Characteristic<UInt8>...) -> ServiceDefinition {
            ServiceDefinition(
                BluetoothUUID(uuid),
                characteristics: characteristics.map {
                    CharacteristicDefinition($0.uuid, [.read, .indicate], value: [7])
                })
        }
        let (first, second) = (
            PeripheralDefinition(advertisement: Advertisement(), services: [service(0xFF20, alarm)]),
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Tank"), services: [service(0xFF00, Self.level, alarm)])
        )
        try await host.withServed(first) { _ in
            try await host.withServed(second) { served in
                let central = try await Central(backend: .simulated(radio), configuration: .quiet(clock: clock))
                let remote = try await central.find()
                let device = await radio.hostedPeripherals[0]
                let refused = await device.fail(.request(for: alarm), with: .insufficientResources)
                let unconfirmed = await device.fail(.confirm(of: alarm), with: .valueNotAllowed)
                #expect(try await remote.read(Self.level) == 7)
                #expect(await refused.count == 0)
                let error = await expectError(.attributeError) { try await remote.read(alarm) }
                #expect(error?.attError == .insufficientResources)
                #expect(await refused.count == 1)
                let values = try await remote.notifications(Self.level)
                let alarms = try await remote.notifications(alarm)
                try await served.indicate(1, from: Self.level)
                #expect(await unconfirmed.count == 0)
                await expectError(.attributeError) { try await served.indicate(2, from: alarm) }
                #expect(await unconfirmed.count == 1)
                _ = (values, alarms)
                await central.shutDown()
            }
        }
        await host.shutDown()
    }

    @Test func `the first confirmation of an indication ends no other`() async throws {
        await radio.addAdapter("hci1")
        try await host.withServed(definition) { served in
            var centrals: [Central] = []
            var subscriptions: [NotificationStream<UInt8>] = []
            for adapter in ["hci0", "hci1"] {
                let central = try await Central(
                    backend: .simulated(radio, adapter: adapter), configuration: .quiet(clock: clock))
                centrals.append(central)
                subscriptions.append(try await central.find().notifications(Self.level))
            }
            let device = await radio.hostedPeripherals[0]
            await device.delay(.confirm, .next(1), by: .seconds(1))
            await device.dropLink(after: .confirm, .next(1))
            try await served.indicate(9, from: Self.level)
            #expect(await device.subscribers(of: Self.level).count == 2)
            await clock.run(for: .seconds(1))
            #expect(await device.subscribers(of: Self.level).count == 1)
            for central in centrals { await central.shutDown() }
            _ = subscriptions
        }
    }

    @Test func `a central that does not confirm an indication holds up no other`() async throws {
        await radio.addAdapter("hci1")
        try await host.withServed(definition) { served in
            var centrals: [Central] = []
            for adapter in ["hci0", "hci1"] {
                centrals.append(
                    try await Central(
                        backend: .simulated(radio, adapter: adapter), configuration: .quiet(clock: clock)))
            }
            let silent = try await centrals[0].find().notifications(Self.level)
            var values = try await centrals[1].find().notifications(Self.level).makeAsyncIterator()
            let lost = await radio.hostedPeripherals[0].ignore(.indicate, .next(1))
            try await served.indicate(9, from: Self.level)
            #expect(try await values.next() == 9)
            #expect(await lost.count == 1)
            for central in centrals { await central.shutDown() }
            _ = silent
        }
    }

    @Test func `values reach centrals in the order in which they have subscribed`() async throws {
        try await host.withServed(definition) { served in
            let order = SharedValue<[Int]>([])
            var centrals: [Central] = []
            var readers: [Task<Void, any Error>] = []
            for number in 0..<6 {
                let central = try await Central(backend: .simulated(radio), configuration: .quiet(clock: clock))
                centrals.append(central)
                let values = try await central.find().notifications(Self.level)
                let reader = Task(executorPreference: radio.taskExecutor) {
                    for try await _ in values { order.change { $0.append(number) } }
                }
                readers.append(reader)
            }
            for count in 1...5 {
                try await served.indicate(9, from: Self.level)
                try await order.until { $0.count == 6 * count }
            }
            #expect(order.value == (1...5).flatMap { _ in 0..<6 })
            for central in centrals { await central.shutDown() }
            for reader in readers { _ = await reader.result }
        }
    }
}
