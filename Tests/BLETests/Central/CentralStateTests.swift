import BLE
import BLETestSupport
import Testing

@Suite(.hangLimit) struct CentralStateTests {
    @Test func `one state says what the adapter, the scan and the links say`() async throws {
        let bench = try await Bench()
        var states = await bench.central.states().makeAsyncIterator()
        #expect(try await states.next() == .disconnected)
        let scan = Task { [central = bench.central] in for try await _ in central.discoveries() {} }
        #expect(try await states.next() == .scanning)
        try await bench.strap.connect()
        #expect(try await states.next() == .connected)
        // Neither a second link nor the end of the scan is another state.
        try await bench.lamp.connect()
        scan.cancel()
        await bench.backend.asked(.stopDiscovery)
        await until { await !bench.central.isScanning }
        try await bench.lamp.disconnect()
        #expect(await bench.central.state == .connected)
        try await bench.strap.disconnect()
        #expect(try await states.next() == .disconnected)
        let lost = Bench.error(.bluetoothLost)
        await bench.backend.emit(.stackLost(lost), .adapterStateChanged(.resetting))
        #expect(try await states.next() == .resetting)
        await bench.backend.emit(.adapterStateChanged(.unavailable))
        #expect(try await states.next() == .unavailable)
        await bench.backend.emit(.adapterStateChanged(.poweredOff))
        #expect(try await states.next() == .poweredOff)
        await bench.central.shutDown()
        await expectError(.shutDown) { try await states.next() }
    }

    @Test func `a central that was shut down has neither a link nor a scan`() async throws {
        let bench = try await Bench()
        let scan = Task { [central = bench.central] in for try await _ in central.discoveries() {} }
        await until { await bench.central.isScanning }
        try await bench.strap.connect()
        #expect(await bench.central.state == .connected)
        await bench.central.shutDown()
        #expect(await bench.central.state == .disconnected)
        _ = await scan.result
    }
}
