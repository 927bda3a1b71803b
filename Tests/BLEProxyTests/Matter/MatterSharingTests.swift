import BLE
import BLEDefinitions
import BLEESPHome
import BLESimulation
import BLETestSupport
import BLETesting
import Testing

@testable import BLEProxy

/// A Matter server and clients of the same radio.
@Suite(.hangLimit)
struct MatterSharingTests {
    private func link(_ number: Int, _ more: [String: JSON] = [:]) -> [String: JSON] {
        more.merging(["connection_handle": .int(number)]) { $1 }
    }

    @Test func `a device belongs to the server or to a client of the same radio`() async throws {
        let clients = SharedValue<ProxyServer?>(nil)
        let world = try await MatterWorld(clients: { central in
            let server = ProxyServer(
                central, .init(name: "attic", address: "AA:BB:CC:DD:EE:FF", key: nil, connectionLimit: 2))
            clients.change { $0 = server }
            return server
        })
        let proxy = try #require(clients.value)
        let client = try await RawClient(proxy)
        let server = try await world.server()
        let number = try await world.connect(server)
        let device = try #require(DeviceAddress(world.devices[0].address)?.rawValue)
        func connect() async throws -> ProxyMessage? {
            client.send(.request(.connectWithoutCache, address: device, addressType: nil))
            let answer = SharedValue<ProxyMessage?>(nil)
            try await client.until { message in
                guard case .connection(device, _, _, _) = message else { return false }
                answer.change { $0 = message }
                return true
            }
            return answer.value
        }
        guard case .connection(_, false, _, _)? = try await connect() else { Issue.record(); return }
        #expect(try await server.command("request_mtu", link(number)) == ["mtu": 247])
        _ = try await server.command("disconnect", link(number))
        guard case .connection(_, true, _, _)? = try await connect() else { Issue.record(); return }
        let refused = try await server.command("connect", ["address": .string(world.devices[0].address.rawValue)])
        #expect(refused == ["error": "connection_failed"])
        // The other device is free.
        #expect(try await world.connect(server, device: 1) == 3)
        client.close()
        try await world.end()
        await proxy.close()
    }

    @Test func `a client that asks for a device whose link is ending for the server gets it then`() async throws {
        let clients = SharedValue<ProxyServer?>(nil)
        let world = try await MatterWorld(clients: { central in
            let server = ProxyServer(central, .init(name: "attic", address: "AA:BB:CC:DD:EE:FF", key: nil))
            clients.change { $0 = server }
            return server
        })
        let proxy = try #require(clients.value)
        let client = try await RawClient(proxy)
        let server = try await world.server()
        let number = try await world.connect(server)
        let device = try #require(DeviceAddress(world.devices[0].address)?.rawValue)
        let held = await world.peripherals[0].hold(.disconnect)
        let end = server.begin("disconnect", link(number))
        await until { await proxy.isEnding(device) }
        client.send(.request(.connectWithoutCache, address: device, addressType: nil))
        await until { await proxy.isAwaited(device) }
        await held.release()
        #expect(try await server.answer(end) == [:])
        let earlier = try await client.until { message in
            if case .connection(device, true, _, _) = message { true } else { false }
        }
        let refusals = earlier.count { if case .connection = $0 { true } else { false } }
        #expect(refusals == 0)
        client.close()
        try await world.end()
        await proxy.close()
    }

    @Test(arguments: [false, true])
    func `the server gets a device whose link is ending for a client then, unless its time passes before`(
        _ isLate: Bool
    ) async throws {
        let clients = SharedValue<ProxyServer?>(nil)
        let world = try await MatterWorld(clients: { central in
            let server = ProxyServer(central, .init(name: "attic", address: "AA:BB:CC:DD:EE:FF", key: nil))
            clients.change { $0 = server }
            return server
        })
        let proxy = try #require(clients.value)
        let client = try await RawClient(proxy)
        let server = try await world.server()
        let id = world.devices[0].address
        let device = try #require(DeviceAddress(id)?.rawValue)
        _ = try await server.command("start_scan")
        _ = try await server.found(id)
        client.send(.request(.connectWithoutCache, address: device, addressType: nil))
        try await client.until { if case .connection(device, true, _, _) = $0 { true } else { false } }
        let held = await world.peripherals[0].hold(.disconnect)
        client.send(.request(.disconnect, address: device, addressType: nil), .ping)
        try await client.until { $0 == .pingAnswer }
        let attempt = server.begin("connect", ["address": .string(id.rawValue), "timeout": .int(50)])
        await until { await proxy.isAwaited(device) }
        if isLate {
            await world.clock.sleepers(for: .milliseconds(50))
            world.clock.advance(by: .milliseconds(50))
            #expect(try await server.answer(attempt) == ["error": "timeout"])
            await until { await !proxy.isAwaited(device) }
        }
        await held.release()
        if !isLate { #expect(try await server.answer(attempt)["connection_handle"] == 1) }
        try await client.until { if case .connection(device, false, _, _) = $0 { true } else { false } }
        // Nobody has it if the server has given it up.
        client.send(.request(.connectWithoutCache, address: device, addressType: nil))
        try await client.until { if case .connection(device, isLate, _, _) = $0 { true } else { false } }
        client.close()
        try await world.end()
        await proxy.close()
    }

    @Test func `clients may not take what is owed to a server that waits for a link to end`() async throws {
        let clients = SharedValue<ProxyServer?>(nil)
        let world = try await MatterWorld(clients: { central in
            let server = ProxyServer(
                central, .init(name: "attic", address: "AA:BB:CC:DD:EE:FF", key: nil, connectionLimit: 3))
            clients.change { $0 = server }
            return server
        })
        let proxy = try #require(clients.value)
        let (former, other) = (try await RawClient(proxy), try await RawClient(proxy))
        let server = try await world.server()
        let devices = try world.devices.map { try #require(DeviceAddress($0.address)?.rawValue) }
        _ = try await server.command("start_scan")
        _ = try await server.found(world.devices[0].address)
        for (client, device) in zip([former, other], devices) {
            client.send(.request(.connectWithoutCache, address: device, addressType: nil))
            try await client.until { if case .connection(device, true, _, _) = $0 { true } else { false } }
        }
        func untilFree(_ count: UInt32) async throws {
            try await other.until { if case .slots(let slots) = $0 { slots.free == count } else { false } }
        }
        other.send(.subscribeSlots)
        try await untilFree(1)
        let held = await world.peripherals[0].hold(.disconnect)
        former.send(.request(.disconnect, address: devices[0], addressType: nil), .ping)
        try await former.until { $0 == .pingAnswer }
        let address: [String: JSON] = ["address": .string(world.devices[0].address.rawValue), "timeout": .int(50)]
        let attempt = server.begin("connect", address)
        try await untilFree(0)
        // It waits no longer.
        await world.clock.sleepers(for: .milliseconds(50))
        world.clock.advance(by: .milliseconds(50))
        #expect(try await server.answer(attempt) == ["error": "timeout"])
        try await untilFree(1)
        await held.release()
        for client in [former, other] { client.close() }
        try await world.end()
        await proxy.close()
    }
}

extension ProxyServer {
    fileprivate func isEnding(_ address: UInt64) -> Bool { slots.hold(of: address).map(slots.isEnding) ?? false }

    fileprivate func isAwaited(_ address: UInt64) -> Bool { awaited[address] != nil }
}
