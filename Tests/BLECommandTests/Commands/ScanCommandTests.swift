import BLE
import BLEFakeBlueZ
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// The reports of `ble scan`, on a fake bluetoothd.
@Suite(.startsProcesses, .hangLimit)
struct ScanCommandTests {
    @Test func `scans report found and lost peripherals with stable keys`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap())
        let scan = world.ble("scan", "--duration", "0", "--json", "--service", "heart-rate")
        let result = try await scan.afterFirstLine { program in program.send(.interrupt) }
        #expect(result.status == 130)
        let found = try #require(try result.objects.first)
        #expect(
            Set(found.keys) == [
                "event", "id", "address", "identity", "addressType", "class", "name", "rssi", "txPower", "services",
                "manufacturerData", "serviceData", "formats", "radio",
            ])
        // There are no several.
        #expect(found["radio"] is NSNull)
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
        let result = try await scan.afterFirstLine { program in program.send(.interrupt) }
        #expect(try result.objects.map { $0["name"] as? String } == ["Strap 2"])
    }

    @Test func `a scan with several radios names the one that hears, and tells once of a missing one`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap())
        let radios = ["--radio", "hci7", "--radio", "hci0"]
        let scan = world.ble(["scan", "--duration", "0", "--json"] + radios)
        let result = try await scan.afterFirstLine { program in program.send(.interrupt) }
        #expect(result.status == 130, "\(result.errors)")
        #expect(try result.objects.first?["radio"] as? String == "hci0")
        let notes = try result.errorObjects.compactMap { $0["note"] as? String }
        #expect(notes.filter { $0.contains("hci7") } == ["radio hci7: there is no adapter hci7"])
        // With none that can be used, the error is that of the first.
        let none = try await world.ble("scan", "--radio", "hci7", "--radio", "hci8", "--json").run()
        #expect(none.status == 10)
        #expect(none.errors.contains("there is no adapter hci7"))
    }

    @Test(arguments: [
        (["scan", "--passive"], "remove it, or --passive and --transport"),
        (["scan", "--transport", "any"], "remove it, or --passive and --transport"),
        (["scan", "--transport", "classic"], "remove it, or --passive and --transport"),
        (["scan", "--radio", "esphome://proxy.invalid"], "add one, such as --radio hci0"),
        (["scan", "--backend", "simulated"], "remove --backend and --replay"),
        (["scan", "--bus", "unix:path=/nowhere"], "remove --bus"),
        (["advertise", "--name", "Lamp"], "is for scans: remove it"),
    ])
    func `a management socket that would not be used is wrong usage`(_ words: [String], remedy: String) async throws {
        let result = try await Tool(words + ["--management-socket"]).run()
        #expect(result.status == 64)
        #expect(result.errors.contains("--management-socket") && result.errors.contains(remedy), "\(result.errors)")
    }

    /// The key of the Core Specification's sample data.
    private static let key = "ec0234a357c8ad05341010a60a397d9b"
    private static let identityKey = IdentityResolvingKey(Hex.bytes(key)!)!

    private static func file(_ text: String) throws -> String {
        let url = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID().uuidString)")
        try text.write(to: url, atomically: true, encoding: .utf8)
        return url.path
    }

    @Test(arguments: [true, false])
    func `scans find the device whose key is given, at each of its addresses`(isFile: Bool) async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap())
        let stranger = await world.radio.add(.battery())
        let watch = await world.radio.add(.battery())
        await watch.setIdentityKey(Self.identityKey)
        var addresses: [String] = [await watch.rotateAddress().rawValue]
        await stranger.rotateAddress()
        let zeros = String(repeating: "0", count: 32)
        let file = try Self.file("# of my devices\n\nphone=\(zeros)\nwatch=\(Self.key)\n")
        defer { try? FileManager.default.removeItem(atPath: file) }
        let scan = world.ble(
            "scan", "--duration", "0", "--json", "--irk", isFile ? file : "watch=\(Self.key.uppercased())")
        let result = try await scan.run { program in
            try await program.output.until(lineCount: 1)
            addresses.append(await watch.rotateAddress().rawValue)
            try await program.output.until(addresses[1])
            await world.daemon.remove(Peripheral.ID(rawValue: addresses[1]))
            try await program.output.until("lost", after: addresses[1])
            program.send(.interrupt)
        }
        let lost = try result.objects.filter { $0["event"] as? String == "lost" }
        #expect(lost.first?["identity"] as? String == "watch")
        // Afterwards, it is found again.
        let found = try result.objects.filter { $0["event"] as? String == "found" }.prefix(2)
        #expect(found.map { $0["id"] as? String } == addresses)
        #expect(found.map { $0["identity"] as? String } == ["watch", "watch"])
    }

    @Test func `a key without a name is a device with a number`() async throws {
        let world = try await BlueZWorld()
        let watch = await world.radio.add(.battery())
        await watch.setIdentityKey(Self.identityKey)
        await watch.rotateAddress()
        let scan = world.ble("scan", "--duration", "0", "--irk", Self.key)
        let result = try await scan.run { program in
            // The table has a head.
            try await program.output.until(lineCount: 2)
            program.send(.interrupt)
        }
        #expect(result.output.contains("identity=device 1"))
    }

    @Test(arguments: ["ec0234a357c8ad05341010a60a397d9", "=ec0234a357c8ad05341010a60a397d9b", "/nonexistent"])
    func `what is no key is refused, and not repeated`(_ argument: String) async throws {
        let result = try await Tool.run("scan", "--backend", "simulated", "--irk", argument)
        #expect(result.status == 64)
        #expect(result.errors.contains("32 hexadecimal digits"))
        #expect(!result.errors.contains("ec0234"))
    }

    @Test func `a file of keys with a line that is none is refused, with the line`() async throws {
        let file = try Self.file("watch=\(Self.key)\nphone \(Self.key)\n")
        defer { try? FileManager.default.removeItem(atPath: file) }
        let result = try await Tool.run("scan", "--backend", "simulated", "--irk", file)
        #expect(result.status == 64)
        #expect(result.errors.contains("line 2"))
        #expect(!result.errors.contains(Self.key))
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
        let result = try await scan.afterFirstLine { program in program.send(.interrupt) }
        let found = try #require(try result.objects.first)
        #expect(try result.objects.count == 1)
        #expect(found["name"] as? String == "Speaker")
        #expect(found["class"] as? String == "240404")
        #expect(found["addressType"] as? String == "public")
        #expect(found["services"] as? [String] == ["110b"])
    }

    @Test func `a scan ends by itself, and what takes a second says so once`() async throws {
        let world = try await BlueZWorld()
        let result = try await world.ble("scan", "--duration", "1.5", time: .virtual).run { program in
            try await program.errors.until("Scanning…\n")
            try await program.pass(.seconds(1.5))
        }
        #expect(result.status == 0)
        #expect(result.errors.split(separator: "\n").count { $0 == "Scanning…" } == 1)
    }

    @Test func `an interrupt is not lost when it comes early and the machine is busy`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap())
        let results = try await withThrowingTaskGroup { group in
            for _ in 1...12 {
                group.addTask {
                    try await world.ble("scan", "--duration", "0", "--json").afterFirstLine { $0.send(.interrupt) }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.map(\.status) == Array(repeating: 130, count: 12))
        // It has ended by itself, with Bluetooth.
        #expect(results.map(\.isKilled) == Array(repeating: false, count: 12))
    }

    @Test func `a name cannot command the terminal`() async throws {
        let world = try await BlueZWorld()
        let name = "A\u{1B}]0;title\u{7}\u{1B}[2J\rB\u{9B}C"
        _ = await world.radio.add(
            PeripheralDefinition(advertisement: Advertisement(localName: name, rssi: -40), services: []))
        let result = try await world.ble("scan", "--duration", "0").run { program in
            // The table has a head.
            try await program.output.until(lineCount: 2)
            program.send(.interrupt)
        }
        #expect(result.output.contains("A\u{FFFD}]0;title\u{FFFD}\u{FFFD}[2J\u{FFFD}B\u{FFFD}C"))
        #expect(!result.output.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" })
    }
}
