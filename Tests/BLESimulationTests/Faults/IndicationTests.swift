import BLE
import BLETestSupport
import Testing

@testable import BLESimulation

/// Indications of a host to several centrals.
@Suite(.hangLimit) struct IndicationTests {
    private static let level = Characteristic<UInt8>(BluetoothUUID(0xFF01), service: BluetoothUUID(0xFF00))
    private let clock = ManualClock()
    private let radio: SimulatedRadio
    private let host: PeripheralHost

    init() async throws {
        radio = SimulatedRadio(clock: clock)
        host = try await PeripheralHost(backend: .simulated(radio), configuration: .quiet())
    }

    /// A served characteristic to which two centrals are subscribed.
    private func withSubscribers(
        _ check: (ServedPeripheral, SimulatedPeripheral) async throws -> Void
    ) async throws {
        await radio.addAdapter("hci1")
        let definition = PeripheralDefinition(
            advertisement: Advertisement(localName: "Tank"),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFF00), characteristics: [CharacteristicDefinition(Self.level.uuid, .indicate)])
            ])
        try await host.withServed(definition) { served in
            var centrals: [Central] = []
            var subscriptions: [NotificationStream<UInt8>] = []
            for adapter in ["hci0", "hci1"] {
                let central = try await Central(
                    backend: .simulated(radio, adapter: adapter), configuration: .quiet(clock: clock))
                centrals.append(central)
                subscriptions.append(try await central.find().notifications(Self.level))
            }
            try await check(served, await radio.hostedPeripherals[0])
            for central in centrals { await central.shutDown() }
            _ = subscriptions
        }
        await host.shutDown()
    }

    enum Wait: CaseIterable { case confirmation, answer }

    @Test(arguments: Wait.allCases)
    func `an indication that is given up leaves nothing that waits`(_ wait: Wait) async throws {
        try await withSubscribers { served, device in
            let fault = await wait == .confirmation ? device.hold(.confirm) : device.ignore(.indicate)
            let indication = Task { try await served.indicate(9, from: Self.level) }
            await fault.disturbed(2)
            await until { await radio.waitCount == 2 }
            indication.cancel()
            await expectError(.cancelled) { try await indication.value }
            await until { await radio.waitCount == 0 }
            #expect(await device.subscribers(of: Self.level).count == 2)
        }
    }

    @Test func `an indication that is given up while its value is on the way leaves nothing that waits`() async throws {
        try await withSubscribers { served, device in
            let delay = await device.delay(.indicate, by: .seconds(1))
            await device.ignore(.indicate)
            let indication = Task { try await served.indicate(9, from: Self.level) }
            await delay.disturbed(2)
            indication.cancel()
            await expectError(.cancelled) { try await indication.value }
            await clock.run(for: .seconds(2))
            #expect(await radio.waitCount == 0)
        }
    }

    @Test func `an indication that no central confirms fails with the last error`() async throws {
        try await withSubscribers { served, device in
            await device.fail(.confirm, .nth(1), with: .insufficientResources)
            await device.fail(.confirm, .nth(2), with: .valueNotAllowed)
            let error = await expectError(.attributeError) { try await served.indicate(9, from: Self.level) }
            #expect(error?.attError == .valueNotAllowed)
            // Both have got the value, and one confirmation is enough.
            await device.fail(.confirm, .nth(1), with: .insufficientResources)
            try await served.indicate(10, from: Self.level)
        }
    }
}

extension SimulatedRadio {
    /// The number of events that do not go on, and of confirmations that do not come.
    fileprivate var waitCount: Int {
        let unanswered = peripherals.all.flatMap(\.orderedLinks).reduce(0) { $0 + $1.shared.unanswered.count }
        return unanswered + pauses.values.reduce(0) { $0 + $1.count }
    }
}
