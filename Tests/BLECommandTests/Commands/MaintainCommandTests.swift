import BLE
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// The effects of `--maintain`.
@Suite(.startsProcesses, .hangLimit)
struct MaintainCommandTests {
    private let world: BlueZWorld

    init() async throws { world = try await BlueZWorld() }

    @Test func `heart-rate goes on after the link is lost, and says that there is a gap`() async throws {
        let strap = await world.radio.add(.heartRateStrap())
        let result = try await world.ble("heart-rate", "--maintain", "--json", "--count", "4").afterFirstLine { _ in
            await strap.dropLink()
        }
        #expect(result.status == 0)
        let objects = try result.objects
        #expect(objects.count { $0["event"] as? String == "gap" } == 1)
        #expect(objects.count { $0["beatsPerMinute"] != nil } == 4)
    }

    @Test func `notify goes on after the death of bluetoothd`() async throws {
        let strap = await world.radio.add(.heartRateStrap())
        let result = try await world.ble("notify", "Simulated", "heart-rate-measurement", "--maintain", "--count", "3")
            .afterFirstLine { _ in
                await world.daemon.kill()
                try await world.daemon.start()
            }
        #expect(result.status == 0)
        #expect(result.output.split(separator: "\n").count == 3)
        #expect(result.errors.contains("values may be missing"))
        #expect(result.errors.contains("waiting"))
        #expect(await strap.isConnected == false)
    }

    @Test func `notify waits from before bluetoothd, the adapter and the peripheral`() async throws {
        let strap = await world.radio.add(.heartRateStrap())
        await strap.setAdvertising(false)
        await world.daemon.setPresent(false)
        await world.daemon.kill()
        let address = strap.id.rawValue.lowercased().replacing(":", with: "-")
        let tool = world.ble("notify", address, "heart-rate-measurement", "--maintain", "--count", "1", "-v")
        let result = try await tool.run { program in
            try await program.errors.until("waiting for Bluetooth")
            try await world.daemon.start()
            try await program.until { await world.daemon.calls["GetManagedObjects"] ?? 0 > 0 }
            await world.daemon.setPresent(true)
            try await program.until { await world.daemon.isDiscovering }
            await strap.setAdvertising(true)
        }
        #expect(result.status == 0)
        #expect(result.output.split(separator: "\n").count == 1)
    }

    @Test func `connect shows what happens to a link that it keeps up, until it is interrupted`() async throws {
        let strap = await world.radio.add(.heartRateStrap())
        let tool = world.ble("connect", "Simulated", "--maintain", "--json")
        let result = try await tool.afterFirstLine { program in
            try await program.until { await strap.isConnected }
            await strap.dropLink()
            try await program.until { await strap.isConnected }
            program.send(.interrupt)
        }
        #expect(result.status == 130)
        let objects = try result.objects
        #expect(
            Set(try #require(objects.first).keys) == ["event", "id", "reason", "message", "retryAfter"])
        let events = objects.compactMap { $0["event"] as? String }
        #expect(events.starts(with: ["connecting"]))
        // The link may have been lost before its services were known.
        #expect(events.contains { ["disconnected", "failed"].contains($0) })
        #expect(events.count { $0 == "connecting" } >= 2)
        #expect(await strap.isConnected == false)
    }

    @Test func `connect without --maintain ends with the link`() async throws {
        let strap = await world.radio.add(.heartRateStrap())
        let result = try await world.ble("connect", "Simulated").afterFirstLine { program in
            try await program.until { await strap.isConnected }
            // Its link may still be on its way.
            await strap.dropLink()
        }
        #expect([14, 15].contains(result.status))
    }
}
