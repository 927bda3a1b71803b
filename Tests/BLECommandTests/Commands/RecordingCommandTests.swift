import BLE
import BLERecording
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// `--record`, `--replay`, `record`, `diff` and `convert`.
@Suite(.startsProcesses, .hangLimit)
final class RecordingCommandTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "recordings-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: folder) }

    private func path(_ name: String) -> String { folder.appending(path: name).path }

    private func record(_ name: String, _ arguments: String...) async throws -> Recording {
        let result = try await Tool(arguments + ["--backend", "simulated", "--record", path(name)]).run()
        #expect(result.status == 0, "\(result.errors)")
        return try Recording(lines: Data(contentsOf: URL(filePath: path(name))))
    }

    @Test func `that the recording could not be written is said although a duration has ended the command`()
        async throws
    {
        let tool = Tool(
            [
                "notify", "Simulated Strap", "2a37", "--duration", "2.75", "--backend", "simulated", "--record",
                "/dev/full",
            ], time: .virtual)
        let result = try await tool.run { try await $0.pass(.seconds(2.75)) }
        #expect(result.status == 74)
        #expect(result.errors.contains("cannot be written"), "\(result.errors)")
    }

    @Test func `a command is recorded, on bluetoothd as in the simulation`() async throws {
        let simulated = try await record("a", "read", "Simulated Strap", "battery-level")
        #expect(simulated.header.stack == "SimulatedBackend")
        let world = try await BlueZWorld()
        let strap = await world.radio.add(.heartRateStrap())
        let result = try await world.ble("read", strap.id.rawValue, "battery-level", "--record", path("b")).run()
        #expect(result.status == 0, "\(result.errors)")
        let real = try Recording(lines: Data(contentsOf: URL(filePath: path("b"))))
        #expect(real.header.stack == "BlueZCentral")
        for recording in [simulated, real] {
            let read = try #require(recording.entries.first { $0.what == .read })
            #expect(recording.entries.contains { $0.what == .reply && $0.call == read.call && $0.value == [90] })
        }
    }

    @Test func `a host is recorded`() async throws {
        let world = try await BlueZWorld()
        let result = try await world.ble("serve", "heart-rate-strap", "--json", "--record", path("c"))
            .afterFirstLine { $0.send(.interrupt) }
        #expect(result.status == 130, "\(result.errors)")
        let recording = try Recording(lines: Data(contentsOf: URL(filePath: path("c"))))
        let whats = recording.entries.map(\.what)
        #expect(whats.contains(.register) && whats.contains(.advertise))
    }

    @Test func `a command on a replay shows what it has shown`() async throws {
        _ = try await record("a", "inspect", "Simulated Strap", "--values")
        let shown = try await Tool.run("inspect", "Simulated Strap", "--values", "--backend", "simulated")
        let again = try await Tool.run("inspect", "Simulated Strap", "--values", "--replay", path("a"))
        #expect(again.status == 0, "\(again.errors)")
        #expect(again.output == shown.output)
    }

    @Test func `two runs of a command do not differ, and those of others do`() async throws {
        for name in ["a", "b"] { _ = try await record(name, "read", "Simulated Strap", "battery-level") }
        _ = try await record("c", "read", "Simulated Strap", "body-sensor-location")
        // Which of the others are heard until then depends on the machine.
        let same = try await Tool.run("diff", path("a"), path("b"), "--ignore", "advertisements")
        #expect(same.output == "" && same.status == 0, "\(same.output)")
        let other = try await Tool.run("diff", path("a"), path("c"), "--ignore", "advertisements")
        #expect(other.status == 1)
        #expect(other.output.contains(#/- \d+\.\d{3} [0-9A-F:]{17} read 180f/2a19 = 5a/#), "\(other.output)")
        #expect(other.output.contains(#/\+ \d+\.\d{3} [0-9A-F:]{17} read 180d/2a38 = /#), "\(other.output)")
    }

    @Test func `what is private is taken out`() async throws {
        _ = try await record("a", "read", "Simulated Strap", "battery-level")
        let result = try await Tool.run("convert", path("a"), path("b"), "--redact", "all")
        #expect(result.status == 0, "\(result.errors)")
        let text = try String(contentsOfFile: path("b"), encoding: .utf8)
        #expect(!text.contains("Strap") && !text.contains(#""5a""#) && text.contains("C0:00:00:00:00:01"))
    }

    @Test func `a definition of a peripheral is one that the fake bluetoothd serves`() async throws {
        let result = try await Tool.run(
            "record", "Simulated Strap", "--backend", "simulated", "--listen", "2.5")
        #expect(result.status == 0, "\(result.errors)")
        try Data(result.output.utf8).write(to: URL(filePath: path("strap.json")))
        let inspected = try await Tool.run(
            "fake", "--peripheral", path("strap.json"), "--", Tool.path, "inspect", "Simulated Strap", "--values",
            "--json")
        #expect(inspected.status == 0, "\(inspected.errors)")
        let services = try #require(try inspected.objects.last?["services"] as? [[String: Any]])
        #expect(Set(services.compactMap { $0["uuid"] as? String }).isSuperset(of: ["180d", "180f", "180a"]))
        #expect(inspected.output.contains(#""value":"5a""#), "\(inspected.output)")
        let measured = try await Tool.run(
            "fake", "--peripheral", path("strap.json"), "--", Tool.path, "notify", "Simulated Strap", "2a37",
            "--count", "1", "--json")
        #expect(measured.status == 0, "\(measured.errors)")
        #expect(measured.output.contains("72"), "\(measured.output)")
    }

    @Test func `a start that failed is recorded`() async throws {
        for command in [["scan"], ["serve", "battery"]] {
            let result = try await Tool(command + ["--bus", "unix:path=/nowhere", "--record", path("a")]).run()
            #expect(result.status != 0)
            let recording = try Recording(lines: Data(contentsOf: URL(filePath: path("a"))))
            // A backend that did not start may be shut down before the recording ends.
            #expect(recording.entries.prefix(2).map(\.what) == [.start, .reply], "\(command)")
            #expect(recording.entries.dropFirst().first?.error != nil)
        }
    }

    @Test func `a replay is not recorded into its own file, whatever its path is`() async throws {
        let before = try await record("a", "read", "Simulated Strap", "battery-level").lines
        try FileManager.default.createSymbolicLink(atPath: path("link"), withDestinationPath: path("a"))
        for other in [path("a"), folder.path + "/./a", path("link")] {
            let result = try await Tool.run("scan", "--replay", path("a"), "--record", other)
            #expect(result.status == 64, "\(other)")
            #expect(result.errors.contains("the same file"), "\(result.errors)")
        }
        #expect(try Data(contentsOf: URL(filePath: path("a"))) == before)
    }

    @Test func `services that a host cannot have are not in a definition`() async throws {
        let id: DeviceID = "F0:00:00:00:00:01"
        var reply = RecordedEntry(.reply, call: 2)
        reply.services = GATTDatabase(services: [
            GATTService(uuid: BluetoothUUID(0x1800), handle: 1, characteristics: []),
            GATTService(uuid: BluetoothUUID(0x180F), handle: 10, characteristics: [], includedHandles: [1, 20]),
            GATTService(uuid: BluetoothUUID(0x180D), handle: 20, characteristics: []),
        ])
        let recording = Recording(
            Recording.Header(stack: "Test"),
            entries: [
                RecordedEntry(.known, peripheral: id), RecordedEntry(.connect, call: 1, peripheral: id),
                RecordedEntry(.reply, call: 1), RecordedEntry(.discover, call: 2, peripheral: id), reply,
            ])
        try recording.write(to: path("a"))
        let result = try await Tool.run("record", id.rawValue, "--replay", path("a"))
        #expect(result.status == 0, "\(result.errors)")
        let definition = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let services = try #require(definition?["services"] as? [[String: Any]])
        #expect(services.map { $0["uuid"] as? String } == ["180f", "180d"])
        #expect(services.first?["includes"] as? [String] == ["180d"])
    }

    @Test func `a file that is none, or not there, is said with its name`() async throws {
        let missing = try await Tool.run("diff", path("none"), path("none"))
        #expect(missing.status == 74)
        #expect(missing.errors.contains("none” cannot be read: No such file or directory"), "\(missing.errors)")
        try Data("nonsense\n".utf8).write(to: URL(filePath: path("text")))
        let nonsense = try await Tool.run("scan", "--replay", path("text"))
        #expect(nonsense.status == 64)
        #expect(nonsense.errors.contains("line 1 is not one of a recording"), "\(nonsense.errors)")
        let unwritable = try await Tool.run(
            "read", "Simulated Strap", "battery-level", "--backend", "simulated", "--record", "/nowhere/file")
        #expect(unwritable.status == 74)
        #expect(unwritable.errors.contains("No such file"), "\(unwritable.errors)")
    }
}
