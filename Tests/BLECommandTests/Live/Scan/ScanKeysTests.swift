import BLE
import BLEFakeBlueZ
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// The keys of `ble scan` on a terminal, which script(1) provides.
@Suite(.startsProcesses, .hangLimit) struct ScanKeysTests {
    /// Runs a scan, and returns its status. Checks that the terminal is afterwards as it was before.
    private func scan(
        _ options: String = "", input: String = "", isStopped: Bool = false,
        _ body: (RunningProgram) async throws -> Void
    ) async throws -> (status: String, output: String) {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap())
        _ = await world.radio.add(.battery())
        // The shell survives the Ctrl-C of the scan.
        let command = """
            trap : INT; stty rows 24 columns 80; echo "before=$(stty -g)"; \
            sh -c 'echo "pid=$$"; exec "$0" "$@"' '\(Tool.path)' scan \(options) --bus '\(world.bus.address)' \(input); \
            echo "status=$?"; echo "after=$(stty -g)"
            """
        let result = try await TestProgram.onTerminal(command).run(body)
        // Not always at the beginning of a line: a drawing may have been cut.
        func value(_ name: String) -> String? {
            result.output.components(separatedBy: "\(name)=").dropFirst().last?
                .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).first.map(String.init)
        }
        let before = try #require(value("before"))
        #expect(value("after") == before)
        // Marking of pasted text ends as often as it begins, unless the output is stopped.
        func count(_ text: String) -> Int { result.output.components(separatedBy: text).count - 1 }
        #expect(input.isEmpty == (count("\u{1B}[?2004h") > 0))
        #expect(isStopped || count("\u{1B}[?2004h") == count("\u{1B}[?2004l"))
        // So does writing without wrapping, even if the last drawing was cut.
        #expect(count("\u{1B}[?2004l") == count("\u{1B}[?2004l\u{1B}[?7h"))
        return (try #require(value("status")), result.output)
    }

    /// Returns the process of the scan, once it has drawn.
    private func process(_ program: RunningProgram) async throws -> pid_t {
        try await program.output.until("2 peripherals")
        return try #require(program.output.text.firstMatch(of: /pid=(\d+)/).flatMap { pid_t($0.1) })
    }

    /// Whether the process has not ended, even if nothing waits for it.
    private func isRunning(_ process: pid_t) -> Bool {
        let state = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        return state?.contains(") Z ") == false
    }

    @Test func `a signal ends a scan whose output is stopped`() async throws {
        let result = try await scan("--duration 0", isStopped: true) { program in
            let id = try await process(program)
            // Ctrl-S.
            try await program.write("\u{13}")
            #expect(kill(id, SIGTERM) == 0)
            await until { !isRunning(id) }
            // Ctrl-Q, for the shell. On a busy machine, the scan and the shell may end before Ctrl-S takes effect.
            try? await program.write("\u{11}")
        }
        #expect(result.status == "143")
    }

    @Test func `a scan ends with its terminal, even if it ignores the signal of that`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap())
        _ = await world.radio.add(.battery())
        let command = """
            trap '' HUP; echo "pid=$$"; exec '\(Tool.path)' scan --duration 0 --bus '\(world.bus.address)'
            """
        _ = try await TestProgram.onTerminal(command).run { program in
            let id = try await process(program)
            program.send(.kill)
            await until { !isRunning(id) }
        }
    }

    @Test func `keys filter, open, go back and quit`() async throws {
        let result = try await scan { program in
            try await program.output.until("2 peripherals")
            try await program.write("/strap")
            try await program.output.until("1 of 2 peripherals with “strap”")
            try await program.write("\r\u{1B}[B\r")
            try await program.output.until("Last advertisements")
            try await program.write("\u{1B}[D")
            try await program.output.until("1 of 2 peripherals", after: "Last advertisements")
            // Not a key, but text where none is expected.
            try await program.write("\u{1B}[200~q\u{1B}[201~f")
            try await program.output.until("f thaw")
            try await program.write("q")
        }
        #expect(result.status == "0")
    }

    @Test(arguments: ["\u{3}", "\u{4}"])
    func `Ctrl-C and Ctrl-D restore the terminal`(_ key: String) async throws {
        let result = try await scan("--duration 0") { program in
            try await program.output.until("2 peripherals")
            try await program.write(key)
        }
        #expect(result.status == (key == "\u{3}" ? "130" : "0"))
    }

    @Test func `without a terminal as its input, the table has no keys`() async throws {
        let result = try await scan("--duration 0", input: "< /dev/null") { program in
            try await program.output.until("Simulated Strap")
            let id = try #require(program.output.text.firstMatch(of: /pid=(\d+)/).flatMap { pid_t($0.1) })
            #expect(kill(id, SIGINT) == 0)
        }
        #expect(result.status == "130")
        #expect(result.output.contains("Simulated Strap"))
        #expect(!result.output.contains("quit") && !result.output.contains("2004"))
    }
}
