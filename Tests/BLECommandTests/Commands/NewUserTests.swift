import BLE
import BLEDefinitions
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// The first steps with `ble`: names, errors, and the forms of output.
@Suite(.startsProcesses, .hangLimit)
struct NewUserTests {
    private func world(_ definitions: PeripheralDefinition...) async throws -> BlueZWorld {
        let world = try await BlueZWorld()
        for definition in definitions { _ = await world.radio.add(definition) }
        return world
    }

    @Test(arguments: ["heizung größe", "HEIZUNG", "Heizung Größe"])
    func `the case of a name does not matter`(_ name: String) async throws {
        let world = try await world(.battery(name: "Heizung Größe", level: 7))
        let result = try await world.ble("read", name, "battery-level").run()
        #expect(result.output == "07  7 %\n")
    }

    @Test func `while it still looks, a similar name is told`() async throws {
        let world = try await world(.battery(name: "Kitchen Sensor"))
        let tool = world.ble("read", "Kitchne", "battery-level", "-vv", timeout: 86_400, time: .virtual)
        let result = try await tool.run { program in
            try await withThrowingTaskGroup { group in
                group.addTask { try await program.errors.until("did you mean \"Kitchen Sensor\"? Still looking") }
                group.addTask {
                    // What was received is considered after the next second.
                    try await program.errors.until("advertisement received")
                    while !Task.isCancelled {
                        try await program.pass(.seconds(1))
                        await Task.yield()
                    }
                }
                try await group.next()
                group.cancelAll()
            }
            program.send(.interrupt)
        }
        #expect(result.status == 130)
    }

    @Test func `the simulation is searched only until everything in it was heard`() async throws {
        // The tool's clock stands still: no time limit ends it.
        let lamp = try await Tool(["read", "lamp", "ff01", "--backend", "simulated"], time: .virtual).run()
        #expect(lamp.status == 0, "\(lamp.errors)")
        #expect(lamp.errors.contains("\"lamp\" is taken for Simulated Lamp ("))
        let other = try await Tool(["read", "Limp", "ff01", "--backend", "simulated"], time: .virtual).run()
        #expect(other.status == 12)
        #expect(other.errors.contains("Did you mean \"Simulated Lamp\"?"), "\(other.errors)")
        let written = try await Tool(["write", "lamp", "ff01", "01", "--backend", "simulated"], time: .virtual).run()
        #expect(written.status == 12)
        #expect(written.errors.contains("Did you mean \"Simulated Lamp\"?"), "\(written.errors)")
        let radio = await SimulatedRadio.demonstration()
        let central = try await Central(backend: .simulated(radio), configuration: .quiet())
        var found: Set<Peripheral.ID> = []
        for try await event in central.discoveryEvents(staleAfter: nil) {
            if case .found(let discovery) = event { found.insert(discovery.id) }
            if found.count == SimulatedRadio.demonstrationCount { break }
        }
        await central.shutDown()
    }

    @Test func `the error for a misspelled name of an attribute or a command suggests the nearest one`() async throws {
        let characteristic = try await Tool.run("read", "Kitchen", "batery-level")
        #expect(characteristic.status == 64)
        #expect(characteristic.errors.contains("Did you mean battery-level?"))
        for name in ["hart-rate", "heart"] {
            let service = try await Tool.run("scan", "--service", name)
            #expect(service.errors.contains("Did you mean heart-rate?"))
        }
        let command = try await Tool.run("notifi")
        #expect(command.status == 64)
        #expect(command.errors.contains("There is no command \"notifi\". Did you mean notify?"))
        #expect(try await Tool.run("help", "nothing-like-it").status == 64)
    }

