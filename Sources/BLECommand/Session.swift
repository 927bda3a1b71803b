import ArgumentParser
import BLE
import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Runs a command's work with a central and ends the process with the right status.
///
/// Ctrl-C and SIGTERM cancel the work; links and scans are ended in any case. A second Ctrl-C ends at once.
enum Session {
    static func run(_ options: CommonOptions, _ work: @escaping @Sendable (Central, Output) async throws -> Void)
        async throws
    {
        signal(SIGPIPE, SIG_IGN)
        let output = Output(json: options.json)
        let task = Task {
            let central = try await output.progress.during("Starting Bluetooth") { try await options.makeCentral() }
            let result: Result<Void, any Error>
            do {
                result = .success(try await work(central, output))
            } catch {
                result = .failure(error)
            }
            await Task { await output.progress.during("Disconnecting") { await central.shutDown() } }.value
            try result.get()
        }
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

/// Turns SIGINT and SIGTERM into a call; the second one ends the process.
private final class SignalWatch {
    private final class Received: Sendable {
        let number = Mutex<Int32?>(nil)
    }

    private let first = Received()
    private let sources: [any DispatchSourceSignal]

    init(_ interrupted: @escaping @Sendable () -> Void) {
        sources = [SIGINT, SIGTERM].map { [first] number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                let isFirst = first.number.withLock { received in
                    defer { received = received ?? number }
                    return received == nil
                }
                if isFirst { interrupted() } else { _exit(128 + number) }
            }
            source.resume()
            return source
        }
    }

    /// The first signal, if there was one.
    var received: Int32? { first.number.withLock { $0 } }
}
