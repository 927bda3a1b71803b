import ArgumentParser
import BLE
import BLERecording

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Runs a command's work with a central, and ends the process with the corresponding exit status.
///
/// Ctrl-C, SIGTERM and SIGHUP cancel the work; links and scans are always ended. A second Ctrl-C exits immediately.
enum Session {
    /// What a command uses when another one runs it, instead of a central and an output of its own.
    struct Host: Sendable {
        let central: Central
        let output: Output
        /// Asks the questions of pairings. Nil if the central does not ask any.
        var pairing: PairingRelay?
        /// Whether the central receives advertisements from the kernel's management socket.
        var hasManagementSocket = false
    }

    @TaskLocal static var host: Host?

    /// Runs the work with a central according to the options, or with that of the ``host``.
    ///
    /// - Parameters:
    ///   - limit: the time after which the work ends, also while Bluetooth is waited for. Nil for no limit.
    ///   - policy: the central's connection policy.
    ///   - handlesInterrupt: as with ``finish(_:handlesInterrupt:_:)``.
    static func run(
        _ options: CommonOptions, outage: Outage = .ends, limit: Duration? = nil,
        pairing: PairingBehavior = .justWorks, policy: ConnectionPolicy = .manual,
        handlesInterrupt: @escaping @Sendable () -> Bool = { false },
        _ work: @escaping @Sendable (Central, Output) async throws -> Void
    ) async throws {
        if let host {
            let output = options.json && !host.output.json ? Output(json: true) : host.output
            return try await answering(pairing, output) {
                try await TimeLimit.within(limit) {
                    try await watch(host.central, outage, OutageNotes(output)) {
                        try await work(host.central, output)
                    }
                }
            }
        }
        let output = Output(json: options.json)
        let notes = OutageNotes(output)
        let inRange = options.numberInRange
        try await run(
            output, outage: outage, notes: notes, limit: limit, handlesInterrupt: handlesInterrupt,
            open: {
                let recorder = try options.makeRecorder()
                let central = try await completing(recorder, output) {
                    try await options.makeCentral(
                        pairing: pairing, waits: outage == .isWaitedFor, policy: policy, recorder: recorder,
                        onWait: notes.waits)
                }
                return (central, recorder)
            },
            work: { central, output in
                try await Finder.$inRange.withValue(inRange) { try await work(central, output) }
            })
    }

    /// Does the work, during which the ``host`` asks the questions of pairings as the behavior says; by default, on the
    /// terminal.
    static func answering<Value>(
        _ behavior: PairingBehavior, _ output: Output, _ work: () async throws -> Value
    ) async throws -> Value {
        guard let relay = host?.pairing else { return try await work() }
        let user = behavior.delegate ?? TerminalUser(saysYes: false, output: output)
        return try await relay.with(user, work)
    }

    /// Runs the work with any central.
    static func run(
        _ output: Output, outage: Outage, notes: OutageNotes? = nil, limit: Duration? = nil,
        handlesInterrupt: @escaping @Sendable () -> Bool = { false },
        open: @escaping @Sendable () async throws -> (Central, Recorder?),
        work: @escaping @Sendable (Central, Output) async throws -> Void
    ) async throws {
        try await finish(output, handlesInterrupt: handlesInterrupt) {
            try await TimeLimit.within(limit) {
                let (central, recorder) = try await output.progress.during("Starting Bluetooth", open)
                let result: Result<Void, any Error>
                do {
                    let notes = notes ?? OutageNotes(output)
                    result = .success(
                        try await watch(central, outage, notes) {
                            // A command that does not depend on the adapter tells of the radios what it wants.
                            guard outage != .isNothing else { return try await work(central, output) }
                            try await tellingRadios(of: central, output) { try await work(central, output) }
                        })
                } catch {
                    result = .failure(error)
                }
                await Task { await output.progress.during("Disconnecting") { await central.shutDown() } }.value
                try await end(result, recorder, output)
            }
        }
    }

