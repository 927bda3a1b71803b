import BLESimulation
import BLETestSupport
import Testing

@testable import BLE

@Suite(.hangLimit) struct CentralLinkTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }
    private let long = [UInt8](repeating: 1, count: 245)

    init() async throws { bench = try await Bench() }

    @Test func `a command that does not fit a packet is refused before it is sent`() async throws {
        try await strap.write(long.dropLast(), to: Bench.command.key.bytes, type: .withoutResponse)
        let error = await expectError(.invalidLength) {
            try await strap.write(long, to: Bench.command, type: .withoutResponse)
        }
        #expect(error?.characteristic == Bench.command.key.characteristic)
        #expect(error?.isRetryable == false)
        #expect(error?.remedy != nil)
        #expect(await bench.backend.count(.write) == 1)
        try await strap.write(long, to: Bench.command, type: .withResponse)
    }

    @Test func `the packet length is asked for once a link, and again before something is refused`() async throws {
        for _ in 0..<3 {
            try await strap.write([UInt8](long.prefix(21)), to: Bench.command.key.bytes, type: .withoutResponse)
        }
        #expect(await bench.backend.count(.attMTU) == 1)
        // It has grown.
        await bench.backend.set(attMTU: 517)
        try await strap.write(long, to: Bench.command, type: .withoutResponse)
        #expect(await bench.backend.count(.attMTU) == 2)
        await bench.dropLink()
        await bench.backend.set(attMTU: 23)
        await expectError(.invalidLength) {
            try await strap.write([UInt8](long.prefix(21)), to: Bench.command.key.bytes, type: .withoutResponse)
        }
        #expect(await bench.backend.count(.attMTU) == 3)
    }

    @Test func `what every link carries is sent without asking`() async throws {
        try await strap.write([UInt8](long.prefix(20)), to: Bench.command.key.bytes, type: .withoutResponse)
        #expect(await bench.backend.count(.attMTU) == 0)
    }

    @Test func `without a known packet length, the stack decides`() async throws {
        await bench.backend.script(.attMTU, .fail(Bench.error(.notSupported)))
        try await strap.write(long, to: Bench.command, type: .withoutResponse)
        await bench.backend.script(.attMTU, .fail(Bench.error(.notSupported)))
        let error = await expectError(.notSupported) { try await strap.maximumWriteLength(for: .withoutResponse) }
        #expect(error?.peripheral == strap.id)
    }

    @Test func `the longest write is an attribute's, or what fits a packet`() async throws {
        await bench.backend.set(attMTU: 100)
        #expect(try await strap.maximumWriteLength(for: .withoutResponse) == 97)
        #expect(try await strap.maximumWriteLength(for: .withResponse) == 512)
        #expect(try await strap.maximumWriteLength(for: .reliable) == 512)
        await bench.backend.set(attMTU: 517)
        #expect(try await strap.maximumWriteLength(for: .withoutResponse) == 512)
    }

    @Test func `reading the signal strength connects`() async throws {
        #expect(try await strap.signalStrength() == -50)
        #expect(await bench.backend.count(.connect) == 1)
    }

    @Test func `the end of the link ends what asks about it`() async throws {
        for operation in [ScriptedBackend.Operation.signalStrength, .attMTU] {
            await bench.backend.script(operation, .ignore)
            let asking = Task { [strap] in
                operation == .signalStrength ? try await strap.signalStrength() : try await strap.attMTU()
            }
            await bench.backend.asked(operation)
            await bench.dropLink()
            await expectError(.disconnected) { try await asking.value }
            await bench.backend.release(operation)
        }
    }

    @Test(arguments: [
        (offset: -1, count: 1, code: BLEError.Code.invalidOffset), (offset: 513, count: 0, code: .invalidOffset),
        (offset: 512, count: 1, code: .invalidLength), (offset: 1, count: 512, code: .invalidLength),
        (offset: Int.max, count: 1, code: .invalidOffset),
    ])
    func `what no attribute can hold is refused without connecting`(
        _ offset: Int, _ count: Int, _ code: BLEError.Code
    ) async {
        let value = [UInt8](repeating: 0, count: count)
        await expectError(code) { try await strap.writeBytes(value, to: Bench.command.key, offset: offset) }
        #expect(await bench.backend.count(.connect) == 0)
    }

    @Test func `a command has no offset`() async {
        await expectError(.invalidArgument) {
            try await strap.writeBytes([1], to: Bench.command.key, type: .withoutResponse, offset: 1)
        }
    }

    @Test func `reliable writing wants its property`() async {
        await expectError(.notSupported) { try await strap.write([1], to: Bench.command, type: .reliable) }
        #expect(await bench.backend.count(.write) == 0)
    }

    @Test func `the ATT MTU of the link before is not believed, even if it was answered late`() {
        let link = Link(strap.id)
        link.setATTMTU(247)
        link.discovered(Bench.database)
        #expect(link.attMTU == nil)
    }

    @Test func `connected peripherals are distinguished by their services`() async {
        let (advertised, found) = (BluetoothUUID(0x180D), BluetoothUUID(0xFF00))
        func known(_ name: String, _ isConnected: Bool, _ services: Set<BluetoothUUID>? = nil) -> KnownPeripheral {
            KnownPeripheral(
                id: Peripheral.ID(rawValue: name), advertisement: Advertisement(serviceUUIDs: [advertised]),
                isConnected: isConnected, services: services)
        }
        await bench.backend.set([known("a", true), known("b", false), known("c", true, [found])])
        #expect(await bench.central.connectedPeripherals().map(\.id.rawValue) == ["a", "c"])
        #expect(await bench.central.connectedPeripherals(with: advertised).map(\.id.rawValue) == ["a"])
        #expect(await bench.central.connectedPeripherals(with: found).map(\.id.rawValue) == ["c"])
        #expect(await bench.backend.count(.connect) == 0)
    }
}
