import BLE
import BLEAssignedNumbers
import BLEDefinitions
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

@testable import BLECommand

/// The names and layouts of vendors in all commands.
@Suite(.startsProcesses, .hangLimit)
struct VendorFilesTests {
    private let world: BlueZWorld
    private let path = FileManager.default.temporaryDirectory.appending(path: "vendor-\(UUID().uuidString).json").path

    private static let definition = """
        {
          "companies": { "0b5e": "Green Things" },
          "services": { "ff00": "Tank" },
          "characteristics": {
            "ff01": "Mode",
            "ff02": { "name": "Level", "fields": { "distance": { "at": 0, "type": "u16", "factor": 0.1, "unit": "cm" } } }
          },
          "descriptors": { "ff0a": "Calibration" },
          "formats": { "soil": { "company": "0b5e", "fields": { "moisture": { "at": 0, "type": "u8", "unit": "%" } } } }
        }
        """

    init() async throws {
        world = try await BlueZWorld()
        let definition = PeripheralDefinition(
            advertisement: Advertisement(
                localName: "Tank", serviceUUIDs: [BluetoothUUID(0xFF00)], manufacturerData: [0x0B5E: [21]]),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFF00),
                    characteristics: [
                        CharacteristicDefinition(BluetoothUUID(0xFF01), [.read], value: [1]),
                        CharacteristicDefinition(
                            BluetoothUUID(0xFF02), [.read, .write], value: [42, 0],
                            descriptors: [DescriptorDefinition(BluetoothUUID(0xFF0A), value: [7])]),
                    ])
            ])
        _ = await world.radio.add(definition)
    }

    private func ble(_ arguments: String..., definition: String = definition) async throws -> Tool.Result {
        try Data(definition.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await world.ble(["--vendor", path] + arguments).run()
    }

    /// A scan that is interrupted once it has shown the tank.
    private func scan(_ arguments: String...) async throws -> Tool.Result {
        try Data(Self.definition.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await world.ble(["--vendor", path, "scan", "--duration", "0"] + arguments).run { program in
            try await program.output.until("moisture")
            program.send(.interrupt)
        }
    }

    @Test func `names and values are those of the file`() async throws {
        let read = try await ble("read", "Tank", "level")
        #expect(read.output == "2a00  4.2 cm\n", "\(read.errors)")
        #expect(try await ble("read", "Tank", "ff02/calibration").output == "07\n")
        let written = try await ble("write", "Tank", "level", "5 cm", "--json")
        #expect(try written.objects.first?["decoded"] as? String == "5 cm", "\(written.errors)")
        #expect(try await ble("expect", "Tank", "level", "distance=5").status == 0)
        #expect(try await ble("write", "Tank", "level", "5.05 cm").status == 64)
        let inspected = try await ble("inspect", "Tank", "--values")
        for text in ["ff00 Tank", "ff01 Mode", "ff02 Level", "ff0a Calibration", "5 cm"] {
            #expect(inspected.output.contains(text), "\(inspected.output)")
        }
        let profile = try await ble("profile", "tank", "--count", "1")
        #expect(profile.output.contains("Level: 5 cm"), "\(profile)")
    }

    @Test func `advertised data and services of a scan are, too`() async throws {
        let scan = try await scan("--service", "tank")
        #expect(scan.output.contains("tank soil: moisture 21 %"), "\(scan)")
        let json = try await self.scan("--json")
        let formats = try json.objects.first?["formats"] as? [String: [String: Double]]
        #expect(formats == ["soil": ["moisture": 21]])
    }

    @Test func `what is served has the names of the file, too`() async throws {
        try Data(Self.definition.utf8).write(to: URL(filePath: path))
        let served = path + ".served"
        let definition = """
            {"name": "Served", "services": [{"uuid": "tank", "characteristics": [
              {"uuid": "mode", "properties": ["read"], "value": "05"}]}]}
            """
        try Data(definition.utf8).write(to: URL(filePath: served))
        defer { for path in [path, served] { try? FileManager.default.removeItem(atPath: path) } }
        let files = try await VendorFiles(of: ["serve", served, "--vendor", path], [:])
        let found = try VendorFiles.$current.withValue(files) { try PeripheralDefinition(argument: served, name: nil) }
        #expect(found.services.map(\.uuid) == [BluetoothUUID(0xFF00)])
        #expect(found.services[0].characteristics.map(\.uuid) == [BluetoothUUID(0xFF01)])
        let line = try VendorFiles.$current.withValue(files) {
            try ValueLine(#"{"uuid": "mode", "service": "tank", "value": "06"}"#)
        }
        #expect(try line.position(in: found) == (0, 0))
        let error = #expect(throws: (any Error).self) { try PeripheralDefinition(argument: served, name: nil) }
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains("\"mode\" is not a UUID or the name of a characteristic"), "\(text)")
    }

    @Test func `a script has the names of its session`() async throws {
        try Data(Self.definition.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let script = "use Tank\nread level\nexpect level \"4.2 cm\"\nread level --vendor x\n"
        let result = try await world.ble(["run", "-", "--vendor", path], input: script).run()
        #expect(result.output == "2a00  4.2 cm\n2a00  4.2 cm\n", "\(result.errors)")
        #expect(result.status == 64)
        #expect(result.errors.contains("belongs to the shell itself"))
    }

    @Test func `a file that is broken is an error with its place`() async throws {
        let broken = try await ble("read", "Tank", "level", definition: #"{"services": {"ff00": ""}}"#)
        #expect(broken.status == 64)
        #expect(broken.errors.contains("\(path): services.ff00: not a text of 1 to 200 bytes"), "\(broken.errors)")
        #expect(broken.errors.contains("Usage:"))
        let missing = try await Tool.run("scan", "--vendor", "/nonexistent/vendor.json")
        #expect(missing.status == 64)
        #expect(missing.errors.contains("/nonexistent/vendor.json cannot be read"), "\(missing.errors)")
    }

    @Test func `the environment names files, and the first file counts`() async throws {
        let paths = ["A", "B"].map {
            FileManager.default.temporaryDirectory.appending(path: "\($0)-\(UUID()).json").path
        }
        defer { for path in paths { try? FileManager.default.removeItem(atPath: path) } }
        for (name, path) in zip(["A", "B"], paths) {
            try Data(#"{"services": {"ff00": "\#(name)"}}"#.utf8).write(to: URL(filePath: path))
        }
        let tank = BluetoothUUID(0xFF00)
        let both = ["BLE_VENDOR": paths.joined(separator: ":")]
        #expect(tank.name(in: try await VendorFiles(of: ["scan"], both).catalog) == "A")
        #expect(tank.name(in: try await VendorFiles(of: ["scan", "--vendor=\(paths[1])"], both).catalog) == "B")
        #expect(tank.name(in: try await VendorFiles(of: ["scan"], [:]).catalog) == nil)
        // Text, and the arguments of another command.
        let others = ["write", "X", "ff01", "--text", "--vendor", "--", "--vendor", "x"]
        #expect(tank.name(in: try await VendorFiles(of: others, [:]).catalog) == nil)
        // The Tab key shows no errors.
        let line = ["---completion", "read", "--", "id", "1", "2", "ble", "read", "--vendor"]
        #expect(tank.name(in: try await VendorFiles(of: line + [paths[0]], [:]).catalog) == "A")
        #expect(tank.name(in: try await VendorFiles(of: line + ["/nonexistent"], [:]).catalog) == nil)
    }

    @Test func `companies are found by name`() async throws {
        try Data(Self.definition.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let numbers = try await Tool.run("--vendor", path, "numbers", "green")
        #expect(numbers.output.contains("0x0b5e  Green Things\n"), "\(numbers)")
        let scan = try await scan("--manufacturer", "green-things")
        #expect(scan.output.contains("tank soil: moisture 21 %"), "\(scan)")
    }

    @Test func `what does not use names of vendors does not read their files`() async throws {
        let missing = ["BLE_VENDOR": "/nonexistent"]
        for arguments in [
            ["--version"], ["help", "scan"], ["scan", "--help"], ["diff", "a", "b"], ["---completion"],
        ] {
            await #expect(throws: Never.self) { try await VendorFiles(of: arguments, missing) }
        }
        await #expect(throws: (any Error).self) { try await VendorFiles(of: ["scan"], missing) }
    }

    @Test func `names of a file are completed`() throws {
        let vendor = try VendorDefinition(json: Self.definition.utf8)
        let vocabulary = VendorFiles.$current.withValue(VendorFiles([vendor])) { ShellVocabulary() }
        #expect(ShellCompletion(of: "read x leve", in: vocabulary)?.candidates == ["level"])
        #expect(ShellCompletion(of: "profile tan", in: vocabulary)?.candidates == ["tank"])
    }
}
