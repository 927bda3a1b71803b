import BLE
import BLEBlueZ
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

/// Connecting again, right after the end of a link.
@Suite(.startsProcesses, .hangLimit)
struct ReconnectionTests {
    /// A bluetoothd that has reported the end of a link has not yet handled that of its channel, with which it drops an
    /// attempt to connect. Real time, because nothing tells when it has.
    @Test(arguments: [false, true])
    func `an attempt to connect waits until the channel of the last link has ended`(_ endsItself: Bool) async throws {
        let world = try await BlueZWorld()
        let strap = await world.radio.add(.heartRateStrap(beatsPerMinute: 72))
        let central = try await world.makeCentral(.quiet(clock: ManualClock()))
        let peripheral = try await central.find(strap.id)
        try await peripheral.connect()
        if endsItself {
            await strap.disconnect()
            await until { await peripheral.connectionState == .disconnected }
        } else {
            try await peripheral.disconnect()
        }
        try await peripheral.connect()
        #expect(try #require(await world.daemon.shortestPause) >= .milliseconds(100))
        await central.shutDown()
    }

    @Test func `a new central waits, too: a link may have ended just before it began`() async throws {
        let world = try await BlueZWorld()
        let strap = await world.radio.add(.heartRateStrap(beatsPerMinute: 72))
        for _ in 1...2 {
            let central = try await world.makeCentral(.quiet(clock: ManualClock()))
            try await central.find(strap.id).connect()
            await central.shutDown()
        }
        #expect(try #require(await world.daemon.shortestPause) >= .milliseconds(100))
    }
}