    /// Runs the work with a host, which serves and advertises.
    ///
    /// - Parameter shares: whether a simulated radio is that of other commands.
    static func serve(
        _ options: CommonOptions, pairing: PairingAgent? = nil, shares: Bool = true,
        _ work: @escaping @Sendable (PeripheralHost, Output) async throws -> Void
    ) async throws {
        let output = Output(json: options.json)
        try await finish(output) {
            guard options.replay == nil else {
                throw ValidationError("A recording has no centrals for what is served: remove --replay.")
            }
            let recorder = try options.makeRecorder()
            // Others of this user find what the first of them serves.
            let isShared = options.backend == .simulated && shares
            let isFirst = try isShared && SharedRadio.address() == nil
            let (radio, place, host) = try await completing(recorder, output) {
                let radio = isFirst ? try await SharedRadio.start(CommonOptions.logger(verbose: options.verbose)) : nil
                if radio != nil { output.note("other commands find it: --backend simulated") }
                let place = isShared ? try await SharedRadio.place(on: options.adapter) : nil
                return try await output.progress.during("Starting Bluetooth") {
                    (radio, place, try await options.makeHost(pairing: pairing, recorder: recorder, on: place))
                }
            }
            defer { withExtendedLifetime(radio) {} }
            let result: Result<Void, any Error>
            do {
                result = .success(try await work(host, output))
            } catch {
                result = .failure(error)
            }
            await Task {
                await host.shutDown()
                await place?.release()
            }.value
            try await end(result, recorder, output)
        }
    }

    /// Returns what `open` opens. Completes the recording if that fails.
    private static func completing<Value: Sendable>(
        _ recorder: Recorder?, _ output: Output, _ open: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await open()
        } catch {
            try await end(.failure(error), recorder, output)
            throw error
        }
    }

    /// Completes the recording, and returns or throws what the work did. The work's error comes first.
    private static func end(
        _ result: Result<Void, any Error>, _ recorder: Recorder?, _ output: Output
    ) async throws {
        do {
            // In a task of its own, because this one may be cancelled.
            try await Task { try await recorder?.close() }.value
        } catch {
            // The work's own error decides about the status, unless the work was only ended.
            if case .failure(let cause) = result, !(cause is CancellationError),
                (cause as? BLEError)?.code != .cancelled
            {
                if let error = error as? BLEError { output.note(error.message) }
                throw cause
            }
            throw error
        }
        try result.get()
    }

    /// Runs the work, and ends the process with the corresponding exit status. Signals cancel the work.
    ///
    /// - Parameter handlesInterrupt: called at each SIGINT. Returns true if that is for a part of the work, or for a
    ///   program that the work has started. By default, each is for the whole.
    static func finish(
        _ output: Output, handlesInterrupt: @escaping @Sendable () -> Bool = { false },
        _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        signal(SIGPIPE, SIG_IGN)
        let signals = await SignalWatch(Set(ProgramSignal.allCases)) { $0 == .interrupt && handlesInterrupt() }
        let task = Task { try await work() }
        signals.interrupt { task.cancel() }
        let result = await task.result
        switch result {
        case .success: break
        case .failure(let error) where signals.number != nil:
            if let error = error as? BLEError, error.code == .recordingFailed { output.note(error.message) }
            throw ExitCode(128 + signals.number!)
        case .failure(let code as ExitCode): throw code
        case .failure(let error as BLEError):
            output.complain(error)
            throw ExitCode(ExitStatus.status(of: error.code))
        case .failure(is OutputClosed):
            throw ExitCode(ExitStatus.outputClosed)
        case .failure(let error): throw error
        }
    }
}

extension Session {
    /// Runs the work, and ends it if the adapter cannot be used, unless the command waits for it.
    private static func watch(
        _ central: Central, _ outage: Outage, _ notes: OutageNotes, _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard outage != .isNothing else { return try await work() }
        let obstacles = await central.adapterObstacles()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await work() }
            group.addTask {
                for try await obstacle in obstacles {
                    guard var obstacle else {
                        notes.isOver()
                        continue
                    }
                    if obstacle.code == .poweredOff { obstacle.remedy = powerRemedy }
                    guard outage == .isWaitedFor else { throw obstacle }
                    notes.waits(for: obstacle)
                }
                // The stream ends with the central.
                throw CancellationError()
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private static let powerRemedy =
        "Switch it on: ble adapters --power on. If that is refused: rfkill unblock bluetooth."

    /// Runs the work, and tells meanwhile which of several radios cannot be used.
    static func tellingRadios(
        of central: Central, _ output: Output, _ work: () async throws -> Void
    ) async throws {
        guard let notes = await RadioNotes(central, { output.note($0) }) else { return try await work() }
        let following = Task {
            var notes = notes
            try await notes.follow()
        }
        defer { following.cancel() }
        try await work()
    }
}
