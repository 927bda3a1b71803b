import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct UnhandledErrorTests {
    private let bench: Bench

    init() async throws { bench = try await Bench() }

    private struct Oops: Error {}

    @Test func `an error of a handler is reported, and so is one of an attempt without a caller`() async throws {
        var errors = await bench.central.unhandledErrors().makeAsyncIterator()
        await bench.strap.setConnectionHandler { _ in throw Oops() }
        try await bench.strap.connect()
        let handler = try await errors.next()
        #expect(handler?.message.contains("Oops") == true)
        #expect(handler?.cause is Oops)
        #expect(handler?.peripheral == bench.strap.id)
        await bench.strap.setConnectionHandler(nil)
        try await bench.strap.disconnect()
        await bench.backend.script(.connect, .fail(Bench.error(.connectionFailed)), .succeed)
        try await bench.maintain()
        #expect(try await errors.next()?.code == .connectionFailed)
        try await bench.strap.disconnect()
    }

    @Test func `an error that a caller receives is not reported a second time`() async throws {
        let errors = await bench.central.unhandledErrors()
        await bench.backend.script(.connect, .fail(Bench.error(.connectionFailed)))
        await expectError(.connectionFailed) { try await bench.strap.connect() }
        await bench.backend.script(.startDiscovery, .fail(Bench.error(.busy)))
        await expectError(.busy) { try await bench.central.first(matching: .any) }
        await bench.backend.emit(.stackLost(Bench.error(.bluetoothLost)))
        var iterator = errors.makeAsyncIterator()
        #expect(try await iterator.next()?.code == .bluetoothLost)
    }

    @Test func `the stream ends with the central`() async throws {
        let errors = await bench.central.unhandledErrors()
        await bench.central.shutDown()
        await expectError(.shutDown) { for try await _ in errors {} }
        let late = await bench.central.unhandledErrors()
        await expectError(.shutDown) { for try await _ in late {} }
    }
}
