import BLE
import BLEBlueZ
import BLEFakeBlueZ
import BLEProfiles
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// `ble fake`: a bluetoothd for other programs.
@Suite(.startsProcesses, .hangLimit)
struct FakeCommandTests {
    private static let strap = "heart-rate-strap,name=Strap,address=F0:F1:F2:F3:F4:F5"

    /// Runs `ble fake` with lines of input, beside `body` with its bus.
    private func withFake(
        _ arguments: [String], _ body: @escaping (String, RunningProgram) async throws -> Void
    ) async throws -> Tool.Result {
        let program = TestProgram(Tool.path, ["fake"] + arguments, input: .writer)
        let result = try await program.run { running in
            try await running.output.until(lineCount: 1)
            let line = try #require(running.output.text.split(separator: "\n").first)
            try await body(String(line.dropFirst("DBUS_SYSTEM_BUS_ADDRESS=".count)), running)
            running.send(.interrupt)
        }
        return Tool.Result(
            status: result.status, isKilled: result.isKilled, output: result.output, errors: result.errors)
    }

    @Test func `programs find its peripherals, and its input disturbs them`() async throws {
        let result = try await withFake(["--peripheral", Self.strap]) { address, running in
            let central = try await Central(backend: .bluez(bus: address), configuration: .quiet())
            let strap = try await central.first(matching: .name("Strap"), timeout: HangLimit.step).peripheral
            #expect(strap.id == "F0:F1:F2:F3:F4:F5")
            try await strap.connect()
            var events = await strap.connectionEvents().makeAsyncIterator()
            try await running.write(
                #"{"do": "value", "peripheral": "Strap", "uuid": "battery-level", "value": "2a"}"# + "\n")
            try await running.output.until(lineCount: 2)
            #expect(try await strap.read(.batteryLevel) == 42)
            try await running.write(#"{"do": "drop", "peripheral": "f0:f1:f2:f3:f4:f5"}"# + "\n")
            while let event = try await events.next() {
                if case .disconnected = event { break }
            }
            try await running.write(
                #"{"do": "refuse", "method": "ReadValue", "error": "org.bluez.Error.NotPermitted"}"# + "\n")
            try await running.output.until(lineCount: 4)
            let error = await #expect(throws: BLEError.self) { try await strap.read(.batteryLevel) }
            #expect(error?.code == .notPermitted)
            try await running.write(#"{"do": "state"}"# + "\n")
            try await running.output.until("\"isRunning\":true")
            try await running.write(#"{"do": "kill"}"# + "\n")
            await until { await central.adapterState == .resetting }
            try await running.write(#"{"do": "start"}"# + "\n")
            await until { await central.adapterState == .poweredOn }
            await central.shutDown()
        }
        #expect(result.status == 130)
        #expect(result.errors == "")
    }

    @Test func `a line that is wrong is told, and nothing else happens`() async throws {
        let result = try await withFake(["--empty"]) { _, running in
            for line in [
                "nonsense", #"{"do": "dropp"}"#, #"{"do": "drop", "peripheral": "nobody"}"#, #"{"do": "power"}"#,
                #"{"do": "power", "on": 1}"#, #"{"do": "disturb", "event": "read", "effect": "explode"}"#,
                #"{"do": "start"}"#, #"{"do": "add", "kind": "battery", "address": "x"}"#,
                #"{"do": "hang", "metod": "x"}"#,
            ] {
                try await running.write(line + "\n")
            }
            try await running.write(#"{"do": "add", "kind": "battery", "address": "F0:F1:F2:F3:F4:F5"}"# + "\n")
            try await running.output.until("F0:F1:F2:F3:F4:F5")
            for line in [
                #"{"do": "add", "kind": "battery", "address": "F0:F1:F2:F3:F4:F5"}"#,
                #"{"do": "add", "kind": "battery", "name": "a\u0000b"}"#,
                #"{"do": "refuse", "method": "Connect", "error": "no name"}"#,
                #"{"do": "refuse", "method": "Connect", "message": "a\u0000b"}"#,
                #"{"do": "refuse", "method": "Connect", "error": "a.\#(String(repeating: "b", count: 254))"}"#,
                #"{"do": "deny", "client": ":1.999999"}"#,
                #"{"do": "power", "on": false, "adapter": "hci7"}"#, #"{"do": "hang", "method": "ReadVale"}"#,
                #"{"do": "disturb", "event": "read", "effect": "hold", "next": 1, "nth": 2}"#,
            ] {
                try await running.write(line + "\n")
            }
            try await running.errors.until(count: 18, "ble: ")
        }
        #expect(result.status == 130)
        #expect(result.errors.split(separator: "\n").count { $0.hasPrefix("ble: ") } == 18, "\(result.errors)")
        #expect(result.errors.contains("did you mean \"drop\"?"))
    }

    @Test func `a command runs on it, and its status is passed on`() async throws {
        let result = try await Tool([
            "fake", "--peripheral", Self.strap, "--", "sh", "-c",
            #""$0" read Strap battery-level --json | grep -o '"value":[0-9]*'; exit 7"#, Tool.path,
        ]).run()
        #expect(result.output.hasPrefix("\"value\":"), "\(result.output) \(result.errors)")
        #expect(result.status == 7)
    }

    @Test func `what a program serves is named like the rest`() async throws {
        let result = try await withFake(["--empty", "--adapters", "2"]) { address, running in
            let host = try await PeripheralHost(
                backend: .bluez(adapter: "hci1", bus: address), configuration: .quiet())
            let central = try await Central(backend: .bluez(adapter: "hci0", bus: address), configuration: .quiet())
            try await host.withServed(.battery(name: "Ours")) { _ in
                let remote = try await central.first(matching: .name("Ours"), timeout: HangLimit.step).peripheral
                try await remote.connect()
                var events = await remote.connectionEvents().makeAsyncIterator()
                try await running.write(#"{"do": "drop", "peripheral": "Ours"}"# + "\n")
                while let event = try await events.next() {
                    if case .disconnected = event { break }
                }
                try await running.write(#"{"do": "state"}"# + "\n")
                try await running.output.until(#""isServed":true"#)
            }
            await central.shutDown()
            await host.shutDown()
        }
        #expect(result.errors == "")
    }

    @Test func `a program controls it over the bus`() async throws {
        let script = #"""
            dbus-send --bus=$DBUS_SYSTEM_BUS_ADDRESS --print-reply=literal --dest=ble.Fake /ble/Fake ble.Fake1.Do \
                'string:{"do": "add", "kind": "battery", "name": "Late", "address": "C0:00:00:00:00:77"}'
            dbus-send --bus=$DBUS_SYSTEM_BUS_ADDRESS --print-reply=literal --dest=ble.Fake /ble/Fake ble.Fake1.Do \
                'string:{"do": "nothing"}'
            "$0" read Late battery-level
            """#
        let result = try await Tool(["fake", "--empty", "--", "sh", "-c", script, Tool.path]).run()
        #expect(result.output.contains(#"{"id":"C0:00:00:00:00:77"}"#), "\(result.output) \(result.errors)")
        #expect(result.errors.contains("ble.Fake.Error.Refused"))
        #expect(result.status == 0)
    }

    @Test(arguments: [
        ["--daemon", "6.1"], ["--daemon", "5.1"], ["--peripheral", "nothing"], ["--empty", "--peripheral", "lamp"],
        ["--peripheral", "lamp,rssi=loud"], ["--peripheral", "lamp,size=big"], ["--peripheral", "lamp,address=1"],
        ["--peripheral", "lamp,pairing=never"],
    ])
    func `arguments that are wrong are told`(_ arguments: [String]) async throws {
        let result = try await Tool(["fake"] + arguments).run()
        #expect(result.status == 64, "\(result.errors)")
        #expect(result.output == "")
    }

    @Test func `a command that there is not is told`() async throws {
        let result = try await Tool(["fake", "--", "there-is-no-such-command"]).run()
        #expect(result.status == 127)
        #expect(result.errors.contains("there-is-no-such-command"))
        #expect(try await Tool(["fake", "--", "/etc/passwd"]).run().status == 127)
        #expect(try await Tool(["fake", "--", "/bin/true"]).run().status == 0)
    }

    @Test func `a command ends with ble, even if that is killed`() async throws {
        let program = TestProgram(Tool.path, ["fake", "--empty", "--", "sh", "-c", "echo $$ ready; exec sleep 300"])
        let result = try await program.run { running in
            try await running.output.until("ready")
            running.send(.kill)
        }
        #expect(result.isKilled)
        let number = try #require(result.output.split(separator: " ").first)
        // It has ended when it is gone, or only its parent's wait is missing.
        await until {
            guard let status = try? String(contentsOfFile: "/proc/\(number)/status", encoding: .utf8) else {
                return true
            }
            return status.contains("State:\tZ")
        }
    }

    @Test func `a Ctrl-C before the command has started ends ble, and a later one is for the command`() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ble-fake-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        func path(_ name: String) -> String { directory.appending(path: name).path }
        // A bus that does not listen.
        try "#!/bin/sh\n: >'\(path("waiting"))'\nexec sleep 300\n".write(
            toFile: path("dbus-daemon"), atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path("dbus-daemon"))
        let search = "\(directory.path):\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")"
        let early = try await TestProgram(
            Tool.path, ["fake", "--", "touch", path("started")], environment: ["PATH": search]
        ).run { running in
            await until { FileManager.default.fileExists(atPath: path("waiting")) }
            running.send(.interrupt)
        }
        #expect(early.status == 130)
        #expect(!early.isKilled)
        #expect(!FileManager.default.fileExists(atPath: path("started")))

        // The command's call is answered after its start.
        let script = #"""
            dbus-send --bus=$DBUS_SYSTEM_BUS_ADDRESS --print-reply --dest=ble.Fake /ble/Fake ble.Fake1.Do \
                'string:{"do": "state"}' >/dev/null && echo ready; read line; exit 3
            """#
        let late = try await TestProgram(Tool.path, ["fake", "--empty", "--", "sh", "-c", script], input: .writer).run {
            running in
            try await running.output.until("ready")
            running.send(.interrupt)
            try await running.write("\n")
        }
        #expect(late.status == 3)
    }

    @Test func `clients are denied and allowed`() async throws {
        let result = try await withFake(["--empty"]) { address, running in
            try await running.write(#"{"do": "deny"}"# + "\n")
            try await running.output.until(lineCount: 2)
            let denied = try await Tool(["adapters", "--bus", address]).run()
            #expect(denied.status == 77)
            #expect(denied.errors.contains("group bluetooth"))
            try await running.write(#"{"do": "allow"}"# + "\n")
            try await running.output.until(lineCount: 3)
            #expect(try await Tool(["adapters", "--bus", address]).run().status == 0)
        }
        #expect(result.errors == "")
    }

    @Test func `programs meet at a socket with a path`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "ble fake \(UUID().uuidString)").path
        _ = try await withFake(["--socket", path, "--peripheral", Self.strap]) { address, _ in
            #expect(address.hasPrefix("unix:path="))
            let central = try await Central(backend: .bluez(bus: address), configuration: .quiet())
            _ = try await central.first(matching: .name("Strap"), timeout: HangLimit.step)
            await central.shutDown()
            let second = try await Tool(["fake", "--socket", path]).run()
            #expect(second.status == 75)
            #expect(FileManager.default.fileExists(atPath: path))
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `what a command waits for can be let go`() async throws {
        _ = try await withFake(["--peripheral", Self.strap]) { address, running in
            let central = try await Central(backend: .bluez(bus: address), configuration: .quiet())
            let strap = try await central.first(matching: .name("Strap"), timeout: HangLimit.step).peripheral
            try await strap.connect()
            try await running.write(#"{"do": "disturb", "event": "disconnect", "effect": "hold"}"# + "\n")
            // The kernel ends the links of a bluetoothd that has died; no fault holds it up.
            try await running.write(#"{"do": "kill"}"# + "\n")
            try await running.write(#"{"do": "start"}"# + "\n")
            try await running.write(#"{"do": "state"}"# + "\n")
            try await running.output.until(#""isRunning":true"#)
            await central.shutDown()
        }
    }
}
