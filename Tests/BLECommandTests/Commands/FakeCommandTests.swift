import BLE
import BLEBlueZ
import BLEFakeBlueZ
import BLEProfiles
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

@testable import BLECommand

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

    @Test func `Ctrl-C is for a wrapped command only while it runs`() async {
        let wrapped = FakeCommand.WrappedCommand()
        #expect(!wrapped.isRunning)
        await wrapped.during { #expect(wrapped.isRunning) }
        #expect(!wrapped.isRunning)
        await #expect(throws: CancellationError.self) { try await wrapped.during { throw CancellationError() } }
        #expect(!wrapped.isRunning)
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
                #"{"do": "disturb", "event": "read", "effect": "hold", "from": "Phone"}"#,
                #"{"do": "disturb", "event": "register", "effect": "hold", "from": "CE:00:00:00:00:01"}"#,
            ] {
                try await running.write(line + "\n")
            }
            try await running.errors.until(count: 20, "ble: ")
        }
        #expect(result.status == 130)
        #expect(result.errors.split(separator: "\n").count { $0.hasPrefix("ble: ") } == 20, "\(result.errors)")
        #expect(result.errors.contains("did you mean \"drop\"?"))
    }

    /// Two equal characteristics in one service, and one in another.
    private static let twins = """
        {"do": "add", "address": "F0:F1:F2:F3:F4:F5", "definition": {"name": "Twins", "services": [\
        {"uuid": "ff00", "characteristics": [{"uuid": "ff01", "properties": ["read"], "value": "01"}, \
        {"uuid": "ff01", "properties": ["read"], "value": "02"}]}, \
        {"uuid": "ff10", "characteristics": [{"uuid": "ff01", "properties": ["read"], "value": "03"}]}]}}
        """

    @Test func `equal characteristics are told apart by service, handle and index`() async throws {
        let result = try await withFake(["--empty"]) { address, running in
            try await running.write(Self.twins + "\n")
            try await running.output.until("F0:F1:F2:F3:F4:F5")
            let central = try await Central(backend: .bluez(bus: address), configuration: .quiet())
            let twins = try await central.first(matching: .name("Twins"), timeout: HangLimit.step).peripheral
            try await twins.connect()
            let keys = try await twins.services().flatMap(\.characteristics).filter { $0.uuid == BluetoothUUID(0xFF01) }
                .map { CharacteristicKey(characteristic: $0.uuid, handle: $0.handle) }
            #expect(keys.count == 3)
            func values() async throws -> [[UInt8]] {
                var all: [[UInt8]] = []
                for key in keys { all.append(try await twins.read(key.bytes)) }
                return all
            }
            #expect(try await values() == [[1], [2], [3]])
            let handle = try #require(keys[0].handle)
            for line in [
                #"{"do": "value", "peripheral": "Twins", "uuid": "ff01", "index": 2, "value": "12"}"#,
                #"{"do": "value", "peripheral": "Twins", "uuid": "ff01", "service": "ff10", "value": "13"}"#,
                #"{"do": "value", "peripheral": "Twins", "uuid": "ff01", "handle": \#(handle), "value": "11"}"#,
            ] {
                try await running.write(line + "\n")
            }
            try await running.output.until(lineCount: 5)
            #expect(try await values() == [[0x11], [0x12], [0x13]])
            // A fault of one of them is not one of the others.
            try await running.write(
                #"{"do": "disturb", "event": "read", "effect": "fail", "att": 17, "peripheral": "Twins", "#
                    + #""uuid": "ff01", "index": 3}"# + "\n")
            try await running.output.until(lineCount: 6)
            for key in keys.dropLast() { _ = try await twins.read(key.bytes) }
            let error = await #expect(throws: BLEError.self) { try await twins.read(keys[2].bytes) }
            #expect(error?.attError == .insufficientResources)
            for line in [
                #"{"do": "value", "peripheral": "Twins", "uuid": "ff01", "index": 4, "value": "12"}"#,
                #"{"do": "value", "peripheral": "Twins", "uuid": "ff01", "service": "ff20", "value": "12"}"#,
                #"{"do": "disturb", "event": "read", "effect": "fail", "index": 1}"#,
                #"{"do": "disturb", "event": "read", "effect": "fail", "uuid": "ff01", "index": 1}"#,
                #"{"do": "other", "method": "StartNotify", "peripheral": "Twins", "uuid": "ff01"}"#,
                #"{"do": "other", "method": "Pair", "peripheral": "Twins"}"#,
            ] {
                try await running.write(line + "\n")
            }
            try await running.errors.until(count: 6, "ble: ")
            await central.shutDown()
        }
        #expect(result.errors.contains("the peripheral has 3 of them"), "\(result.errors)")
        #expect(result.status == 130)
    }

    @Test func `its input adds adapters, and brings one back under another name`() async throws {
        let result = try await withFake(["--empty"]) { address, running in
            let central = try await Central(backend: .bluez(bus: address), configuration: .quiet())
            func adapters() async -> [String] { ((try? await central.adapters()) ?? []).map(\.id) }
            try await running.write(#"{"do": "attach", "adapter": "hci1"}"# + "\n")
            await until { await adapters() == ["hci0", "hci1"] }
            let address = try await central.adapters().last?.address
            try await running.write(#"{"do": "plug", "on": false, "adapter": "hci1"}"# + "\n")
            await until { await adapters() == ["hci0"] }
            try await running.write(#"{"do": "plug", "on": true, "adapter": "hci1", "as": "hci2"}"# + "\n")
            await until { await adapters() == ["hci0", "hci2"] }
            #expect(try await central.adapters().last?.address == address)
            for line in [
                #"{"do": "attach", "adapter": "hci1"}"#, #"{"do": "attach", "adapter": "hci02"}"#,
                #"{"do": "attach"}"#, #"{"do": "plug", "on": true, "adapter": "hci1"}"#,
                #"{"do": "plug", "on": true, "adapter": "hci0", "as": "hci3"}"#,
            ] {
                try await running.write(line + "\n")
            }
            try await running.errors.until(count: 5, "ble: ")
            await central.shutDown()
        }
        #expect(result.errors.contains("the adapter is hci2 now"), "\(result.errors)")
        #expect(result.status == 130)
    }

    @Test func `its input changes addresses and what is between a peripheral and its centrals`() async throws {
        let result = try await withFake(["--peripheral", Self.strap]) { address, running in
            let central = try await Central(backend: .bluez(bus: address), configuration: .quiet())
            var lines = 1
            /// Returns the answer to a command.
            func carryOut(_ line: String) async throws -> String {
                try await running.write(line + "\n")
                lines += 1
                try await running.output.until(lineCount: lines)
                return running.output.text.split(separator: "\n").last.map(String.init) ?? ""
            }
            func find(_ criteria: DiscoveryCriteria) async throws -> Peripheral {
                try await central.first(matching: criteria, timeout: HangLimit.step).peripheral
            }
            _ = try await carryOut(#"{"do": "play", "peripheral": "Strap", "rssi": [[0, -41]]}"#)
            #expect(try await find(.rssi(-41 ... -41)).id == "F0:F1:F2:F3:F4:F5")
            // 20 dB less than at 1 m.
            _ = try await carryOut(#"{"do": "play", "peripheral": "Strap", "meters": [[0, 10]]}"#)
            _ = try await find(.rssi(-79 ... -79))
            _ = try await carryOut(
                #"{"do": "scan-response", "peripheral": "Strap", "definition": {"name": "Long name", "services": []}}"#)
            _ = try await find(.name("Long name"))
            let answer = try await carryOut(#"{"do": "rotate", "peripheral": "Strap"}"#)
            let rotated = try await find(.excluding(["F0:F1:F2:F3:F4:F5"]))
            #expect(answer.contains(rotated.id.rawValue))
            _ = try await carryOut(#"{"do": "interval", "peripheral": "Strap", "seconds": 0.5, "timeout": 2}"#)
            try await rotated.connect()
            let start = ContinuousClock.now
            _ = try await rotated.read(.batteryLevel)
            // The answer crosses the link at the event after that of the request.
            #expect(start.duration(to: .now) >= .milliseconds(500))
            var events = await rotated.connectionEvents().makeAsyncIterator()
            _ = try await carryOut(#"{"do": "play", "peripheral": "Strap", "loss": [[0, 1]], "seed": 7}"#)
            while let event = try await events.next() {
                if case .disconnected = event { break }
            }
            await central.shutDown()
        }
        #expect(result.errors == "")
        #expect(result.status == 130)
    }

    @Test func `another program takes a socket until it leaves`() async throws {
        let result = try await withFake(["--peripheral", Self.strap]) { address, running in
            let central = try await Central(backend: .bluez(bus: address), configuration: .quiet())
            let strap = try await central.first(matching: .name("Strap"), timeout: HangLimit.step).peripheral
            try await strap.connect()
            for method in ["Connect", "AcquireNotify"] {
                try await running.write(
                    #"{"do": "other", "method": "\#(method)", "peripheral": "Strap""#
                        + (method == "Connect" ? "" : #", "uuid": "heart-rate-measurement""#) + "}\n")
            }
            try await running.output.until(lineCount: 3)
            await expectError(.busy) { try await strap.notifications(.heartRateMeasurement) }
            try await running.write(#"{"do": "leave"}"# + "\n")
            try await running.output.until(lineCount: 4)
            try await running.until { (try? await strap.notifications(.heartRateMeasurement)) != nil }
            await central.shutDown()
        }
        #expect(result.errors == "")
        #expect(result.status == 130)
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
            try await running.until { FileManager.default.fileExists(atPath: path("waiting")) }
            running.send(.interrupt)
        }
        #expect(early.status == 130)
        #expect(!early.isKilled)
        #expect(!FileManager.default.fileExists(atPath: path("started")))

        // Between the line and its end, the command has many calls answered, which an interrupted ble would not survive.
        let script = #"""
            call() {
                dbus-send --bus=$DBUS_SYSTEM_BUS_ADDRESS --print-reply --dest=ble.Fake /ble/Fake ble.Fake1.Do \
                    'string:{"do": "state"}' >/dev/null
            }
            call && echo ready; read line
            for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do call || exit 4; done
            echo ended; exit 3
            """#
        let late = try await TestProgram(Tool.path, ["fake", "--empty", "--", "sh", "-c", script], input: .writer).run {
            running in
            try await running.output.until("ready")
            running.send(.interrupt)
            try await running.write("\n")
            try await running.output.until("ended")
        }
        // On a busy machine, Dispatch may deliver the signal only when the command has ended, and it ends ble then.
        #expect(late.status == 3 || late.isKilled)
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
