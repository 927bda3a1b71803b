import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// Scripts and the shell on the real bluetoothd; inside `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .startsProcesses, .hangLimit)
struct RealShellTests {
    private static let echo = "6e400001-b5a3-f393-e0a9-e50e24dcca9e"
    private static let input = "6e400002-b5a3-f393-e0a9-e50e24dcca9e"

    init() { #expect(Guest.shell("/run/bluez/peerctl reset") == 0) }

    /// Runs the lines of a script, each of which has to succeed.
    private func run(_ script: String, _ arguments: String...) async throws -> Tool.Result {
        let result = try await Tool(["run", "-"] + arguments, input: script).run()
        #expect(result.status == 0, "\(result.errors)")
        return result
    }

    @Test func `each command that takes the held link shares it`() async throws {
        let result = try await run(
            """
            use "Bumble HR"
            use
            inspect
            read battery-level
            read body-sensor-location
            info
            battery
            heart-rate --count 2
            profile heart-rate --count 1
            notify heart-rate-measurement --count 1
            sleep 0.1
            read 'Bumble HR' battery-level
            disconnect
            """)
        for text in ["57  87 %", "Wrist", "HR-1", "180d", Self.echo] {
            #expect(result.output.contains(text), "\(text) is missing in:\n\(result.output)")
        }
        // Told by "use", which connects, and by "use" alone.
        #expect(result.errors.split(separator: "\n").filter { $0.contains("is connected") }.count == 2)
        #expect(Guest.shell("[ $(/run/bluez/peerctl connections) = 0 ]") == 0)
    }

    @Test(arguments: [
        ("0102", "0102"), ("--text hé", "68c3a9"), ("--uint16 258", "0201"), ("--sint8 -2", "fe"),
        ("--file /run/value", "feed"),
    ])
    func `a value arrives as it was written`(_ value: String, _ expected: String) async throws {
        #expect(Guest.shell(#"printf '\xfe\xed' >/run/value"#) == 0)
        _ = try await run("write \(Self.input) \(value)\n", "Bumble HR")
        #expect(Guest.shell("[ $(/run/bluez/peerctl written) = \(expected) ]") == 0)
    }

    @Test func `a value is written in the words of its format`() async throws {
        _ = try await run("write heart-rate-control-point 'Reset Energy Expended'\n", "Bumble HR")
        let refused = try await Tool(["write", "Bumble HR", "heart-rate-control-point", "nonsense"]).run()
        #expect(refused.status == 64, "\(refused.errors)")
    }

    @Test func `commands of the machine need no peripheral`() async throws {
        let result = try await run(
            """
            adapters
            doctor
            numbers "heart rate"
            scan --duration 2 --events
            """)
        for text in ["hci0", "bluetoothd 5.", "180d", "Bumble HR"] {
            #expect(result.output.contains(text), "\(text) is missing in:\n\(result.output)")
        }
    }

    @Test func `a channel takes the lines after it as its packets`() async throws {
        // The strap's channel 0x0080 sends back what it gets.
        let result = try await run("channel --psm 0x80 --count 2\n0a0b\n0c\n", "Bumble HR")
        #expect(result.output.hasSuffix("0a0b\n0c\n"))
    }

    @Test func `a bond is made and removed in one session`() async throws {
        #expect(Guest.shell("/run/bluez/peerctl pairing just-works") == 0)
        let result = try await run("pair\nread 6e400004-b5a3-f393-e0a9-e50e24dcca9e\nunpair\n", "Bumble HR")
        #expect(result.output.contains("736563726574"))  // "secret", which needs encryption
    }

    @Test func `the first failure ends a script, and its link`() async throws {
        let result = try await Tool(
            ["run", "-", "Bumble HR"], input: "read battery-level\nread ffff\nread battery-level\n"
        ).run()
        #expect(result.status == 16, "\(result.errors)")
        #expect(result.output == "57  87 %\n")
        #expect(Guest.shell("[ $(/run/bluez/peerctl connections) = 0 ]") == 0)
    }

    @Test func `on a terminal, Ctrl-C ends a subscription and keeps the link, and a lost link is told`() async throws {
        let shell = TestProgram.onTerminal("exec \(Tool.path) shell 'Bumble HR'")
        let result = try await shell.run { program in
            try await program.output.until("is connected")
            try await program.write("notify heart-rate-measurement\n")
            try await program.output.until("Sensor Contact")
            try await program.write("\u{3}")
            try await program.output.until("HR> ", after: "Sensor Contact")
            try await program.write("read battery-level\n")
            try await program.output.until("87 %")
            #expect(Guest.shell("/run/bluez/peerctl disconnect") == 0)
            try await program.output.until("(no link)> ")
            try await program.write("read body-sensor-location\n")
            try await program.output.until("Wrist")
            try await program.write("exit\n")
        }
        #expect(result.status == 0, "\(result.output)")
        #expect(Guest.shell("[ $(/run/bluez/peerctl connections) = 0 ]") == 0)
    }
}
