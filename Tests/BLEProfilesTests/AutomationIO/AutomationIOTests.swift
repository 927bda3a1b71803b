import BLE
import BLEAssignedNumbers
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct AutomationIOTests {
    private static let digital = BluetoothUUID(0x2A56)
    private static let analog = BluetoothUUID(0x2A58)
    private static let aggregate = BluetoothUUID(0x2A5A)

    /// A module with 5 digital inputs, 2 relays, an analog input with triggers, and an analog output that is only written.
    private func module(
        digitals count: [UInt8]? = [5], aggregate: [UInt8] = [0xE4, 0x01, 0x01, 0x39, 0x30]
    ) async throws -> (AutomationIO, SimulatedPeripheral) {
        let service = ServiceDefinition(
            .automationIO,
            characteristics: [
                CharacteristicDefinition(
                    Self.digital, [.read, .notify], value: [0xE4, 0x01],
                    descriptors: count.map { [DescriptorDefinition(BluetoothUUID(0x2909), value: $0)] } ?? []),
                CharacteristicDefinition(
                    Self.digital, [.read, .write, .writeWithoutResponse], value: [0x01],
                    descriptors: [DescriptorDefinition(BluetoothUUID(0x2909), value: [2])]),
                CharacteristicDefinition(
                    Self.analog, [.read, .notify], value: [0x39, 0x30],
                    descriptors: [
                        DescriptorDefinition(BluetoothUUID(0x290A), value: [1, 0x10, 0x27]),
                        DescriptorDefinition(BluetoothUUID(0x290E), value: [2, 60, 0, 0]),
                        DescriptorDefinition(
                            BluetoothUUID(0x2904),
                            value: PresentationFormat(
                                format: .uint16, exponent: -3, unit: BluetoothUUID(0x2728), description: 1
                            ).bytes),
                        DescriptorDefinition(BluetoothUUID(0x2906), value: [0, 0, 0xFF, 0x0F]),
                        DescriptorDefinition(BluetoothUUID(0x2901), value: Array("pressure".utf8)),
                    ]),
                CharacteristicDefinition(Self.analog, .writeWithoutResponse),
                CharacteristicDefinition(Self.aggregate, [.read, .notify], value: aggregate),
            ])
        let world = try await SimulatedWorld()
        let (peripheral, grip) = try await world.add(
            PeripheralDefinition(advertisement: Advertisement(rssi: -50), services: [service]))
        return (AutomationIO(peripheral), grip)
    }

    @Test(
        arguments: [
            (nil, [], []), (nil, [0xE4], [.inactive, .active, .triState, .unknown]), (0, [], []),
            (1, [0x01], [.active]), (4, [0xFF], [.unknown, .unknown, .unknown, .unknown]),
            (5, [0x55, 0x02], [.active, .active, .active, .active, .triState]),
        ] as [(Int?, [UInt8], [DigitalState])])
    func `states are two bits each`(_ count: Int?, _ bytes: [UInt8], _ states: [DigitalState]) throws {
        let coding = ValueCoding.digitals(count)
        #expect(try coding.decode(bytes) == states)
        #expect(try coding.encode(states) == bytes)
    }

    @Test func `a value of another number of signals is an error, what is left of a byte is not`() async throws {
        let coding = ValueCoding.digitals(5)
        #expect(try coding.decode([0x00, 0xFD]) == [.inactive, .inactive, .inactive, .inactive, .active])
        for bytes in [[], [0], [0, 0, 0]] as [[UInt8]] { await expectError(.invalidValue) { try coding.decode(bytes) } }
        await expectError(.invalidValue) { try coding.encode([.active]) }
        await expectError(.invalidValue) { try coding.encode(Array(repeating: .active, count: 6)) }
    }

    @Test(
        arguments: [
            ([0], .changed), ([1, 0x34, 0x12], .crossed(0x1234)), ([2, 1, 0], .onBoundary(1)),
            ([3, 0xFF, 0xFF], .changedByMore(than: 65535)), ([4, 0x03, 0x0C], .masked([0x03, 0x0C])),
            ([4], .masked([])),
            ([5, 1, 0, 2, 0], .inside(1, 2)), ([6, 2, 0, 1, 0], .onBoundaries(2, 1)), ([7], .never),
            ([8, 9], .reserved(condition: 8, operand: [9])),
        ] as [([UInt8], ValueTrigger)])
    func `a value trigger is a condition and what it takes`(_ bytes: [UInt8], _ trigger: ValueTrigger) throws {
        #expect(try ValueTrigger(bytes: bytes) == trigger)
        #expect(try trigger.encoded() == bytes)
    }

    @Test(
        arguments: [[], [0, 0], [1], [1, 0], [1, 0, 0, 0], [2], [3, 1], [5, 0, 0, 0], [6], [7, 0]] as [[UInt8]])
    func `a value trigger with too few bytes, or too many, is invalid`(_ bytes: [UInt8]) async {
        await expectError(.invalidValue) { try ValueTrigger(bytes: bytes) }
    }

    @Test(
        arguments: [
            ([0], .none), ([1, 0, 0, 1], .every(seconds: 65536)), ([2, 10, 0, 0], .noMoreOften(thanSeconds: 10)),
            ([3, 5, 0], .changes(count: 5)), ([4], .reserved(condition: 4, operand: [])),
        ] as [([UInt8], TimeTrigger)])
    func `a time trigger is a condition and what it takes`(_ bytes: [UInt8], _ trigger: TimeTrigger) throws {
        #expect(try TimeTrigger(bytes: bytes) == trigger)
        #expect(try trigger.encoded() == bytes)
        #expect(try TimeTrigger(bytes: [0, 0]) == .none)
    }

    @Test(arguments: [[], [1], [1, 0, 0], [1, 0, 0, 0, 0], [2, 0], [3], [3, 0], [3, 0, 0, 0]] as [[UInt8]])
    func `a time trigger with too few bytes, or too many, is invalid`(_ bytes: [UInt8]) async {
        await expectError(.invalidValue) { try TimeTrigger(bytes: bytes) }
    }

    @Test(
        arguments: [
            .every(seconds: -1), .every(seconds: 0x100_0000), .noMoreOften(thanSeconds: .max), .changes(count: 65536),
        ] as [TimeTrigger])
    func `what does not fit cannot be written`(_ trigger: TimeTrigger) async {
        await expectError(.invalidValue) { try trigger.encoded() }
    }

    @Test func `any bytes are a trigger, an aggregate or an error`() throws {
        var generator = SeededGenerator(seed: 5)
        let aggregate = AutomationAggregate.coding(digitalCounts: [3, 9], analogCount: 2)
        for count in 0...12 {
            for _ in 0..<200 {
                let bytes = (0..<count).map { UInt8.random(in: 0...($0 == 0 ? 9 : 255), using: &generator) }
                if let trigger = try? ValueTrigger(bytes: bytes) { #expect(try trigger.encoded() == bytes) }
                if let trigger = try? TimeTrigger(bytes: bytes) { try checkRoundTrip(trigger) }
                #expect((try? aggregate.decode(bytes)) != nil || count != 8)
            }
        }
    }

    @Test func `inputs and outputs are listed, read and set`() async throws {
        let (module, grip) = try await module()
        let digitals = try await module.digitals()
        #expect(digitals.map(\.isInput) == [true, true])
        #expect(digitals.map(\.isOutput) == [false, true])
        #expect(try await digitals[0].value() == [.inactive, .active, .triState, .unknown, .active])
        #expect(try await digitals[1].value() == [.active, .inactive])
        try await digitals[1].set([.inactive, .active])
        #expect(try await digitals[1].value() == [.inactive, .active])
        await expectError(.invalidValue) { try await digitals[1].set([.active]) }
        await expectError(.notSupported) { try await digitals[0].set(Array(repeating: .active, count: 5)) }
        var values = try await digitals[0].values().makeAsyncIterator()
        await grip.notify([0x00, 0x00], from: Self.digital)
        #expect(try await values.next() == Array(repeating: .inactive, count: 5))

        let analogs = try await module.analogs()
        #expect(analogs.map(\.isInput) == [true, false])
        #expect(try await analogs[0].value() == 12345)
        #expect(try await analogs[0].presentationFormat()?.exponent == -3)
        #expect(try await analogs[0].userDescription() == "pressure")
        #expect(try await analogs[0].validRange() == ValidRange(0, 4095))
        try await analogs[1].set(7)
        await expectError(.notSupported) { try await analogs[1].value() }
        await expectError(.notSupported) { try await analogs[1].values() }
    }

    @Test func `triggers are read and set`() async throws {
        let (module, _) = try await module()
        let analogs = try await module.analogs()
        #expect(try await analogs[0].valueTrigger() == .crossed(10000))
        #expect(try await analogs[0].timeTrigger() == .noMoreOften(thanSeconds: 60))
        try await analogs[0].setValueTrigger(.inside(10, 20))
        try await analogs[0].setTimeTrigger(.changes(count: 3))
        #expect(try await analogs[0].valueTrigger() == .inside(10, 20))
        #expect(try await analogs[0].timeTrigger() == .changes(count: 3))
        #expect(try await analogs[1].valueTrigger() == nil)
        #expect(try await analogs[1].timeTrigger() == nil)
        await expectError(.characteristicNotFound) { try await analogs[1].setValueTrigger(.never) }
    }

    @Test func `all inputs are read at once`() async throws {
        let (module, grip) = try await module()
        let expected = AutomationAggregate(
            digitals: [[.inactive, .active, .triState, .unknown, .active], [.active, .inactive]], analogs: [12345])
        #expect(try await module.aggregate() == expected)
        let key = try await module.aggregateKey()
        #expect(try key.coding.encode(expected) == [0xE4, 0x01, 0x01, 0x39, 0x30])
        await expectError(.invalidValue) { try key.coding.encode(AutomationAggregate()) }
        var aggregates = try await module.aggregates().makeAsyncIterator()
        await grip.notify([0, 0, 0, 1, 0], from: Self.aggregate)
        await grip.notify([0, 0, 0, 1], from: Self.aggregate)
        #expect(try await aggregates.next()?.analogs == [1])
        await expectError(.invalidValue) { try await aggregates.next() }
    }

    @Test func `without a number of signals, there are four for each byte`() async throws {
        let (module, _) = try await module(digitals: nil)
        #expect(try await module.digitals()[0].value().count == 8)
        let error = await expectError(.invalidValue) { try await module.aggregate() }
        #expect(error?.characteristic == Self.digital)
        let (malformed, _) = try await self.module(digitals: [1, 2])
        await expectError(.invalidValue) { try await malformed.digitals() }
    }

    @Test func `the keys are of the service`() {
        #expect(Characteristic.digital.key == CharacteristicKey(service: .automationIO, characteristic: Self.digital))
        #expect(Characteristic.analog.key == CharacteristicKey(service: .automationIO, characteristic: Self.analog))
        #expect(BluetoothUUID.automationIO.name == "Automation IO")
        #expect(Self.aggregate.name == "Aggregate")
    }

    @Test func `a thing without the service says so`() async throws {
        let world = try await SimulatedWorld()
        let (thing, _) = try await world.add(.battery())
        await expectError(.serviceNotFound) { try await AutomationIO(thing).digitals() }
        await expectError(.serviceNotFound) { try await AutomationIO(thing).aggregate() }
    }
}