    @Test func `descriptors are read and written, and any attribute has a handle`() async throws {
        let uuid = BluetoothUUID(0xFF01)
        let world = try await world(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Thing", rssi: -40),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFF00),
                        characteristics: [
                            CharacteristicDefinition(
                                uuid, [.read, .write], value: [1],
                                descriptors: [
                                    .userDescription("state"),
                                    DescriptorDefinition(BluetoothUUID(0xFF05), value: [9], isWritable: true),
                                ])
                        ])
                ]))
        let inspected = try await world.ble("inspect", "Thing", "--values", "--json").run()
        let services = try #require(try inspected.objects.first?["services"] as? [[String: Any]])
        let characteristics = services.flatMap { $0["characteristics"] as? [[String: Any]] ?? [] }
        let characteristic = try #require(characteristics.first { $0["uuid"] as? String == "ff01" })
        let descriptors = try #require(characteristic["descriptors"] as? [[String: Any]])
        #expect(descriptors.compactMap { $0["value"] as? String } == ["7374617465", "09"])
        func digits(_ attribute: [String: Any]) throws -> String {
            let handle = try #require(attribute["handle"] as? Int)
            return Hex.string([UInt8(handle >> 8), UInt8(handle & 0xFF)])
        }
        #expect(try await world.ble("read", "Thing", "ff01/2901").run().output == "7374617465  state\n")
        let named = try await world.ble("read", "Thing", "ff01/characteristic-user-description", "--json").run()
        #expect(try named.objects.first?["descriptor"] as? String == "2901")
        #expect(try await world.ble("read", "Thing", "@" + digits(descriptors[1])).run().output == "09\n")
        #expect(try await world.ble("read", "Thing", "0x" + digits(characteristic)).run().output == "01\n")
        #expect(try await world.ble("write", "Thing", "@" + digits(descriptors[1]), "0a").run().status == 0)
        #expect(try await world.ble("write", "Thing", "ff01/ff05", "0b0c").run().output == "wrote 2 bytes: 0b0c\n")
        #expect(try await world.ble("read", "Thing", "ff01/ff05").run().output == "0b0c\n")
        #expect(try await world.ble("read", "Thing", "@1234").run().status == 16)
        #expect(try await world.ble("read", "Thing", "ff01/2902").run().status == 16)
        #expect(try await Tool.run("notify", "Thing", "ff01/2901").status == 64)
        #expect(try await Tool.run("write", "Thing", "ff01/2901", "00", "--without-response").status == 64)
    }

    @Test func `verbosity may come before the command, and the doctor says what it cannot examine`() async throws {
        let world = try await world(.battery(level: 7))
        let read = try await world.ble(["-vv", "read", "Simulated", "2a19"]).run()
        #expect(read.status == 0)
        #expect(read.errors.contains("[BLE]"))
        let doctor = try await Tool.run("doctor", "--backend", "simulated")
        #expect(doctor.status == 64)
        #expect(doctor.errors.contains("remove --backend"))
    }

    @Test func `the help is short, and has the exit statuses as a topic`() async throws {
        let help = try await Tool.run("help")
        #expect(!help.output.contains("124"))
        let wrong = try await Tool.run("write", "Thing", "ff01", "5")
        #expect(wrong.errors.contains("two hexadecimal digits for each byte"))
        let statuses = try await Tool.run("help", "exit-status")
        #expect(statuses.status == 0)
        #expect(statuses.output.contains("124  the operation took too long"))
    }

    @Test func `the second of two equal characteristics is read, subscribed to and shown by its number`() async throws {
        let world = try await world(.earBuds(left: 80, right: 65))
        #expect(try await world.ble("read", "Sim", "2a19").run().output == "50  80 %\n")
        #expect(try await world.ble("read", "Sim", "battery-level#2").run().output == "41  65 %\n")
        let absent = try await world.ble("read", "Sim", "2a19#3").run()
        #expect(absent.status == 16)
        #expect(absent.errors.contains("only 2"))
        #expect(try await world.ble("read", "Sim", "2a19#0").run().status == 64)
        let inspected = try await world.ble("inspect", "Sim").run()
        #expect(inspected.output.contains("2a19#1 Battery Level"))
        #expect(inspected.output.contains("2a19#2 Battery Level"))
    }

    @Test func `with --json errors and notes are JSON on standard error`() async throws {
        let world = try await world(.battery(level: 7))
        let failed = try await world.ble("read", "Simulated", "2a29", "--json").run()
        #expect(failed.status == 16)
        #expect(failed.output == "")
        let error = try #require(try failed.errorObjects.last)
        #expect(error["status"] as? Int == 16)
        let details = try #require(error["error"] as? [String: Any])
        #expect(details["code"] as? String == "characteristicNotFound")
        #expect(details["missingUUIDs"] as? [String] == ["2a29"])
        #expect(details["isRetryable"] as? Bool == false)
    }

    @Test func `each value names its peripheral, and the subscription is reported`() async throws {
        let world = try await BlueZWorld()
        let id = await world.radio.add(.heartRateStrap()).id.rawValue
        let json = try await world.ble("notify", "Sim", "2a37", "--count", "2", "--json").run()
        #expect(try json.objects.map { $0["id"] as? String } == [id, id])
        #expect(try json.errorObjects.compactMap { $0["note"] as? String }.contains { $0.hasPrefix("subscribed to") })
        let read = try await world.ble("heart-rate", "Sim", "--count", "1", "--json").run()
        #expect(try read.objects.first?["id"] as? String == id)
        let text = try await world.ble("notify", "Sim", "2a37", "--count", "1").run()
        #expect(text.errors.contains("ble: subscribed to Heart Rate Measurement; waiting for values"))
    }

    @Test func `inspect names everything in JSON`() async throws {
        let world = try await world(.battery())
        let result = try await world.ble("inspect", "Sim", "--json").run()
        let services = try #require(try result.objects.first?["services"] as? [[String: Any]])
        let battery = try #require(services.first { $0["uuid"] as? String == "180f" })
        #expect(battery["name"] as? String == "Battery")
        let characteristics = try #require(battery["characteristics"] as? [[String: Any]])
        #expect(characteristics.first?["name"] as? String == "Battery Level")
    }

    @Test func `twice verbose shows each operation, value and state with its time`() async throws {
        let world = try await world(.lamp())
        let write = try await world.ble("write", "Sim", "ff01", "1e", "-vv").run()
        let read = try await world.ble("read", "Sim", "ff01", "-vv").run()
        let log = write.errors + read.errors
        for expected in [
            "advertisement received", "state=connecting", "state=connected", "written=1e", "writing: done",
            "reading: done", "value=1e", "took=",
        ] {
            #expect(log.contains(expected), "\(expected)")
        }
        #expect(
            log.split(separator: "\n").filter { $0.contains("[BLE]") }.allSatisfy { $0.contains(/at=\d+\.\d{3} s/) })
        let values = try await world.ble("notify", "Sim", "ff01", "-v", "--count", "1").run()
        #expect(!values.errors.contains("reading"))
    }

    @Test func `a hangup ends links as Ctrl-C does`() async throws {
        let world = try await BlueZWorld()
        let strap = await world.radio.add(.heartRateStrap())
        let result = try await world.ble("notify", "Sim", "2a37").afterFirstLine { $0.send(.terminalClosed) }
        #expect(result.status == 129)
        #expect(await !strap.isConnected)
    }

    @Test func `the version is the changelog's`() async throws {
        let result = try await Tool.run("--version")
        #expect(result.output == Central.version + "\n")
        let headings = try Checkout.text("Docs/CHANGELOG.md").split(separator: "\n").filter { $0.hasPrefix("## ") }
        #expect(headings.first == "## \(Central.version)")
    }

    @Test(arguments: ["bash", "zsh", "fish"]) func `completions are written`(_ shell: String) async throws {
        let result = try await Tool.run("--generate-completion-script", shell)
        #expect(result.status == 0)
        #expect(result.output.contains("heart-rate"))
    }
}
