import BLE
import BLEDefinitions
import BLESimulation
import BLETestSupport
import BLETesting
import Testing

@testable import BLEProxy

/// The scan for a Matter server.
@Suite(.hangLimit)
struct MatterScanTests {
    @Test func `a scan is answered when the radio has agreed to it, or with its refusal`() async throws {
        let world = try await MatterWorld()
        let server = try await world.server()
        let held = await world.radio.hold(.scan)
        let start = server.begin("start_scan")
        await held.disturbed()
        // This is answered in the meantime.
        let unknown: [String: JSON] = ["address": .string(world.devices[0].address.rawValue)]
        #expect(try await server.command("connect", unknown) == ["error": "device_not_found"])
        #expect(!server.hasAnswer(start))
        await held.release()
        #expect(try await server.answer(start) == [:])
        _ = try await server.found(world.devices[0].address)
        #expect(try await server.command("stop_scan") == [:])
        await until { await !world.central.isScanning }
        await world.radio.fail(.scan, .next(1))
        #expect(try await server.command("start_scan") == ["error": "bluetooth_unavailable"])
        #expect(try await server.command("start_scan") == [:])
        try await world.end()
    }

    @Test func `a scan is stopped and started in one message after the other`() async throws {
        let world = try await MatterWorld()
        let server = try await world.server()
        func send(_ names: String...) async throws -> [[String: JSON]] {
            let ids = names.map { server.begin($0) }
            var answers: [[String: JSON]] = []
            for id in ids { answers.append(try await server.answer(id)) }
            return answers
        }
        #expect(try await send("start_scan") == [[:]])
        #expect(try await send("stop_scan", "start_scan") == [[:], [:]])
        let told = server.events("device_discovered").count
        try await server.until { RawMatterServer.events("device_discovered", $0).count > told }
        #expect(try await send("stop_scan", "start_scan", "stop_scan").last == [:])
        #expect(try await send("stop_scan") == [["error": "not_scanning"]])
        // It may have begun before it was stopped.
        #expect(try await send("start_scan", "stop_scan").last == [:])
        await until { await !world.central.isScanning }
        try await world.end()
    }

    @Test func `without an adapter, a scan does not begin`() async throws {
        let world = try await MatterWorld()
        let server = try await world.server()
        await world.radio.setPowered(false)
        await until { await world.central.adapterState == .poweredOff }
        #expect(try await server.command("start_scan") == ["error": "bluetooth_unavailable"])
        await world.radio.setPowered(true)
        await until { await world.central.adapterState == .poweredOn }
        #expect(try await world.connect(server) == 1)
        try await world.end()
    }

    @Test func `only devices that advertise Matter's service are found and reached`() async throws {
        let world = try await MatterWorld()
        let server = try await world.server()
        _ = try await server.command("start_scan")
        for device in world.devices { _ = try await server.found(device.address) }
        let other = world.peripherals[2].id
        // Another central of the same radio finds it meanwhile.
        _ = try await world.central.first(matching: .id(other))
        let answer = try await server.command("connect", ["address": .string(other.rawValue)])
        #expect(answer == ["error": "device_not_found"])
        let told = server.events("device_discovered").compactMap { $0["address"] }
        #expect(Set(told.map(\.text)) == Set(world.devices.map { JSON.string($0.address.rawValue).text }))
        try await world.end()
    }
}
