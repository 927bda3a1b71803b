import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Foundation
import Testing

@testable import BLECommand

@Suite(.startsProcesses, .hangLimit)
struct CommandLineTests {
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

    @Test func `the doctor finds nothing wrong where nothing is`() async throws {
        let world = try await BlueZWorld()
        let result = try await world.ble("doctor", "--json").run()
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
        let off = try await world.ble("doctor").run()
        #expect(off.status == 1)
        #expect(off.output.contains("WRONG  hci0: the adapter is off\n       → Switch it on: ble adapters --power on"))
        await world.daemon.kill()
        let gone = try await world.ble("doctor", "--json").run()
        #expect(gone.status == 1)
        let daemon = try #require(try gone.objects.first { $0["check"] as? String == "bluetoothd" })
        #expect(daemon["level"] as? String == "problem")
        #expect(daemon["remedy"] as? String != nil)
        let noBus = try await Tool.run("doctor", "--bus", "unix:path=/nonexistent/socket")
        #expect(noBus.status == 1)
        #expect(noBus.output.hasPrefix("WRONG  the message bus cannot be reached"))
    }

    @Test func `inspect shows the tree with stable keys`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.battery())
        let result = try await world.ble("inspect", "Simulated", "--json").run()
        let services = try #require(try result.objects.first?["services"] as? [[String: Any]])
        let service = try #require(services.first)
        #expect(Set(service.keys) == ["uuid", "name", "handle", "primary", "characteristics"])
        let characteristic = try #require((service["characteristics"] as? [[String: Any]])?.first)
        #expect(Set(characteristic.keys) == ["uuid", "name", "handle", "properties", "descriptors"])
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
        let shown = try await world.ble("heart-rate", "--count", "1").run()
        // As the library writes it.
        #expect(shown.output == "72 bpm, RR 0.833 s, 10 kJ\n")
        let beats = try await world.ble("heart-rate", "--count", "2", "--json").run()
        #expect(beats.status == 0)
        #expect(try beats.objects.count == 2)
        let beat = try #require(try beats.objects.first)
        #expect(
            Set(beat.keys) == ["id", "beatsPerMinute", "rrIntervalsSeconds", "contact", "energyExpendedKilojoules"])
        #expect(beat["beatsPerMinute"] as? Int == 72)
        #expect(beat["contact"] as? Bool == true)
        let values = try await world.ble("notify", "Simulated", "heart-rate-measurement", "--count", "1", "--json")
            .run()
        #expect(try values.objects.first?["value"] as? String == "1f48000a005503")
        #expect(try values.objects.first?["dropped"] as? Int == 0)
        let battery = try #require(try await world.ble("battery", "--json").run().objects.first)
        #expect(Set(battery.keys) == ["id", "level", "position"])
        #expect(battery["level"] as? Int == 90)
        let information = try #require(try await world.ble("info", "--json").run().objects.first)
        #expect(
            Set(information.keys) == [
                "id", "manufacturer", "model", "serialNumber", "hardwareRevision", "firmwareRevision",
                "softwareRevision", "systemID", "pnpID", "regulatoryCertifications", "udi",
            ])
        #expect(information["manufacturer"] as? String == "Simulated")
        #expect(information["pnpID"] is NSNull)
    }

    @Test func `each of several batteries is shown with its place`() async throws {
        let world = try await BlueZWorld()
        let batteries = try [(PresentationFormat.Description.left, UInt8(80)), (.right, UInt8(20))].map {
            position, level in
            let format = PresentationFormat(format: .uint8, unit: BluetoothUUID(0x27AD), description: position)
            return ServiceDefinition(
                .battery,
                characteristics: [
                    try CharacteristicDefinition(
                        .batteryLevel, .read, value: level,
                        descriptors: [DescriptorDefinition(BluetoothUUID(0x2904), value: format.bytes)])
                ])
        }
        _ = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Buds", rssi: -50, serviceUUIDs: [.battery]),
                services: batteries))
        let lines = try await world.ble("battery").run().output.split(separator: "\n")
        #expect(lines == ["left        80 %", "right       20 %"])
    }

    @Test func `whom a command has chosen by itself is said to people`() async throws {
        let world = try await BlueZWorld()
        let strap = await world.radio.add(.heartRateStrap(name: "Strap\n\u{1B}[8m"))
        for command in [["battery"], ["info"], ["heart-rate", "--count", "1"], ["profile", "180d", "--count", "1"]] {
            let chosen = "ble: Strap\u{FFFD}\u{FFFD}[8m (\(strap.id))\n"
            #expect(try await world.ble(command).run().errors.contains(chosen))
            #expect(try await !world.ble(command + ["--json"]).run().errors.contains(chosen))
        }
        #expect(try await !world.ble("battery", strap.id.rawValue).run().errors.contains("Strap"))
    }

    @Test func `a service or characteristic that nothing is called says where the names are`() async throws {
        let service = try await Tool.run("profile", "nonsense")
        #expect(service.status == 64)
        #expect(service.errors.contains("ble numbers --kind service"))
        let characteristic = try await Tool.run("read", "Thing", "nonsense")
        #expect(characteristic.errors.contains("ble numbers --kind characteristic"))
    }

    @Test func `a vendor's service that there is a profile for has a name`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Board", rssi: -40, serviceUUIDs: [.nordicUART]),
                services: [
                    ServiceDefinition(
                        .nordicUART,
                        characteristics: [CharacteristicDefinition(BluetoothUUID(0xFF01), .read, value: [1])])
                ]))
        let board = try await world.ble("profile", "nordic-uart").run()
        #expect(board.status == 0)
        #expect(board.output == "ff01: 0x01\n")
        #expect(ServiceArgument.text(.nordicUART) == "nordic-uart")
    }

    @Test func `the simulated backend needs nothing`() async throws {
        let result = try await Tool.run(
            "heart-rate", "--backend", "simulated", "--timeout", "600", "--count", "2", "--json")
        #expect(result.status == 0)
        #expect(try result.objects.count == 2)
    }

    @Test func `the simulated backend has a weather station and ear buds`() async throws {
        let weather = try await Tool.run(
            "profile", "environmental-sensing", "--backend", "simulated", "--timeout", "600", "--count", "5")
        #expect(weather.status == 0)
        let lines = weather.output.split(separator: "\n")
        for name in ["Temperature (inside): ", "Temperature (outside): ", "Humidity: "] {
            #expect(lines.contains { $0.hasPrefix(name) })
        }
        #expect(Set(lines).count > 3)
        let buds = try await Tool.run("battery", "Simulated Ear", "--backend", "simulated", "--timeout", "600")
        #expect(buds.output == "left        80 %\nright       65 %\n")
    }
}
