import BLE
import BLESimulation
import BlueZTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1)))
struct CommandLineTests {
    // MARK: Data

    @Test func `adapters are listed with stable keys`() async throws {
        let world = try await BlueZWorld()
        let result = try await world.ble("adapters", "--json").run()
        #expect(result.status == 0)
        let adapter = try #require(try result.objects.first)
        #expect(Set(adapter.keys) == ["adapter", "address", "name", "powered", "discovering", "default"])
        #expect(adapter["adapter"] as? String == "hci0")
        #expect(adapter["powered"] as? Bool == true)
    }

    @Test func `adapters are switched and named`() async throws {
        let world = try await BlueZWorld()
        let off = try await world.ble("adapters", "--power", "off", "--alias", "Gateway", "--json").run()
        #expect(off.status == 0)
        #expect(try off.objects.first?["powered"] as? Bool == false)
        #expect(try off.objects.first?["name"] as? String == "Gateway")
        let on = try await world.ble("adapters", "--power", "on", "--adapter", "hci0", "--alias", "", "--json").run()
        #expect(try on.objects.first?["powered"] as? Bool == true)
        #expect(try on.objects.first?["name"] as? String == "fake")
        #expect(try await world.ble("adapters", "--power", "on", "--adapter", "hci3").run().status == 10)
    }

    @Test func `an adapter that a kill switch holds off ends with 11 and the remedy`() async throws {
        let world = try await BlueZWorld()
        await world.daemon.setBlocked(true)
        let refused = try await world.ble("adapters", "--power", "on").run()
        #expect(refused.status == 11)
        #expect(refused.errors.contains("rfkill unblock"))
        await world.daemon.setBlocked(false)
        #expect(try await world.ble("adapters", "--power", "on").run().status == 0)
    }

