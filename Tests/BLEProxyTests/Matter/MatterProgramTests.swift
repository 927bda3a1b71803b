import BLE
import BLEFakeBlueZ
import BLETestSupport
import BlueZTestSupport
import Testing

/// `ble proxy --matter` on a fake bluetoothd, with a Matter server on a WebSocket library of other authors.
@Suite(.startsProcesses, .hangLimit, .enabled(if: OtherPrograms.has("websockets")))
struct MatterProgramTests {
    @Test(arguments: [66, 82])
    func `a Matter server commissions a device through bluetoothd, and again after a restart`(
        _ minorVersion: Int
    ) async throws {
        let world = try await BlueZWorld(minorVersion: minorVersion, isAsInstalled: true)
        let device = MatterDevice("C0:00:00:00:00:01", discriminator: 0xABC)
        _ = await world.radio.add(device.definition)
        let result = try await OtherPrograms.matterSession(
            device: device.address.rawValue, bus: world.bus.address)
        let commissioned = [
            #"{"discriminator": 2748, "found": "C0:00:00:00:00:01", "name": "MATTER"}"#, #"{"more": "01020304"}"#,
            #"{"repeated": 100}"#,
        ]
        #expect(
            result.session.split(separator: "\n").dropFirst().map(String.init)
                == commissioned + [#"{"closed": 1001}"#, #"{"refused": "not_connected"}"#] + commissioned
                + [#"{"end": "disconnected"}"#, #"{"closed": 1000}"#, "ok"])
        let events = result.proxy.matches(of: /"event":"([A-Za-z]+)"/).map { String($0.1) }
        #expect(
            events == [
                "serverConnected", "connected", "disconnected", "serverLost", "serverConnected", "connected",
                "disconnected", "serverLost",
            ])
        // Its connection to the server ends with the proxy.
        #expect(result.proxy.contains(#""reason":"the proxy ends","retryAfter":null"#))
        #expect(result.proxy.contains(#""reason":"it closed the connection (1001, restart)""#))
        await world.daemon.kill()
    }
}
