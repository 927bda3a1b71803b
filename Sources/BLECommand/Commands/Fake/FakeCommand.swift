import ArgumentParser
import BLE
import BLEDefinitions
import BLEFakeBlueZ
import BLESimulation
import Dispatch
import FoundationEssentials
import Logging
import Subprocess
import Synchronization
import SystemPackage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

struct FakeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fake", abstract: "Be a bluetoothd without a radio, for tests in any language.",
        discussion: """
            Starts a message bus of its own with a bluetoothd on it, and simulated peripherals in range of that. \
            Programs use it as the system's when their environment has DBUS_SYSTEM_BUS_ADDRESS, which is the first \
            line of output:

                ble fake -- pytest
                ble fake --socket /tmp/radio, then: DBUS_SYSTEM_BUS_ADDRESS=unix:path=/tmp/radio pytest

            Needs no privileges, and no Bluetooth. Each line on standard input is a command in JSON, such as \
            {"do": "drop", "peripheral": "Strap"}; with a command to run, or from another program, it is the argument \
            of: busctl call ble.Fake /ble/Fake ble.Fake1 Do s. See Docs/Simulation.md.
            """)

    @Option(
        help: ArgumentHelp(
            "A peripheral in range: \(ServedName.list), or a file with a definition in JSON; then, after commas, "
                + "name=, address=, rssi= and pairing=. May be repeated. By default, a strap, a lamp and others.",
            valueName: "peripheral"),
        transform: FakePeripheral.init(argument:))
    var peripheral: [FakePeripheral] = []

    @Flag(help: "Start without a peripheral.")
    var empty = false

    @Option(help: ArgumentHelp("The bluetoothd to behave like: 5.55 to 5.99.", valueName: "version"))
    var daemon = "5.66"

    @Flag(help: "Behave like bluetoothd --experimental: passive scans, and all data of advertisements.")
    var experimental = false

    @Option(help: ArgumentHelp("The number of adapters, hci0 and so on, which receive each other.", valueName: "count"))
    var adapters = 1

    @Option(help: ArgumentHelp("The path of the bus's socket; by default, it has none.", valueName: "path"))
    var socket: String?

    @Flag(help: "JSON Lines instead of text.")
    var json = false

    @Flag(name: .shortAndLong, help: "Log to standard error; -vv also logs each operation and value.")
    var verbose: Int

    @Argument(parsing: .postTerminator, help: ArgumentHelp("A command to run, after --.", valueName: "command"))
    var command: [String] = []

    func validate() throws {
        _ = try minorVersion()
        guard (1...8).contains(adapters) else { throw ValidationError("--adapters is a number from 1 to 8.") }
        guard !empty || peripheral.isEmpty else {
            throw ValidationError("--empty and --peripheral cannot be combined.")
        }
    }

    private func minorVersion() throws -> Int {
        let parts = daemon.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "5", let minor = Int(parts[1]), (55...99).contains(minor) else {
            throw ValidationError("--daemon is a version of bluetoothd, such as 5.66.")
        }
        return minor
    }

    func run() async throws {
        let output = Output(json: json)
        let minorVersion = try minorVersion()
        let logger = CommonOptions.logger(verbose: verbose)
        guard !command.isEmpty else {
            return try await Session.finish(output) { try await serve(minorVersion, logger, output, nil) }
        }
        let wrapped = WrappedCommand()
        // A command that runs gets what is typed on the terminal itself, Ctrl-C, too.
        try await Session.finish(output, handlesInterrupt: { wrapped.isRunning }) {
            try await serve(minorVersion, logger, output, wrapped)
        }
    }

    /// Whether the command runs.
    final class WrappedCommand: Sendable {
        private let flag = Atomic(false)

        var isRunning: Bool { flag.load(ordering: .acquiring) }

        /// Runs the command. Before and afterward, Ctrl-C is for this process.
        func during<Value>(_ run: () async throws -> Value) async rethrows -> Value {
            flag.store(true, ordering: .releasing)
            defer { flag.store(false, ordering: .releasing) }
            return try await run()
        }
    }

    /// Is a bluetoothd until the bus ends, or the command.
    ///
    /// - Parameter wrapped: the command; nil without one.
    private func serve(
        _ minorVersion: Int, _ logger: Logger, _ output: Output, _ wrapped: WrappedCommand?
    ) async throws {
        let bus = try await PrivateBus(path: socket)
        let radio = SimulatedRadio(logger: logger)
        let daemon = FakeBlueZ(
            address: bus.address, radio: radio, minorVersion: minorVersion, isExperimental: experimental,
            logger: logger)
        if experimental { await daemon.offerMonitors() }
        let world = FakeWorld(radio: radio, daemon: daemon)
        try await world.fill(with: empty ? [] : peripheral.isEmpty ? FakePeripheral.usual : peripheral)
        for number in 1..<adapters { await daemon.addAdapter("hci\(number)") }
        try await daemon.start()
        let control = try await FakeControl(address: bus.address) { (line) throws(FakeControl.Refusal) in
            do {
                return try await world.carryOut(line).text
            } catch let mistake as DefinitionError {
                throw FakeControl.Refusal("\(mistake)")
            } catch {
                throw FakeControl.Refusal("\(error)")
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                if let wrapped { return try await wrap(bus.address, wrapped) }
                try output.line(
                    .object(["event": "started", "address": .string(bus.address)]),
                    "DBUS_SYSTEM_BUS_ADDRESS=\(bus.address)")
                try await follow(world, output)
                // The end of the input does not end the daemon.
                try await bus.ended()
            }
            group.addTask {
                try await bus.ended()
                throw BLEError(.bluetoothLost, "the private bus has ended")
            }
            defer { group.cancelAll() }
            try await group.next()
        }
        await control.end()
    }

    /// Carries out the lines of standard input.
    private func follow(_ world: FakeWorld, _ output: Output) async throws {
        while let line = await StandardInput.shared.nextLine() {
            if line.allSatisfy(\.isWhitespace) { continue }
            do {
                let result = try await world.carryOut(line)
                try output.line(.object(["event": "done", "result": result]), result.text)
            } catch let mistake as DefinitionError {
                // In order with the results, for programs.
                guard output.json else {
                    output.note("\(mistake): \(line.excerpt)")
                    continue
                }
                try output.line(.object(["event": "refused", "message": .string("\(mistake)")]), "")
            }
        }
    }

    /// Whether a program can be run: a path, or a name to find in the directories of `PATH`.
    private static func isExecutable(_ program: String) async -> Bool {
        var path: String? = program
        if !program.contains("/") {
            path = try? await Executable.name(program).resolveExecutablePath(in: .inherit).string
        }
        var isDirectory = false
        guard let path, FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else { return false }
        return !isDirectory && FileManager.default.isExecutableFile(atPath: path)
    }

    /// Runs the command, and ends with its status. The command ends with this process, whatever ends that.
    private func wrap(_ address: String, _ wrapped: WrappedCommand) async throws {
        guard await Self.isExecutable(command[0]) else {
            Output(json: json).note("the command cannot be run: \(command[0].excerpt)")
            throw ExitCode(127)
        }
        try Task.checkCancellation()
        var options = PlatformOptions()
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(10))]
        // See PrivateBus for what the kernel's signal depends on.
        // From before its start, because it may be busy with the terminal before this process is told of it.
        let outcome = try await wrapped.during {
            try await Subprocess.run(
                .name("setpriv"), arguments: Arguments(["--pdeathsig", "KILL", "--"] + command),
                environment: .inherit.updating(["DBUS_SYSTEM_BUS_ADDRESS": address]), platformOptions: options,
                input: .currentStandardInput, output: .currentStandardOutput, error: .currentStandardError)
        }
        switch outcome.terminationStatus {
        case .exited(let status): if status != 0 { throw ExitCode(status) }
        case .signaled(let signal): throw ExitCode(128 + signal)
        }
    }
}
