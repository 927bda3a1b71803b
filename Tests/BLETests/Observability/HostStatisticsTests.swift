import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct HostStatisticsTests {
    private static let uuid = BluetoothUUID(0xFFE1)
    private static let value = Characteristic<[UInt8]>(uuid)
    private let radio = SimulatedRadio()

    private static let definition = PeripheralDefinition(
        advertisement: Advertisement(localName: "Counted", serviceUUIDs: [BluetoothUUID(0xFFE0)]),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFFE0),
                characteristics: [
                    CharacteristicDefinition(
                        uuid, [.read, .write, .indicate], value: [7],
                        onWrite: { value, _ throws(ATTError) in if value == [0] { throw .valueNotAllowed } })
                ])
        ])

    @Test func `requests, links, subscriptions and indications are counted`() async throws {
        let host = try await PeripheralHost(backend: .simulated(radio), configuration: .quiet())
        #expect(await host.statistics == HostStatistics())
        try await host.withServed(Self.definition) { served in
            let phone = try await Central(backend: .simulated(radio), configuration: .quiet())
            let peripheral = try await phone.first(matching: .name("Counted")).peripheral
            #expect(try await peripheral.read(Self.value) == [7])
            try await peripheral.write([1], to: Self.value)
            await expectError(.attributeError) { try await peripheral.write([0], to: Self.value) }
            let values = try await peripheral.notifications(Self.value)
            try await served.indicate([3], from: Self.value)
            for try await value in values {
                #expect(value == [3])
                break
            }
            let statistics = await host.statistics
            #expect(statistics[.read].successCount == 1)
            #expect(statistics[.write].successCount == 1)
            #expect(statistics[.write].failureCounts == [.attributeError: 1])
            #expect(statistics[.indicate].successCount == 1)
            #expect(statistics.linkCount == 1)
            #expect(statistics.connectedCount == 1)
            #expect(statistics.subscriptionCount == 1)
            #expect(statistics.bluetoothLossCount == 0)
            await phone.shutDown()
            await until { await host.statistics.connectedCount == 0 }
            #expect(await host.statistics.linkCount == 1)
        }
        await host.shutDown()
        #expect(await host.statistics[.read].successCount == 1)
    }

    @Test func `losses of Bluetooth are counted, and links are down after the shutdown`() async throws {
        let host = try await PeripheralHost(backend: .simulated(radio), configuration: .quiet())
        await radio.stop()
        await until { await host.statistics.bluetoothLossCount == 1 }
        await radio.restart()
        try await host.withServed(Self.definition) { _ in
            let phone = try await Central(backend: .simulated(radio), configuration: .quiet())
            try await phone.first(matching: .name("Counted")).peripheral.connect()
            await until { await host.statistics.connectedCount == 1 }
            await host.shutDown()
            #expect(await host.statistics.connectedCount == 0)
            await phone.shutDown()
        }
    }
}
