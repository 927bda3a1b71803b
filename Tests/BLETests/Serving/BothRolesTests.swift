import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct BothRolesTests {
    private struct Stop: Error {}

    private let radio = SimulatedRadio()

    private func withBluetooth<Result: Sendable>(
        _ body: @escaping @concurrent @Sendable (Central, PeripheralHost) async throws -> Result
    ) async throws -> Result {
        try await BLE.withBluetooth(
            centralBackend: .simulated(radio), hostBackend: .simulated(radio), central: .quiet(), host: .quiet(), body)
    }

    @Test func `a central and a host work on one radio, and end with the closure`() async throws {
        let source = await radio.add(.battery(level: 41))
        let (central, host) = try await withBluetooth { [radio] central, host in
            let level = try await central.find(source.id).read(.batteryLevel)
            try await host.withServed(
                PeripheralDefinition(
                    advertisement: Advertisement(localName: "Copy"),
                    services: [
                        ServiceDefinition(
                            .battery,
                            characteristics: [try CharacteristicDefinition(.batteryLevel, .read, value: level)])
                    ])
            ) { _ in
                let phone = try await Central(backend: .simulated(radio), configuration: .quiet())
                let copy = try await phone.first(matching: .name("Copy")).peripheral
                #expect(try await copy.read(.batteryLevel) == 41)
                await phone.shutDown()
            }
            return (central, host)
        }
        await expectError(.shutDown) { try await central.adapters() }
        await expectError(.shutDown) { try await host.serve(.battery()) }
        #expect(await !source.isConnected)
    }

    @Test func `an error or a cancellation of the closure ends both`() async throws {
        let roles = SharedValue<(Central, PeripheralHost)?>(nil)
        await #expect(throws: Stop.self) {
            try await withBluetooth { central, host in
                roles.change { $0 = (central, host) }
                throw Stop()
            }
        }
        await expectError(.shutDown) { try await roles.value?.0.adapters() }
        await expectError(.shutDown) { try await roles.value?.1.serve(.battery()) }

        roles.change { $0 = nil }
        let task = Task {
            try await withBluetooth { central, host in
                roles.change { $0 = (central, host) }
                try await host.serve(.battery())
            }
        }
        try await roles.until { $0 != nil }
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        await expectError(.shutDown) { try await roles.value?.0.adapters() }
        await expectError(.shutDown) { try await roles.value?.1.serve(.battery()) }
    }

    @Test func `the host is shut down before the central`() async throws {
        let (scripted, serving) = (ScriptedBackend(), ServingBackend())
        await scripted.script(.shutDown, .ignore)
        let task = Task {
            try await BLE.withBluetooth(
                centralBackend: scripted, hostBackend: serving, central: .quiet(), host: .quiet()
            ) { _, _ in }
        }
        await scripted.asked(.shutDown)
        #expect(await serving.isShutDown)
        await scripted.release(.shutDown)
        try await task.value
    }

    @Test func `a host that cannot start ends the central`() async throws {
        let scripted = ScriptedBackend()
        await radio.setPresent(false)
        await expectError(.adapterNotFound) {
            try await BLE.withBluetooth(
                centralBackend: scripted, hostBackend: .simulated(radio), central: .quiet(), host: .quiet()
            ) { _, _ in Issue.record("the closure ran") }
        }
        await scripted.asked(.shutDown)
    }
}
