import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct NordicUARTTests {
    private let world: SimulatedWorld
    private static let tx = Characteristic.nordicUARTTx.key.characteristic

    init() async throws { world = try await SimulatedWorld() }

    /// A board, and the packets that it has received.
    private func board(
        _ properties: CharacteristicProperties = [.write, .writeWithoutResponse], packetLength: Int = 23
    ) async throws -> (NordicUART, SimulatedPeripheral, SharedValue<[[UInt8]]>) {
        let received = SharedValue<[[UInt8]]>([])
        let service = ServiceDefinition(
            .nordicUART,
            characteristics: [
                CharacteristicDefinition(
                    Characteristic.nordicUARTRx.key.characteristic, properties,
                    onWrite: { bytes, _ in received.change { $0.append(bytes) } }),
                CharacteristicDefinition(Self.tx, .notify),
            ])
        let (peripheral, grip) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50), services: [service], maximumATTMTU: packetLength))
        return (NordicUART(peripheral), grip, received)
    }

    @Test func `the numbers are Nordic's`() {
        #expect(BluetoothUUID.nordicUART == BluetoothUUID("6E400001-B5A3-F393-E0A9-E50E24DCCA9E"))
        #expect(
            Characteristic.nordicUARTRx.key.characteristic == BluetoothUUID("6E400002-B5A3-F393-E0A9-E50E24DCCA9E"))
        #expect(Self.tx == BluetoothUUID("6E400003-B5A3-F393-E0A9-E50E24DCCA9E"))
        #expect(Characteristic.nordicUARTRx.key.service == .nordicUART)
        #expect(Characteristic.nordicUARTTx.key.service == .nordicUART)
    }

    @Test(arguments: [(23, 20), (100, 97), (247, 244), (517, 512)])
    func `what is sent is cut to what the link takes`(_ packetLength: Int, _ part: Int) async throws {
        let (uart, _, received) = try await board(packetLength: packetLength)
        let bytes = (0..<1000).map { UInt8($0 % 251) }
        try await uart.send(bytes)
        await until { received.value.reduce(0) { $0 + $1.count } == 1000 }
        #expect(received.value.flatMap { $0 } == bytes)
        #expect(received.value.map(\.count).dropLast().allSatisfy { $0 == part })
    }

    @Test func `a receiver that wants to answer is written so, in packets`() async throws {
        let (uart, _, received) = try await board(.write)
        try await uart.send("a line that needs more than one packet\n")
        #expect(received.value.map(\.count) == [20, 19])
        #expect(String(decoding: received.value.joined(), as: UTF8.self) == "a line that needs more than one packet\n")
        try await uart.send([])
        #expect(received.value.count == 2)
    }

    @Test func `a writer keeps the order, and there is one at a time`() async throws {
        let (uart, _, received) = try await board()
        let writer = try await uart.writer()
        for number in 0..<100 { try await writer.write("\(number) ") }
        let expected = (0..<100).map { "\($0) " }.joined()
        await until { received.value.reduce(0) { $0 + $1.count } == expected.utf8.count }
        #expect(String(decoding: received.value.joined(), as: UTF8.self) == expected)
        await expectError(.busy) { try await uart.writer() }
        writer.close()
        await expectError(.disconnected) { try await writer.write([1]) }
        try await uart.send([1])
        await until { received.value.last == [1] }
    }

    @Test func `bytes come as they are`() async throws {
        let (uart, grip, _) = try await board()
        var bytes = try await uart.bytes().makeAsyncIterator()
        await grip.notify([1, 0, 255], from: Self.tx)
        await grip.notify([], from: Self.tx)
        #expect(try await bytes.next() == [1, 0, 255])
        #expect(try await bytes.next() == [])
    }

    @Test func `lines come whole, also across packets`() async throws {
        let (uart, grip, _) = try await board()
        var lines = try await uart.lines().makeAsyncIterator()
        for part in [[0x47, 0x72, 0xC3], [0xB6, 0xC3, 0x9F, 0x65, 0x0D], [0x0A, 0x32, 0x0A, 0x33], [0x0A]] as [[UInt8]]
        {
            await grip.notify(part, from: Self.tx)
        }
        #expect(try await lines.next() == "Größe")
        #expect(try await lines.next() == "2")
        #expect(try await lines.next() == "3")
    }

    @Test func `a line that is too long is an error, and the next is read`() async throws {
        let (uart, grip, _) = try await board()
        var lines = try await uart.lines(limit: 5).makeAsyncIterator()
        for part in ["12345\n123456", "789\nok\n"] { await grip.notify(Array(part.utf8), from: Self.tx) }
        #expect(try await lines.next() == "12345")
        let error = await expectError(.invalidValue) { try await lines.next() }
        #expect(error?.cause as? TextLineError == .tooLong(limit: 5))
        #expect(error?.peripheral == grip.id)
        #expect(error?.characteristic == Self.tx)
        #expect(try await lines.next() == "ok")
    }

    @Test func `a reader that is too slow loses nothing unnoticed`() async throws {
        let (uart, grip, _) = try await board()
        var lines = try await uart.lines(overflow: .fail(capacity: 2)).makeAsyncIterator()
        for number in 0..<5 { await grip.notify(Array("\(number)\n".utf8), from: Self.tx) }
        #expect(try await lines.next() == "0")
        #expect(try await lines.next() == "1")
        await expectError(.overflow) { try await lines.next() }
    }

    @Test func `a line that a lost link has cut is left out`() async throws {
        let (uart, grip, _) = try await board()
        try await uart.peripheral.setConnectionPolicy(
            .maintained(backoff: Backoff(initial: .zero, factor: 1, maximum: .zero)))
        var lines = try await uart.lines().makeAsyncIterator()
        await grip.notify(Array("one\ntw".utf8), from: Self.tx)
        #expect(try await lines.next() == "one")
        await grip.dropLink()
        await world.asTimePasses { await until { await grip.subscriberCount(of: Self.tx) == 1 } }
        await grip.notify(Array("three\n".utf8), from: Self.tx)
        #expect(try await lines.next() == "three")
    }

    @Test func `a board that drops ends the lines`() async throws {
        let (uart, grip, _) = try await board()
        var lines = try await uart.lines().makeAsyncIterator()
        await grip.dropLink()
        await expectError(.disconnected) { try await lines.next() }
    }

    @Test func `a thing without the service, or a receiver, says so`() async throws {
        let (thing, _) = try await world.add(.battery())
        await expectError(.serviceNotFound) { try await NordicUART(thing).lines() }
        await expectError(.serviceNotFound) { try await NordicUART(thing).send([1]) }
        let service = ServiceDefinition(
            .nordicUART, characteristics: [CharacteristicDefinition(Self.tx, .notify)])
        let (deaf, _) = try await world.add(
            PeripheralDefinition(advertisement: Advertisement(rssi: -50), services: [service]))
        await expectError(.characteristicNotFound) { try await NordicUART(deaf).send([1]) }
    }
}
