import BLE
import BLEFakeBlueZ
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// `ble shell` on a terminal, which script(1) provides.
@Suite(.startsProcesses, .hangLimit)
struct ShellCommandTests {
    private let world: BlueZWorld
    private let strap: SimulatedPeripheral
    private let folder = FileManager.default.temporaryDirectory.appending(path: "shell-\(UUID().uuidString)").path

    init() async throws {
        world = try await BlueZWorld()
        strap = await world.radio.add(.heartRateStrap(beatsPerMinute: 72))
    }

    private func shell(
        _ options: String = "", _ body: (RunningProgram) async throws -> Void
    ) async throws -> Int32 {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let terminal = TestProgram.onTerminal(
            "exec '\(Tool.path)' shell \(strap.id) --bus '\(world.bus.address)' \(options)",
            environment: ["XDG_STATE_HOME": folder])
        return try await terminal.run(body).status
    }

    /// Types Ctrl-C, and waits for the next prompt. The terminal may echo the key behind that.
    private func interrupt(_ program: RunningProgram) async throws {
        let count = program.output.text.ranges(of: "Strap> ").count
        try await program.write("\u{3}")
        try await program.output.until { $0.contains("^C") && $0.ranges(of: "Strap> ").count > count }
    }

    @Test func `Ctrl-C ends a command, and not the shell`() async throws {
        let status = try await shell { program in
            try await program.output.until("Strap> ", after: "is connected")
            try await program.write("notify heart-rate-measurement\n")
            try await program.output.until("72 bpm")
            try await interrupt(program)
            #expect(await strap.isConnected)
            try await program.write("read body-sensor-location\n")
            try await program.output.until("Chest")
            try await program.write("exit\n")
        }
        #expect(status == 0)
        #expect(await world.daemon.calls["Connect"] == 1)
        #expect(await !strap.isConnected)
    }

    @Test func `a radio that is missing is noted with the reason`() async throws {
        let status = try await shell("--radio hci0 --radio hci7") { program in
            try await program.output.until("radio hci7: there is no adapter hci7")
            try await program.output.until("Strap> ")
            try await program.write("exit\n")
        }
        #expect(status == 0)
    }

    @Test func `Ctrl-C ends a shell that has not started yet`() async throws {
        let fault = await strap.hold(.connect)
        let status = try await shell { program in
            try await program.output.until("Connecting to")
            try await program.write("\u{3}")
        }
        #expect(status == 130)
        await fault.release()
    }

    @Test func `a failure does not end the shell, and Ctrl-C at the prompt gives up the line`() async throws {
        let status = try await shell { program in
            try await program.output.until("Strap> ", after: "is connected")
            try await program.write("read nonsense\n")
            try await program.output.until("Strap> ", after: "See 'read --help'")
            try await program.write("read ")
            try await program.output.until("Strap> read ", after: "See 'read --help'")
            try await interrupt(program)
            try await program.write("read body-sensor-location\n")
            // While a command runs, the terminal itself takes the key.
            try await program.output.until("Strap> ", after: "Chest")
            try await program.write("\u{4}")
        }
        #expect(status == 0)
    }

    #if LineEditing
        @Test func `Ctrl-C right after Enter does not wait for the next prompt`() async throws {
            let status = try await shell { program in
                try await program.output.until("Strap> ", after: "is connected")
                let count = program.output.text.ranges(of: "Strap> ").count
                try await program.write("sleep 600\n\u{3}")
                try await program.output.until { $0.ranges(of: "Strap> ").count > count }
                try await program.write("exit\n")
            }
            #expect(status == 0)
        }

        @Test func `the Tab key completes, and lines are kept`() async throws {
            let status = try await shell { program in
                try await program.output.until("Strap> ", after: "is connected")
                try await program.write("read body\t\n")
                try await program.output.until("Chest")
                let lines = try String(contentsOfFile: folder + "/ble/history", encoding: .utf8)
                #expect(lines == "read body-sensor-location \n")
                try await program.write("exit\n")
            }
            #expect(status == 0)
        }

        @Test func `the end of the link is told while a line is typed`() async throws {
            let status = try await shell { program in
                try await program.output.until("Strap> ", after: "is connected")
                try await program.write("read body")
                try await program.output.until("> read body")
                await strap.dropLink()
                try await program.output.until("(no link)> read body")
                try await program.write("\t\n")
                try await program.output.until("Chest")
                try await program.write("exit\n")
            }
            #expect(status == 0)
            #expect(await world.daemon.calls["Connect"] == 2)
        }
    #endif
}
