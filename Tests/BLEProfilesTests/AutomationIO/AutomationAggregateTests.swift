import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

/// The order of an aggregate's inputs.
@Suite(.hangLimit) struct AutomationAggregateTests {
    private func digital(_ state: UInt8, place: UInt16?) -> CharacteristicDefinition {
        var descriptors = [DescriptorDefinition(BluetoothUUID(0x2909), value: [1])]
        if let place {
            let format = PresentationFormat(
                format: .uint8, unit: BluetoothUUID(0x2700), description: .init(rawValue: place))
            descriptors.append(.presentationFormat(format))
        }
        return CharacteristicDefinition(BluetoothUUID(0x2A56), .read, value: [state], descriptors: descriptors)
    }

    private func aggregate(_ digitals: [CharacteristicDefinition]) async throws -> AutomationAggregate {
        let world = try await SimulatedWorld()
        let (peripheral, _) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [
                    ServiceDefinition(
                        .automationIO,
                        characteristics: digitals + [
                            CharacteristicDefinition(BluetoothUUID(0x2A5A), .read, value: [0, 1, 2])
                        ])
                ]))
        let module = AutomationIO(peripheral)
        // The bytes are in the order of the inputs: 0, 1, 2.
        let key = try await module.aggregateKey()
        return try key.coding.decode(try await peripheral.read(key.key.bytes))
    }

    @Test func `inputs are in the order of their descriptions, or else of their handles`() async throws {
        let inOrder: [[DigitalState]] = [[.inactive], [.active], [.triState]]
        let described = [digital(2, place: 3), digital(0, place: 1), digital(1, place: 2)]
        #expect(try await aggregate(described).digitals == inOrder)
        #expect(
            try await aggregate([digital(0, place: nil), digital(1, place: nil), digital(2, place: nil)]).digitals
                == inOrder)
    }

    @Test func `an input of four signals takes its place among the others`() async throws {
        var wide = digital(0, place: 1)
        wide.descriptors[0] = DescriptorDefinition(BluetoothUUID(0x2909), value: [5])
        let result = try await aggregate([digital(0, place: 2), wide])
        // By its descriptions, the wide input is first, and takes two bytes.
        #expect(result.digitals.map(\.count) == [5, 1])
    }
}
