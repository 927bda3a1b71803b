import BLE
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Subprocess
import Testing

@testable import BLECommand

/// Status and output for a script when a command fails.
@Suite(.startsProcesses, .hangLimit)
struct ExitStatusTests {
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

    @Test func `the documentation has all statuses`() throws {
        let documented = try Checkout.text("Docs/Output.md")
        for line in ExitStatus.table.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 1)
            let meaning = try #require(words.last).drop { $0 == " " }
            #expect(documented.contains("| \(words[0]) | \(meaning) |"), "\(line)")
        }
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
        for name in ["Nobody", "00:11:22:33:44:55"] {
            let unknown = world.ble("read", name, "2a19", "-v", timeout: 1.25, time: .virtual)
            let result = try await unknown.run { program in
                try await program.errors.until("scanning")
                try await program.pass(.seconds(1.25))
            }
            #expect(result.status == 12)
        }
        let ambiguous = try await world.ble("read", "Thing", "2a19", "-v", time: .virtual).run { program in
            for name in ["Thing 1", "Thing 2"] { try await program.errors.until(name) }
            // It scans for one more second after the first match.
            try await program.pass(.seconds(1))
        }
        #expect(ambiguous.status == 13)
        #expect(ambiguous.errors.contains("Thing 1") && ambiguous.errors.contains("Thing 2"))
        #expect(try await world.ble("read", "Thing 1", "2a37").run().status == 16)
        #expect(try await world.ble("write", "Thing 1", "2a19", "00").run().status == 17)
    }

    // MARK: Bad luck

    @Test func `no bus and no bluetoothd end with 69 and a remedy`() async throws {
        for command in ["adapters", "radios"] {
            let noBus = try await Tool.run(command, "--bus", "unix:path=/nonexistent/socket", "--json")
            #expect(noBus.status == 69)
            #expect(noBus.errors.contains(#""code":"bluetoothUnavailable""#))
        }
        let bus = try await PrivateBus()
        let noDaemon = try await Tool.run("heart-rate", "--bus", bus.address, "--timeout", "\(HangLimit.stepSeconds)")
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
        let tool = world.ble("battery", thing.id.rawValue, timeout: 1.25, time: .virtual)
        #expect(try await tool.run { try await $0.pass(.seconds(1.25)) }.status == 124)
    }

    @Test func `a link that drops ends with 15`() async throws {
        let world = try await BlueZWorld()
        let strap = await world.radio.add(.heartRateStrap())
        let result = try await world.ble("heart-rate", "--json").afterFirstLine { _ in await strap.dropLink() }
        #expect(result.status == 15)
    }

    @Test func `the death of bluetoothd ends with 20`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap())
        let result = try await world.ble("heart-rate", "--json").afterFirstLine { _ in await world.daemon.kill() }
        #expect(result.status == 20)
        let bus = try await BlueZWorld()
        _ = await bus.radio.add(.heartRateStrap())
        let lost = try await bus.ble("heart-rate", "--json").afterFirstLine { _ in bus.bus.stop() }
        #expect(lost.status == 20)
    }

    @Test(arguments: [(Signal.interrupt, Int32(130)), (.terminate, 143)])
    func `an interrupt ends the link and says so`(_ signal: Signal, _ status: Int32) async throws {
        let world = try await BlueZWorld()
        let strap = await world.radio.add(.heartRateStrap())
        let result = try await world.ble("heart-rate", "--json").afterFirstLine { program in
            #expect(await strap.isConnected)
            program.send(signal)
        }
        #expect(result.status == status)
        #expect(await strap.isConnected == false)
        // An interrupt is not an error, but on a slow machine, messages of progress are printed.
        #expect(!result.errors.contains("ble:"))
    }

    @Test func `a reader that goes away ends the link and the command`() async throws {
        let world = try await BlueZWorld()
        let strap = await world.radio.add(Self.strap(flooding))
        let pipeline =
            "\"$0\" heart-rate --json --bus \"$1\" --timeout \(HangLimit.stepSeconds) | head -n 1; exit ${PIPESTATUS[0]}"
        let result = try await TestProgram("bash", ["-c", pipeline, Tool.path, world.bus.address]).run()
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
