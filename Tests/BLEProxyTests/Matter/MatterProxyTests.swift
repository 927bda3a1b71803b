import BLE
import BLEDefinitions
import BLEESPHome
import BLESimulation
import BLETestSupport
import BLETesting
import Testing

@testable import BLEProxy

/// What a Matter server does with devices through the proxy.
@Suite(.hangLimit)
struct MatterProxyTests {
    private func link(_ number: Int, _ more: [String: JSON] = [:]) -> [String: JSON] {
        more.merging(["connection_handle": .int(number)]) { $1 }
    }

    private func isDisconnected(_ world: MatterWorld, _ device: Int = 0) async -> Bool {
        await world.central.peripheral(world.devices[device].address).connectionState == .disconnected
    }

    @Test func `a device is found, connected, and answers on Matter's characteristics`() async throws {
        let world = try await MatterWorld()
        var events = world.events.makeAsyncIterator()
        let server = try await world.server()
        #expect(server.state.value.request?.hasPrefix("GET /ble HTTP/1.1\r\nHost: hub.local:5580\r\n") == true)
        #expect(try await events.next() == .serverConnected)

        let scan: [String: JSON] = ["service_uuids": .array(["fff6"]), "allow_duplicates": false]
        #expect(try await server.command("start_scan", scan) == [:])
        let device = world.devices[0]
        let told = try await server.found(device.address)
        #expect(told["name"] == "MATTER")
        #expect(told["rssi"] == .int(-60))
        #expect(told["connectable"] == true)
        #expect(told["service_data"] == .object(["fff6": MatterFrame.base64(device.serviceData)]))
        #expect(try await server.found(world.devices[1].address)["name"] == "MATTER")
        #expect(try await server.command("stop_scan") == [:])

        let address: [String: JSON] = ["address": .string(device.address.rawValue), "timeout": .int(60_000)]
        #expect(try await server.command("connect", address) == link(1, ["mtu": 247]))
        #expect(try await events.next() == .linkConnected(device.address))
        #expect(try await server.command("request_mtu", link(1, ["mtu": 247])) == ["mtu": 247])
        // Nothing but Matter's service is offered.
        #expect(
            try await server.command("discover_services", link(1)) == [
                "services": .array([.object(["uuid": "fff6"])])
            ])
        let uuid = "0000FFF6-0000-1000-8000-00805F9B34FB"
        let found = try await server.command("discover_characteristics", link(1, ["service_uuid": .string(uuid)]))
        func characteristic(_ uuid: String, _ property: String) -> JSON {
            let text = BluetoothUUID(uuid)?.description ?? ""
            return .object(["uuid": .string(text), "properties": .array([.string(property)])])
        }
        #expect(
            found["characteristics"]
                == .array([
                    characteristic(MatterDevice.c1, "write"), characteristic(MatterDevice.c2, "indicate"),
                    characteristic(MatterDevice.c3, "read"),
                ]))
        let read = try await server.command(
            "read_characteristic", link(1, ["characteristic_uuid": .string(MatterDevice.c3)]))
        #expect(read == ["value": MatterFrame.base64([1, 2, 3, 4])])

        let handshake: [String: JSON] = [
            "write_uuid": .string(MatterDevice.c1), "write_value": MatterFrame.base64(MatterDevice.handshake),
            "write_response": true, "subscribe_uuid": .string(MatterDevice.c2),
        ]
        #expect(try await server.command("write_and_subscribe", link(1, handshake)) == [:])
        try await server.until { RawMatterServer.notifications(1, $0) == [MatterDevice.handshakeAnswer] }
        // Payloads follow each other in order, to the characteristic that was written.
        let payloads = (0..<50).map { [UInt8($0), 1, 2, 3] }
        for payload in payloads { server.write(1, payload) }
        try await server.until { RawMatterServer.notifications(1, $0).count == 51 }
        #expect(RawMatterServer.notifications(1, server.state.value).dropFirst() == payloads[...])
        #expect(await device.written == [MatterDevice.handshake] + payloads)

        #expect(try await server.command("disconnect", link(1)) == [:])
        #expect(await isDisconnected(world))
        #expect(try await events.next() == .linkDisconnected(device.address))
        #expect(try await server.command("disconnect", link(1)) == ["error": "not_connected"])
        #expect(server.events("disconnected").isEmpty)
        try await world.end()
        #expect(try await events.next() == .serverLost(reason: "the proxy ends", retryAfter: nil))
        #expect(try await events.next() == nil)
        try await server.until { $0.closes == [1000] }
    }

    @Test func `a write, a subscription and its end are commands of their own, too`() async throws {
        let world = try await MatterWorld()
        let server = try await world.server()
        let number = try await world.connect(server)
        let c1: [String: JSON] = [
            "characteristic_uuid": .string(MatterDevice.c1), "value": MatterFrame.base64([0xAA]), "response": true,
        ]
        let c2: [String: JSON] = ["characteristic_uuid": .string(MatterDevice.c2)]
        #expect(try await server.command("unsubscribe_characteristic", link(number, c2)) == ["error": "not_subscribed"])
        #expect(try await server.command("subscribe_characteristic", link(number, c2)) == [:])
        #expect(try await server.command("subscribe_characteristic", link(number, c2)) == [:])
        #expect(try await server.command("write_characteristic", link(number, c1)) == [:])
        try await server.until { RawMatterServer.notifications(number, $0) == [[0xAA]] }
        #expect(try await server.command("unsubscribe_characteristic", link(number, c2)) == [:])
        #expect(try await server.command("write_characteristic", link(number, c1)) == [:])
        #expect(try await server.command("request_mtu", link(number)) == ["mtu": 247])
        #expect(RawMatterServer.notifications(number, server.state.value) == [[0xAA]])
        try await world.end()
    }

    @Test func `what a link does not allow is refused, and the link stays`() async throws {
        let world = try await MatterWorld()
        let server = try await world.server()
        let number = try await world.connect(server)
        func refusal(_ name: String, _ more: [String: JSON]) async throws -> JSON? {
            try await server.command(name, link(number, more))["error"]
        }
        // The battery is not Matter's.
        let battery: [String: JSON] = ["characteristic_uuid": "2a19"]
        #expect(try await refusal("discover_characteristics", ["service_uuid": "180f"]) == "service_not_found")
        #expect(try await refusal("read_characteristic", battery) == "characteristic_not_found")
        #expect(try await refusal("subscribe_characteristic", battery) == "characteristic_not_found")
        let c1: [String: JSON] = ["characteristic_uuid": .string(MatterDevice.c1)]
        let c3: [String: JSON] = ["characteristic_uuid": .string(MatterDevice.c3)]
        #expect(try await refusal("read_characteristic", c1) == "read_failed")
        #expect(try await refusal("subscribe_characteristic", c1) == "notify_not_supported")
        let value = MatterFrame.base64([1])
        #expect(
            try await refusal("write_characteristic", c3.merging(["value": value, "response": true]) { $1 })
                == "write_failed")
        let long = MatterFrame.base64([UInt8](repeating: 0, count: 245))
        #expect(
            try await refusal("write_characteristic", c1.merging(["value": long, "response": true]) { $1 })
                == "write_failed")
        #expect(
            try await refusal(
                "write_and_subscribe",
                [
                    "write_uuid": .string(MatterDevice.c1), "write_value": value, "write_response": true,
                    "subscribe_uuid": .string(MatterDevice.c3),
                ]) == "notify_not_supported")
        #expect(try await server.command("request_mtu", link(number)) == ["mtu": 247])
        try await world.end()
    }

    @Test func `notifications that a server does not read wait, and too many of them end their link alone`()
        async throws
    {
        let world = try await MatterWorld()
        let server = try await world.server()
        let number = try await world.connect(server)
        let c2: [String: JSON] = ["characteristic_uuid": .string(MatterDevice.c2)]
        #expect(try await server.command("subscribe_characteristic", link(number, c2)) == [:])
        await server.setReading(false)
        let (value, uuid) = ([UInt8](repeating: 7, count: 244), BluetoothUUID(MatterDevice.c2)!)
        /// Returns the number of bytes that wait for the server. The proxy has had its turn then.
        func notify() async -> Int {
            await world.peripherals[0].notify(value, from: uuid)
            return await world.proxy.unsentCount
        }
        // As many as the system takes.
        var (count, unsent) = (0, 0)
        while count < 100_000, unsent < 64 * 1024 { (count, unsent) = (count + 1, await notify()) }
        try #require(unsent >= 64 * 1024)
        // More than 1024, which wait for the server, and are not sent to it.
        for _ in 0..<1500 { unsent = await notify() }
        #expect(unsent < 66 * 1024)
        await server.setReading(true)
        try await server.until { $0.hasEnded || RawMatterServer.events("disconnected", $0).count == 1 }
        #expect(!server.state.value.hasEnded)
        #expect(RawMatterServer.notifications(number, server.state.value).count < count + 1500)
        #expect(try await server.command("stop_scan") == ["error": "not_scanning"])
        try await world.end()
    }

    @Test func `a list of more characteristics than an answer may have is refused`() async throws {
        let world = try await MatterWorld()
        let server = try await world.server()
        _ = try await server.command("start_scan")
        let uuids = (0xA000..<0xA12C as Range<UInt32>).map { BluetoothUUID($0) }
        let service = ServiceDefinition(
            MatterSession.service, characteristics: uuids.map { CharacteristicDefinition($0, .read, value: [1]) })
        let large = MatterDevice("C0:00:00:00:00:09")
        var definition = large.definition
        definition.services = [service]
        _ = await world.radio.add(definition)
        _ = try await server.found(large.address)
        let answer = try await server.command("connect", ["address": .string(large.address.rawValue)])
        guard case .int(let number)? = answer["connection_handle"] else { Issue.record(); return }
        let list: [String: JSON] = ["service_uuid": "fff6"]
        let refusal = try await server.command("discover_characteristics", link(number, list))
        #expect(refusal == ["error": "discovery_failed"])
        // What it does not list can be used.
        let first: [String: JSON] = ["characteristic_uuid": "a000"]
        #expect(
            try await server.command("read_characteristic", link(number, first))
                == ["value": MatterFrame.base64([1])])
        try await world.end()
    }

    @Test func `a payload that cannot be written ends its link, which is told`() async throws {
        let world = try await MatterWorld()
        let server = try await world.server()
        let number = try await world.connect(server)
        server.write(number, [1])
        try await server.until { RawMatterServer.events("disconnected", $0).count == 1 }
        let told = server.events("disconnected")[0]
        #expect(told["connection_handle"] == .int(number))
        #expect(told["reason"] == "a write failed: no characteristic was written before")
        #expect(try await server.command("request_mtu", link(number)) == ["error": "not_connected"])
        #expect(await isDisconnected(world))
        try await world.end()
    }

    @Test func `two devices are served at once, each by its own number`() async throws {
        let world = try await MatterWorld()
        let server = try await world.server()
        _ = try await server.command("start_scan")
        for device in world.devices { _ = try await server.found(device.address) }
        let ids = world.devices.map { server.begin("connect", ["address": .string($0.address.rawValue)]) }
        var links: [Int] = []
        for id in ids {
            guard case .int(let link)? = try await server.answer(id)["connection_handle"] else { continue }
            links.append(link)
        }
        #expect(links == [1, 2])
        for number in links {
            let handshake: [String: JSON] = [
                "write_uuid": .string(MatterDevice.c1), "write_value": MatterFrame.base64(MatterDevice.handshake),
                "write_response": true, "subscribe_uuid": .string(MatterDevice.c2),
            ]
            #expect(try await server.command("write_and_subscribe", link(number, handshake)) == [:])
        }
        for byte in 0..<UInt8(20) { for number in links { server.write(number, [UInt8(number), byte]) } }
        for number in links {
            try await server.until { RawMatterServer.notifications(number, $0).count == 21 }
            let received = RawMatterServer.notifications(number, server.state.value).dropFirst()
            #expect(Array(received) == (0..<20).map { [UInt8(number), $0] })
        }
        // The end of one leaves the other as it is.
        await world.peripherals[0].dropLink()
        try await server.until { RawMatterServer.events("disconnected", $0).count == 1 }
        #expect(server.events("disconnected")[0]["connection_handle"] == 1)
        #expect(try await server.command("request_mtu", link(2)) == ["mtu": 247])
        try await world.end()
    }

    @Test func `links have a limit, and one that has ended makes room`() async throws {
        let world = try await MatterWorld(connectionLimit: 1)
        var events = world.events.makeAsyncIterator()
        let server = try await world.server()
        _ = try await server.command("start_scan")
        for device in world.devices { _ = try await server.found(device.address) }
        func connect(_ device: Int) async throws -> [String: JSON] {
            try await server.command("connect", ["address": .string(world.devices[device].address.rawValue)])
        }
        #expect(try await connect(0)["connection_handle"] == 1)
        #expect(try await connect(0) == ["error": "already_connected"])
        #expect(try await connect(1) == ["error": "connection_failed"])
        _ = try await server.command("disconnect", link(1))
        #expect(try await connect(1)["connection_handle"] == 2)
        var told: [MatterProxyEvent] = []
        for _ in 0..<5 { if let event = try await events.next() { told.append(event) } }
        let (first, second) = (world.devices[0].address, world.devices[1].address)
        #expect(
            told == [
                .serverConnected, .linkConnected(first), .linkRefused(second, count: 1), .linkDisconnected(first),
                .linkConnected(second),
            ])
        try await world.end()
    }

    @Test func `links that the server may not have are told once a second`() async throws {
        let world = try await MatterWorld(connectionLimit: 0)
        var events = world.events.makeAsyncIterator()
        let server = try await world.server()
        #expect(try await events.next() == .serverConnected)
        let device = world.devices[0].address
        _ = try await server.command("start_scan")
        _ = try await server.found(device)
        func ask(times: Int) async throws {
            for _ in 0..<times {
                let answer = try await server.command("connect", ["address": .string(device.rawValue)])
                #expect(answer == ["error": "connection_failed"])
            }
        }
        try await ask(times: 10)
        #expect(try await events.next() == .linkRefused(device, count: 1))
        world.clock.advance(by: .seconds(1))
        #expect(try await events.next() == .linkRefused(device, count: 9))
        try await ask(times: 3)
        try await world.end()
        // What was not told yet.
        #expect(try await events.next() == .linkRefused(device, count: 3))
        #expect(try await events.next() == .serverLost(reason: "the proxy ends", retryAfter: nil))
    }

    @Test func `an attempt to connect ends with its time, and the device is free`() async throws {
        let world = try await MatterWorld()
        let server = try await world.server()
        _ = try await server.command("start_scan")
        let device = world.devices[0].address
        _ = try await server.found(device)
        await world.peripherals[0].setAcceptsLinks(false)
        let address: [String: JSON] = ["address": .string(device.rawValue), "timeout": .int(50)]
        let attempt = server.begin("connect", address)
        await world.clock.sleepers(for: .milliseconds(50))
        world.clock.advance(by: .milliseconds(50))
        #expect(try await server.answer(attempt) == ["error": "timeout"])
        await until { await world.proxy.linkCount == 0 }
        await world.peripherals[0].setAcceptsLinks(true)
        #expect(try await world.connect(server) == 2)
        try await world.end()
    }

    @Test func `an attempt to connect is answered before the server gives it up`() async throws {
        let world = try await MatterWorld()
        let server = try await world.server()
        _ = try await server.command("start_scan")
        let device = world.devices[0].address
        _ = try await server.found(device)
        await world.peripherals[0].setAcceptsLinks(false)
        let attempt = server.begin("connect", ["address": .string(device.rawValue), "timeout": .int(60_000)])
        await world.clock.sleepers(for: .seconds(55))
        world.clock.advance(by: .seconds(55))
        #expect(try await server.answer(attempt) == ["error": "timeout"])
        await until { await isDisconnected(world) }
        try await world.end()
    }

    @Test func `a binary message of another version is ignored`() async throws {
        let world = try await MatterWorld()
        let server = try await world.server()
        let number = try await world.connect(server)
        server.sendFrame(2, [9, 0, UInt8(number), 1])
        #expect(try await server.command("request_mtu", link(number)) == ["mtu": 247])
        try await world.end()
    }
}

extension MatterProxy {
    fileprivate var linkCount: Int { links.count }
}
