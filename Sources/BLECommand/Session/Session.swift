import ArgumentParser
import BLE
import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Runs a command's work with a central, and ends the process with the corresponding exit status.
///
/// Ctrl-C, SIGTERM and SIGHUP cancel the work; links and scans are always ended. A second Ctrl-C exits immediately.
enum Session {
    /// The handling of an adapter that is off, or of Bluetooth that has stopped, before or during the work.
    enum Outage {
        /// The command ends with the corresponding exit status.
        case ends
        /// The command waits, and its work continues by itself.
        case isWaitedFor
        /// The work does not depend on it.
        case isNothing
    }

    static func run(
        _ options: CommonOptions, outage: Outage = .ends, pairing: PairingBehavior = .justWorks,
        _ work: @escaping @Sendable (Central, Output) async throws -> Void
    ) async throws {
        try await run(
            Output(json: options.json), outage: outage,
            open: { try await options.makeCentral(pairing: pairing, waits: outage == .isWaitedFor) }, work: work)
    }

    /// Runs the work with any central.
    static func run(
        _ output: Output, outage: Outage, open: @escaping @Sendable () async throws -> Central,
        work: @escaping @Sendable (Central, Output) async throws -> Void
    ) async throws {
        signal(SIGPIPE, SIG_IGN)
        let task = Task {
            let central = try await output.progress.during("Starting Bluetooth", open)
            let result: Result<Void, any Error>
            do {
                result = .success(try await watch(central, outage, output) { try await work(central, output) })
            } catch {
                result = .failure(error)
            }
            await Task { await output.progress.during("Disconnecting") { await central.shutDown() } }.value
            try result.get()
        }
        try await finish(task, output)
    }

    /// Runs the work with a host, which serves and advertises.
    static func serve(
        _ options: CommonOptions, pairing: PairingAgent? = nil,
        _ work: @escaping @Sendable (PeripheralHost, Output) async throws -> Void
    ) async throws {
        let output = Output(json: options.json)
        signal(SIGPIPE, SIG_IGN)
        let task = Task {
            let host = try await output.progress.during("Starting Bluetooth") {
                try await options.makeHost(pairing: pairing)
            }
            let result: Result<Void, any Error>
            do {
                result = .success(try await work(host, output))
            } catch {
                result = .failure(error)
            }
            await Task { await host.shutDown() }.value
            try result.get()
        }
        try await finish(task, output)
    }

    /// Waits for the work, and ends the process with the corresponding exit status. Signals cancel the work.
    private static func finish(_ task: Task<Void, any Error>, _ output: Output) async throws {
        let signals = SignalWatch { task.cancel() }
        let result = await task.result
        switch result {
        case .success: break
        case .failure where signals.received != nil:
            throw ExitCode(128 + signals.received!)
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
        _ central: Central, _ outage: Outage, _ output: Output, _ work: @escaping @Sendable () async throws -> Void
    ) async throws {
        guard outage != .isNothing else { return try await work() }
        let states = await central.adapterStates()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await work() }
            group.addTask {
                for try await state in states {
                    guard let error = error(of: state) else { continue }
                    guard outage == .isWaitedFor else { throw error }
                    output.note("\(error.message); waiting")
                }
                // The stream ends with the central.
                throw CancellationError()
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private static func error(of state: AdapterState) -> BLEError? {
        switch state {
        case .poweredOn: nil
        case .poweredOff:
            BLEError(
                .poweredOff, "the adapter is switched off",
                remedy: "Switch it on: ble adapters --power on. If that is refused: rfkill unblock bluetooth.")
        case .unavailable: BLEError(.adapterNotFound, "the adapter was removed", remedy: "Plug it in.")
        case .resetting:
            BLEError(.bluetoothLost, "bluetoothd, or the bus, went away", remedy: "Try again once it is running.")
        }
    }
}

/// Calls a closure at the first SIGINT, SIGTERM or SIGHUP.
///
/// A second SIGINT or SIGTERM of the same kind exits the process, as does work that has not ended in time. Others do not: a terminal that closes sends several
/// signals, and systemd two kinds at once. A signal that was ignored when the program started, as by `nohup`, stays ignored.
private final class SignalWatch {
    /// How long the work may take to end, in seconds.
    private static let grace = 30.0

    private final class Received: Sendable {
        let number = Mutex<Int32?>(nil)
    }

    private let first = Received()
    private let sources: [any DispatchSourceSignal]

    init(_ interrupted: @escaping @Sendable () -> Void) {
        let watched = [SIGINT, SIGTERM, SIGHUP].filter { number in
            var action = sigaction()
            sigaction(number, nil, &action)
            return action.__sigaction_handler.sa_handler.map { unsafeBitCast($0, to: Int.self) } != 1
        }
        sources = watched.map { [first] number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                let earlier = first.number.withLock { received in
                    defer { received = received ?? number }
                    return received
                }
                if earlier == nil {
                    interrupted()
                    // What does not end by then is left to the system, which removes what a process has registered.
                    DispatchQueue.global().asyncAfter(deadline: .now() + Self.grace) { _exit(128 + number) }
                }
                if earlier == number, number != SIGHUP { _exit(128 + number) }
            }
            source.resume()
            return source
        }
    }

    /// The first signal, if there was one.
    var received: Int32? { first.number.withLock { $0 } }
}
