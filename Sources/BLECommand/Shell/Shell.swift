import ArgumentParser
import BLE

/// Performs lines with one central, and holds the link to one peripheral between them.
struct Shell {
    /// A peripheral whose link is held.
    struct Held {
        let peripheral: Peripheral
        /// The name to show: what the peripheral advertises, or its address.
        let name: String
    }

    let central: Central
    let output: Output
    private let timeout: Duration
    /// Ends commands at Ctrl-C. Nil if no user types the lines: then Ctrl-C ends the shell.
    let interrupts: ShellInterrupts?
    /// Asks the questions of pairings. Nil if pairing is Just Works.
    private let pairing: PairingRelay?
    /// Whether the central receives advertisements from the kernel's management socket.
    private let hasManagementSocket: Bool
    var held: Held?
    /// The peripherals found so far, with their names.
    var found: [Peripheral.ID: String?] = [:]

    /// The time after which the link to a peripheral other than the held one ends, if it is unused.
    private static let idle = Duration.seconds(10)
    /// The width of the longest name in a prompt.
    private static let nameColumns = 30
    /// The number of peripherals that completion knows.
    private static let foundLimit = 1000

    /// Runs `work` with a shell, and holds the link to the peripheral with the given address or name, if any.
    ///
    /// - Parameters:
    ///   - isInteractive: whether a user types the lines.
    ///   - asks: whether standard input can answer the questions of pairings.
    static func run(
        _ options: CommonOptions, _ id: String?, isInteractive: Bool, asks: Bool,
        _ work: @escaping @Sendable (inout Shell) async throws -> Void
    ) async throws {
        let pairing = asks ? PairingRelay() : nil
        let interrupts = isInteractive ? ShellInterrupts() : nil
        try await Session.run(
            options, outage: .isNothing, pairing: pairing.map { .prompting($0) } ?? .justWorks,
            policy: .onDemand(idle: idle), handlesInterrupt: { interrupts?.handle() == true }
        ) { central, output in
            var shell = Shell(
                central: central, output: output, timeout: options.timeoutDuration, interrupts: interrupts,
                pairing: pairing, hasManagementSocket: options.managementSocket)
            if let id { try await shell.use(id) }
            interrupts?.open()
            defer { interrupts?.close() }
            try await Session.tellingRadios(of: central, output) { try await work(&shell) }
        }
    }

    init(
        central: Central, output: Output, timeout: Duration, interrupts: ShellInterrupts?, pairing: PairingRelay?,
        hasManagementSocket: Bool = false
    ) {
        (self.central, self.output, self.timeout) = (central, output, timeout)
        (self.interrupts, self.pairing, self.hasManagementSocket) = (interrupts, pairing, hasManagementSocket)
    }

    // MARK: Lines

    /// What follows a line.
    enum Step: Equatable {
        /// The next line. The status is that of a command of `ble`.
        case next(status: Int32)
        case exit
    }

    /// Performs a line, and reports its errors as `ble` does. Throws only what ends the shell.
    mutating func perform(_ line: String) async throws -> Step {
        do {
            let words = try ShellWords.split(line)
            guard !words.isEmpty else { return .next(status: ExitStatus.success) }
            switch try ShellAction(words, held: held?.peripheral.id) {
            case .exit: return .exit
            case .use(let id?): try await use(id)
            case .use(nil): try await showHeld()
            case .disconnect: try await disconnect()
            case .sleep(let duration): try await interruptible { try await CommandClock.sleep(for: duration) }
            case .command(let arguments):
                try await interruptible { try await BLECommand.perform(try ShellLine.parseAsRoot(arguments)) }
            }
            return .next(status: ExitStatus.success)
        } catch {
            return .next(status: try report(error))
        }
    }

    /// Does the work, which Ctrl-C ends if a user types the lines.
    private func interruptible<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // A command may leave a read behind, which would take what is typed at the next prompt.
        defer { StandardInput.shared.endReads() }
        // An output of its own, so that the table of one command is not redrawn by the next.
        let host = Session.Host(
            central: central, output: Output(json: output.json), pairing: pairing,
            hasManagementSocket: hasManagementSocket)
        return try await Session.$host.withValue(host) {
            guard let interrupts else { return try await work() }
            let (result, isInterrupted) = await interrupts.during(.command, work)
            guard case .failure = result, isInterrupted else { return try result.get() }
            // The terminal has shown ^C.
            Progress.write("\n")
            throw CancellationError()
        }
    }

    /// Writes an error, and returns the exit status that stands for it.
    private func report(_ error: any Error) throws -> Int32 {
        switch error {
        case is OutputClosed: throw error
        case is CancellationError: return ExitStatus.status(of: .cancelled)
        case let error as BLEError where error.code == .cancelled: return ExitStatus.status(of: .cancelled)
        case let code as ExitCode: return code.rawValue
        case let error as BLEError:
            output.complain(error)
            return ExitStatus.status(of: error.code)
        default: break
        }
        let code = ShellLine.exitCode(for: error)
        // The root has no name, which leaves two spaces.
        var text = ShellLine.fullMessage(for: error).replacing("sage:  ", with: "sage: ").replacing(
            "See ' ", with: "See '")
        text.replace("USAGE:  ", with: "USAGE: ")
        guard code != .success else {
            try output.bytes(Array((text + "\n").utf8))
            return ExitStatus.success
        }
        if error is ValidationError || error is ShellWords.Mistake { text = "Error: \(ShellLine.message(for: error))" }
        Progress.write(Terminal.fitting(text.harmlessLines, indent: 7) + "\n")
        return ExitStatus.status(of: .invalidArgument)
    }
}

// MARK: The held link

extension Shell {
    private mutating func use(_ id: String) async throws {
        let (central, output, timeout) = (central, output, timeout)
        let peripheral = try await interruptible {
            try await Session.answering(.justWorks, output) {
                let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
                try await output.progress.during("Connecting to \(peripheral)") { try await peripheral.connect() }
                return peripheral
            }
        }
        // Only now, because a link that is not held ends by itself.
        try await peripheral.setConnectionPolicy(.manual)
        await noteFound()
        let name = found[peripheral.id].flatMap(\.self) ?? ""
        let former = held
        held = Held(
            peripheral: peripheral,
            name: name.isEmpty ? peripheral.id.rawValue : name.harmless.clipped(columns: Self.nameColumns))
        if let former, former.peripheral.id != peripheral.id { try await release(former) }
        try await showHeld()
    }

    private mutating func disconnect() async throws {
        guard let held else { return }
        self.held = nil
        try await release(held)
    }

    private func release(_ held: Held) async throws {
        try await held.peripheral.setConnectionPolicy(.onDemand(idle: Self.idle))
        try await interruptible { try await held.peripheral.disconnect() }
    }

    private func showHeld() async throws {
        guard let held else {
            output.note("no link is held; use ID holds one")
            return
        }
        let isConnected = await held.peripheral.connectionState == .connected
        output.note("\(held.name) (\(held.peripheral)) is \(isConnected ? "connected" : "not connected")")
    }

    mutating func noteFound() async {
        for known in await central.knownPeripherals()
        where found.count < Self.foundLimit || found[known.id] != nil {
            found[known.id] = .some(known.advertisement.localName ?? found[known.id].flatMap(\.self))
        }
    }
}
