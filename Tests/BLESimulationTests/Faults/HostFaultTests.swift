import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

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
