import BLE
import BLEFakeBlueZ
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Testing

/// Scripts on a fake bluetoothd.
@Suite(.startsProcesses, .hangLimit)
struct RunCommandTests {
    private let world: BlueZWorld
    private let strap: SimulatedPeripheral
    private let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).ble").path

    init() async throws {
        world = try await BlueZWorld()
        strap = await world.radio.add(.heartRateStrap(beatsPerMinute: 72))
    }

    private func run(_ script: String, _ arguments: String...) async throws -> Tool.Result {
        try Data(script.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try await world.ble(["run", path] + arguments).run()
    }

    @Test func `all commands of a script share one link, which ends with it`() async throws {
        let result = try await run(
            """
            #!/usr/bin/env -S ble run
            use \(strap.id)   # connects
            read body-sensor-location
            inspect
            notify heart-rate-measurement --count 1

            use
            """)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("Chest"))
        #expect(result.errors.contains("is connected"))
        #expect(await world.daemon.calls["Connect"] == 1)
        #expect(await !strap.isConnected)
    }

    @Test func `the first failure ends a script, with its status, file and line`() async throws {
        let result = try await run("read 2a38\n\nread 2a00\nread 2a38\n", strap.id.rawValue)
        #expect(result.status == 16, "\(result.errors)")
        #expect(result.output.split(separator: "\n").count == 1)
        #expect(result.errors.contains("\(path):3: exit status 16: read 2a00"), "\(result.errors)")
    }

    @Test func `a script may go on, and ends with the first failure's status`() async throws {
        let result = try await run("read 2a00\nnonsense\nread 2a38\n", strap.id.rawValue, "--continue")
        #expect(result.status == 16)
        #expect(result.output.contains("Chest"))
        #expect(result.errors.contains("\(path):2: exit status 64: nonsense"))
    }

    @Test func `a script goes on after a line that is too long, and ends with the first failure's status`() async throws
    {
        let long = String(repeating: "x", count: 8193)
        let result = try await run("read 2a00\n\(long)\nread 2a38\n", strap.id.rawValue, "--continue")
        #expect(result.status == 16)
        #expect(result.output.contains("Chest"))
        #expect(result.errors.contains(":2: a line of more than 8192 bytes"), "\(result.errors)")
    }

    @Test func `the end of a line of megabytes is not performed`() async throws {
        let long = String(repeating: "x", count: (3 << 20) - 7)
        let input = "read 2a00\n\(long) read 2a19\nread 2a38\n"
        let result = try await world.ble(["run", "-", strap.id.rawValue, "--continue"], input: input).run()
        #expect(result.status == 16)
        #expect(result.output == "01  Chest\n")
        #expect(result.errors.contains("-:2: a line of more than 8192 bytes"), "\(result.errors)")
        #expect(!result.errors.contains("-:3:"), "\(result.errors)")
    }

    @Test func `a script that cannot be read does not connect`() async throws {
        #expect(try await world.ble("run", "/nonexistent", strap.id.rawValue).run().status == 74)
        #expect(await world.daemon.calls["Connect"] == nil)
    }

    @Test func `after the link has ended, a command connects again`() async throws {
        let tool = world.ble(["run", "-", strap.id.rawValue], input: "read 2a38\ndisconnect\nread \(strap.id) 2a38\n")
        let result = try await tool.run()
        #expect(result.status == 0, "\(result.errors)")
        #expect(await world.daemon.calls["Connect"] == 2)
    }

    @Test func `standard input that is no terminal is a script, and json is that of each command`() async throws {
        let tool = world.ble(["shell", strap.id.rawValue, "--json"], input: "read 2a38\nexit\nread nonsense\n")
        let result = try await tool.run()
        #expect(result.status == 0, "\(result.errors)")
        #expect(try result.objects.map { $0["value"] as? String } == ["01"])
    }

    @Test func `a peripheral that is not there, or a script, ends with the command's status`() async throws {
        #expect(try await world.ble("run", "-", "Nobody", timeout: 1).run().status == 12)
        #expect(try await world.ble("run", "/nonexistent").run().status == 74)
    }

    @Test func `a value that does not come in time ends with 1`() async throws {
        let tool = world.ble(
            "expect", strap.id.rawValue, "battery-level", "91%", "--within", "1234", time: .virtual)
        let result = try await tool.run { try await $0.pass(.seconds(1234)) }
        #expect(result.status == 1)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains("Battery Level is "), "\(result.errors)")
        #expect(result.errors.contains(" within 1234.0 seconds, not 91 %"), "\(result.errors)")
    }

    @Test func `a script, or a line, that does not end is refused`() async throws {
        let endless = try await world.ble("run", "/dev/zero").run()
        #expect(endless.status == 74)
        #expect(endless.errors.contains("has more than 1048576 bytes"), "\(endless.errors)")
        let long = String(repeating: "x", count: 8193)
        let script = try await run("disconnect\n\(long)\n", "--continue")
        #expect(script.status == 64)
        #expect(script.errors.contains(":2: a line of more than 8192 bytes"), "\(script.errors)")
        let input = try await world.ble(["run", "-"], input: long).run()
        #expect(input.status == 64)
    }
}
