import BLE
@testable import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct RecordCollectorTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    /// A collector of weights, and the scale that sends them.
    private func collector() async throws -> (RecordCollector<WeightMeasurement>, SimulatedPeripheral) {
        let (peripheral, grip) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [
                    ServiceDefinition(
                        .weightScale, characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A9D), .indicate)])
                ]))
        let control = RecordAccessControlPoint(of: PeripheralService(.weightScale, on: peripheral))
        return (try await control.collector(of: .weightMeasurement), grip)
    }

    @Test func `a cancelled collector takes what has arrived, and ends`() async throws {
        let (collector, grip) = try await collector()
        for number in UInt8(0)..<100 { await grip.notify([0, number, 0], from: BluetoothUUID(0x2A9D)) }
        let collecting = Task {
            await untilCancelled()
            try await collector.collect {}
        }
        collecting.cancel()
        try await collecting.value
        #expect(collector.records == (0..<100).map { WeightMeasurement(weight: Double($0) / 200) })
    }

    @Test func `an invalid value that has arrived is an error all the same`() async throws {
        let (collector, grip) = try await collector()
        await grip.notify([0], from: BluetoothUUID(0x2A9D))
        let collecting = Task {
            await untilCancelled()
            try await collector.collect {}
        }
        collecting.cancel()
        await expectError(.invalidValue) { try await collecting.value }
    }
}
