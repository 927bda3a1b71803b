import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport
import Testing

/// Frames with checksums through a session, to a simulated robot.
@Suite(.hangLimit) struct ChecksumCodecTests {
    private let world: SimulatedWorld
    private let service = BluetoothUUID(0xDFB0)
    private let commands = BluetoothUUID(0xDFB1)
    private let reports = BluetoothUUID(0xDFB2)
    private let written = SharedValue<[[UInt8]]>([])

    init() async throws { world = try await SimulatedWorld() }

    /// A robot that records the frames, and the session with it.
    private func robot() async throws -> (TransactionSession<ChecksumCodec>, SimulatedPeripheral) {
        let definition = PeripheralDefinition(
            advertisement: Advertisement(localName: "Robot", rssi: -50, serviceUUIDs: [service]),
            services: [
                ServiceDefinition(
                    service,
                    characteristics: [
                        CharacteristicDefinition(
                            commands, .writeWithoutResponse,
                            onWrite: { [written] (bytes, _) throws(ATTError) in written.change { $0.append(bytes) } }),
                        CharacteristicDefinition(reports, .notify),
                    ])
            ])
        let (peripheral, grip) = try await world.add(definition)
        let configuration = TransactionConfiguration(
            request: CharacteristicKey(service: service, characteristic: commands),
            reply: CharacteristicKey(service: service, characteristic: reports), writeType: .withoutResponse)
        return (TransactionSession(peripheral, codec: ChecksumCodec(), configuration: configuration), grip)
    }

    @Test func `frames arrive whole, in order, with their checksums`() async throws {
        let (session, _) = try await robot()
        // Rainbow; backward light; drive forward.
        try await session.post(ChecksumFrame([ChecksumFrame.Command(id: 0x50, body: [0x51])]))
        try await session.post(
            ChecksumFrame([
                ChecksumFrame.Command(id: 0x13, body: [0x14, 255, 128, 40]),
                ChecksumFrame.Command(id: 0x20, body: [0x21, 0x01, 0x80]),
            ]))
        await until { written.value.count >= 2 }
        #expect(
            written.value == [
                [0x2A, 0x2A, 0x2A, 0x2A, 1, 0x50, 0x51, 0x51],
                [0x2A, 0x2A, 0x2A, 0x2A, 2, 0x13, 0x14, 255, 128, 40, 0xBB, 0x20, 0x21, 0x01, 0x80, 0xA2],
            ])
    }

    @Test func `what the robot notifies reaches the listeners, and answers nothing`() async throws {
        let (session, grip) = try await robot()
        try await session.start()
        var reports = await session.notifications().makeAsyncIterator()
        await grip.notify([1, 2], from: self.reports)
        #expect(try await reports.next() == [1, 2])
        let sending = Task { try await session.send(ChecksumFrame([]), timeout: .seconds(5)) }
        await world.clock.sleepers(1, for: .seconds(5))
        await grip.notify([3], from: self.reports)
        #expect(try await reports.next() == [3])
        world.clock.advance(by: .seconds(5))
        await expectError(.commandTimedOut) { try await sending.value }
    }

    @Test func `a frame that is too long is refused, and the next is sent`() async throws {
        let (session, _) = try await robot()
        let command = ChecksumFrame.Command(id: 1, body: [])
        await expectError(.invalidMessage) {
            try await session.post(ChecksumFrame(Array(repeating: command, count: 256)))
        }
        try await session.post(ChecksumFrame([command]))
        await until { written.value.count >= 1 }
        #expect(written.value == [[0x2A, 0x2A, 0x2A, 0x2A, 1, 1, 0]])
    }
}