    @Test func `scans report found and lost peripherals with stable keys`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap())
        let scan = world.ble("scan", "--duration", "0", "--json", "--service", "heart-rate")
        let result = try await scan.run { process, _ in kill(process.processIdentifier, SIGINT) }
        #expect(result.status == 130)
        let found = try #require(try result.objects.first)
        #expect(
            Set(found.keys) == [
                "event", "id", "address", "addressType", "class", "name", "rssi", "txPower", "services",
                "manufacturerData", "serviceData",
            ])
        #expect(found["event"] as? String == "found")
        #expect(found["name"] as? String == "Simulated Strap")
        #expect(found["services"] as? [String] == ["180d", "180f"])
        #expect(found["serviceData"] as? [String: String] == ["180f": "5a"])
    }

    @Test(arguments: [
        ["--name", "rap 2"], ["--exact-name", "Strap 2"], ["--manufacturer", "004c:0217/fffd"],
        ["--service-data", "battery:50"], ["--service", "180d", "--manufacturer", "004C"], ["--rssi", "-45"],
        ["--transport", "any", "--name", "2"],
    ])
    func `scans report what meets all the options`(_ options: [String]) async throws {
        let world = try await BlueZWorld()
        for number in 1...2 {
            let advertisement = Advertisement(
                localName: "Strap \(number)", rssi: number == 1 ? -50 : -40,
                serviceUUIDs: [BluetoothUUID(number == 1 ? 0x180F : 0x180D)],
                manufacturerData: [number == 1 ? 0x4C00 : 0x004C: [0x02, 0x15]],
                serviceData: [BluetoothUUID(0x180F): [UInt8(number == 1 ? 0x51 : 0x50)]])
            _ = await world.radio.add(PeripheralDefinition(advertisement: advertisement, services: []))
        }
        let scan = world.ble(["scan", "--duration", "0", "--json"] + options)
        let result = try await scan.run { process, _ in kill(process.processIdentifier, SIGINT) }
        #expect(try result.objects.map { $0["name"] as? String } == ["Strap 2"])
    }

    @Test func `a Classic device is found on its transport, with its class`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap())
        _ = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(
                    localName: "Speaker", rssi: -40, serviceUUIDs: [BluetoothUUID(0x110B)], deviceClass: 0x240404),
                services: []))
        let scan = world.ble("scan", "--duration", "0", "--json", "--transport", "classic")
        let result = try await scan.run { process, _ in kill(process.processIdentifier, SIGINT) }
        let found = try #require(try result.objects.first)
        #expect(try result.objects.count == 1)
        #expect(found["name"] as? String == "Speaker")
        #expect(found["class"] as? String == "240404")
        #expect(found["addressType"] as? String == "public")
        #expect(found["services"] as? [String] == ["110b"])
    }

    @Test func `the doctor finds nothing wrong where nothing is`() async throws {
        let world = try await BlueZWorld()
        let result = try await Tool.run("doctor", "--json", "--bus", world.bus.address)
        #expect(result.status == 0)
        let findings = try result.objects
        #expect(findings.count > 10)
        for finding in findings { #expect(Set(finding.keys) == ["check", "level", "adapter", "message", "remedy"]) }
        let power = try #require(findings.first { $0["check"] as? String == "power" })
        #expect(power["level"] as? String == "ok")
        #expect(power["adapter"] as? String == "hci0")
    }

    @Test func `the doctor ends with 1 and remedies where something is wrong`() async throws {
        let world = try await BlueZWorld()
        await world.daemon.setPowered(false)
        let off = try await Tool.run("doctor", "--bus", world.bus.address)
        #expect(off.status == 1)
        #expect(off.output.contains("WRONG  hci0: the adapter is off\n       → Switch it on: ble adapters --power on"))
        await world.daemon.kill()
        let gone = try await Tool.run("doctor", "--json", "--bus", world.bus.address)
        #expect(gone.status == 1)
        let daemon = try #require(try gone.objects.first { $0["check"] as? String == "bluetoothd" })
        #expect(daemon["level"] as? String == "problem")
        #expect(daemon["remedy"] as? String != nil)
        let noBus = try await Tool.run("doctor", "--bus", "unix:path=/nonexistent/socket")
        #expect(noBus.status == 1)
        #expect(noBus.output.hasPrefix("WRONG  the message bus cannot be reached"))
    }

    @Test func `a scan ends by itself, and what takes a second says so once`() async throws {
        let world = try await BlueZWorld()
        let result = try await world.ble("scan", "--duration", "1.5").run()
        #expect(result.status == 0)
        #expect(result.errors.contains("Scanning…\n"))
    }

    @Test func `inspect shows the tree with stable keys`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.battery())
        let result = try await world.ble("inspect", "Simulated", "--json").run()
        let services = try #require(try result.objects.first?["services"] as? [[String: Any]])
        let service = try #require(services.first)
        #expect(Set(service.keys) == ["uuid", "handle", "primary", "characteristics"])
        let characteristic = try #require((service["characteristics"] as? [[String: Any]])?.first)
        #expect(Set(characteristic.keys) == ["uuid", "handle", "properties", "descriptors"])
        #expect(characteristic["uuid"] as? String == "2a19")
        #expect(characteristic["properties"] as? [String] == ["read", "notify"])
    }

    @Test(arguments: ["battery-level", "2A19", "0x2a19", "00002A19", "00002a19-0000-1000-8000-00805f9b34fb"])
    func `a characteristic can be named in every form`(_ name: String) async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.battery(level: 42))
        let result = try await world.ble("read", "Simulated Battery", name, "--json").run()
        let object = try #require(try result.objects.first)
        #expect(object["uuid"] as? String == "2a19")
        #expect(object["value"] as? String == "2a")
        #expect(object["decoded"] as? String == "42 %")
    }

    @Test func `writes arrive, with and without response`() async throws {
        let world = try await BlueZWorld()
        let uuid = BluetoothUUID(0xFF01)
        let thing = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Thing", rssi: -40),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFF00),
                        characteristics: [CharacteristicDefinition(uuid, [.write, .writeWithoutResponse])])
                ]))
        #expect(try await world.ble("write", "Thing", "ff01", "01 02:03").run().status == 0)
        #expect(await thing.value(of: uuid) == [1, 2, 3])
        #expect(try await world.ble("write", "Thing", "ff01", "0x04", "--without-response").run().status == 0)
        #expect(await thing.value(of: uuid) == [4])
    }

    @Test func `heart rate, notify, battery and info show what the strap says`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap())
        let beats = try await world.ble("heart-rate", "--count", "2", "--json").run()
        #expect(beats.status == 0)
        #expect(try beats.objects.count == 2)
        let beat = try #require(try beats.objects.first)
        #expect(Set(beat.keys) == ["beatsPerMinute", "rrIntervals", "contact", "energyExpended"])
        #expect(beat["beatsPerMinute"] as? Int == 72)
        #expect(beat["contact"] as? Bool == true)
        let values = try await world.ble("notify", "Simulated", "heart-rate-measurement", "--count", "1", "--json")
            .run()
        #expect(try values.objects.first?["value"] as? String == "1f48000a005503")
        #expect(try values.objects.first?["dropped"] as? Int == 0)
        #expect(try await world.ble("battery", "--json").run().output == "{\"level\":90}\n")
        let information = try #require(try await world.ble("info", "--json").run().objects.first)
        #expect(
            Set(information.keys) == [
                "manufacturer", "model", "serialNumber", "hardwareRevision", "firmwareRevision", "softwareRevision",
                "systemID", "pnpID",
            ])
        #expect(information["manufacturer"] as? String == "Simulated")
        #expect(information["pnpID"] is NSNull)
    }

    @Test func `the simulated backend needs nothing`() async throws {
        let result = try await Tool.run("heart-rate", "--backend", "simulated", "--count", "2", "--json")
        #expect(result.status == 0)
        #expect(try result.objects.count == 2)
    }

    // MARK: Bad input

    @Test(arguments: [
        ["read", "X", "no-such-name"], ["read", "X", "2a1"], ["write", "X", "2a19", "0g"],
        ["write", "X", "2a19", "123"],
        ["notify", "X", "2a19", "--count", "0"], ["scan", "--duration", "-1"], ["scan", "--service", "12345"],
        ["adapters", "--power", "maybe"], ["scan", "--manufacturer", "4c"], ["scan", "--manufacturer", "004c:0"],
        ["scan", "--transport", "usb"],
        ["scan", "--service-data", "180f:00/"], ["scan", "--service-data", ":00"],
        ["adapters", "--timeout", "0"], ["adapters", "--backend", "windows"], ["frobnicate"],
    ])
    func `a command line that makes no sense ends with 64`(_ arguments: [String]) async throws {
        let result = try await Tool(arguments).run()
        #expect(result.status == 64)
        #expect(result.output == "")
        #expect(result.errors.contains("Usage:"))
    }

    @Test func `a value too short for its type ends with 65`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(Self.strap { notifier in await notifier.notify([0x01, 0x48]) })
        let result = try await world.ble("heart-rate").run()
        #expect(result.status == 65)
        #expect(result.errors.contains("too short"))
    }

    @Test func `unknown peripherals end with 12, ambiguous names with 13, unknown characteristics with 16`()
        async throws
    {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.battery(name: "Thing 1"))
        _ = await world.radio.add(.battery(name: "Thing 2"))
        let unknown = world.ble("read", "Nobody", "2a19", timeout: 1)
        #expect(try await unknown.run().status == 12)
        let address = world.ble("read", "00:11:22:33:44:55", "2a19", timeout: 1)
        #expect(try await address.run().status == 12)
        let ambiguous = try await world.ble("read", "Thing", "2a19").run()
        #expect(ambiguous.status == 13)
        #expect(ambiguous.errors.contains("Thing 1") && ambiguous.errors.contains("Thing 2"))
        #expect(try await world.ble("read", "Thing 1", "2a37").run().status == 16)
        #expect(try await world.ble("write", "Thing 1", "2a19", "00").run().status == 17)
    }

    // MARK: Bad luck

    @Test func `no bus and no bluetoothd end with 69 and a remedy`() async throws {
        let noBus = try await Tool.run("adapters", "--bus", "unix:path=/nonexistent/socket")
        #expect(noBus.status == 69)
        let bus = try PrivateBus()
        let noDaemon = try await Tool.run("heart-rate", "--bus", bus.address)
        #expect(noDaemon.status == 69)
        #expect(noDaemon.errors.contains("systemctl start bluetooth"))
    }

    @Test func `a bus that refuses ends with 77 and names the group`() async throws {
        let world = try await BlueZWorld(policy: PrivateBus.policy(denying: #"send_destination="org.bluez""#))
        let result = try await world.ble("adapters").run()
        #expect(result.status == 77)
        #expect(result.errors.contains("group bluetooth"))
        await world.daemon.kill()
    }

    @Test func `a missing adapter ends with 10, one that is off with 11`() async throws {
        let world = try await BlueZWorld()
        let missing = try await world.ble("scan", "--adapter", "hci7").run()
        #expect(missing.status == 10)
        #expect(missing.errors.contains("hci0"))
        await world.daemon.setPowered(false)
        #expect(try await world.ble("scan").run().status == 11)
        #expect(try await world.ble("heart-rate").run().status == 11)
    }

    @Test func `a peripheral that vanishes after the scan ends with 124`() async throws {
        let world = try await BlueZWorld()
        let thing = await world.radio.add(.battery(name: "Thing"))
        #expect(try await world.ble("battery", "Thing").run().status == 0)
        await thing.setAdvertising(false)
        let tool = world.ble("battery", thing.id.rawValue, timeout: 1)
        #expect(try await tool.run().status == 124)
    }

    @Test func `a link that drops ends with 15`() async throws {
        let world = try await BlueZWorld()
        let strap = await world.radio.add(.heartRateStrap())
        let result = try await world.ble("heart-rate", "--json").run { _, _ in await strap.dropLink() }
        #expect(result.status == 15)
    }

    @Test func `the death of bluetoothd ends with 20`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap())
        let result = try await world.ble("heart-rate", "--json").run { _, _ in await world.daemon.kill() }
        #expect(result.status == 20)
        let bus = try await BlueZWorld()
        _ = await bus.radio.add(.heartRateStrap())
        let lost = try await bus.ble("heart-rate", "--json").run { _, _ in bus.bus.stop() }
        #expect(lost.status == 20)
    }

    @Test(arguments: [(SIGINT, Int32(130)), (SIGTERM, Int32(143))])
    func `an interrupt ends the link and says so`(_ signal: Int32, _ status: Int32) async throws {
        let world = try await BlueZWorld()
        let strap = await world.radio.add(.heartRateStrap())
        let result = try await world.ble("heart-rate", "--json").run { process, _ in
            #expect(await strap.isConnected)
            kill(process.processIdentifier, signal)
        }
        #expect(result.status == status)
        #expect(await strap.isConnected == false)
        // (an interrupt is no error, but on a slow machine there is progress to be told of)
        #expect(!result.errors.contains("ble:"))
    }

    @Test func `a reader that goes away ends the link and the command`() async throws {
        let world = try await BlueZWorld()
        let strap = await world.radio.add(Self.strap(flooding))
        let result = try await world.ble("heart-rate", "--json").run { _, output in
            try output.fileHandleForReading.close()
        }
        #expect(result.status == 141)
        #expect(await strap.isConnected == false)
    }

    private static func strap(_ onSubscribe: @escaping CharacteristicDefinition.SubscriptionHandler)
        -> PeripheralDefinition
    {
        PeripheralDefinition(
            advertisement: Advertisement(localName: "Strap", rssi: -40, serviceUUIDs: [BluetoothUUID(0x180D)]),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0x180D),
                    characteristics: [
                        CharacteristicDefinition(BluetoothUUID(0x2A37), .notify, onSubscribe: onSubscribe)
                    ])
            ])
    }
}

/// Measurements every 10 ms.
private let flooding: CharacteristicDefinition.SubscriptionHandler = { notifier in
    while true {
        await notifier.notify([0x00, 0x48])
        try await notifier.clock.sleep(for: .milliseconds(10))
    }
}
