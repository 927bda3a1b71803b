import Subprocess
import Synchronization
import SystemPackage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A message bus for one test: a `dbus-daemon` that ends with this object, or with the test process.
///
/// It leaves nothing behind: neither its configuration nor its socket has a name in the file system.
public final class PrivateBus: Sendable {
    /// The bus's address, in D-Bus's notation.
    public let address: String
    /// The bus's configuration, a file without a name, which the daemon reads through this process's descriptor.
    private let configuration: FileDescriptor
    private let daemon: Mutex<Daemon>

    /// A `dbus-daemon` that listens, and the task that waits for its end.
    private struct Daemon {
        let program: RunningProgram
        let end: Task<Void, Never>
    }

    /// The policy that allows everything to every user.
    ///
    /// - Parameter denied: exceptions, as attributes of the configuration's `<deny>`.
    public static func policy(denying denied: String...) -> String {
        #"""
        <policy context="default">
          <allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
          \#(denied.map { "<deny \($0)/>" }.joined())
        </policy>
        """#
    }

    /// Starts a bus with a policy in the bus configuration's XML.
    public init(policy: String = policy()) async throws {
        let name = String(UInt64.random(in: .min ... .max), radix: 16)
        address = "unix:abstract=ble-test-\(name)"
        configuration = try .unnamedFile(
            holding: """
                <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "busconfig.dtd">
                <busconfig>
                  <listen>\(address)</listen>
                  <auth>EXTERNAL</auth>
                  \(policy)
                </busconfig>
                """)
        daemon = Mutex(try await Self.start(configuration))
    }

    deinit {
        stop()
        try? configuration.close()
    }

    /// Ends the bus at once, as a crash does.
    public func stop() { daemon.withLock { $0.program.send(.kill) } }

    /// Ends the bus, and returns once its sockets are closed. Blocks the thread.
    public func stopAndWait() {
        // The daemon closes the socket last that it has opened last.
        let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(probe) }
        let name = address.dropFirst("unix:abstract=".count).utf8
        var place = sockaddr_un()
        place.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &place.sun_path) { path in
            for (index, byte) in name.enumerated() { path[index + 1] = byte }
        }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.count)
        let isConnected = withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(probe, $0, length) == 0 }
        }
        var space = [UInt8](repeating: 0, count: 256)
        let hello = Array("\0AUTH\r\n".utf8)
        precondition(isConnected && send(probe, hello, hello.count, 0) > 0 && recv(probe, &space, space.count, 0) > 0)
        stop()
        while recv(probe, &space, space.count, 0) > 0 {}
    }

    /// Starts a new bus in place of one that was stopped.
    public func restart() async throws {
        await daemon.withLock { $0.end }.value
        let new = try await Self.start(configuration)
        daemon.withLock { $0 = new }
    }

    /// Returns once the daemon listens.
    private static func start(_ configuration: FileDescriptor) async throws -> Daemon {
        let program = TestProgram(
            "dbus-daemon",
            [
                "--nofork", "--nopidfile", "--print-address",
                "--config-file=/proc/\(getpid())/fd/\(configuration.rawValue)",
            ])
        let (starts, start) = AsyncThrowingStream.makeStream(of: RunningProgram.self, throwing: (any Error).self)
        let end = Task {
            do {
                let result = try await program.run { running in
                    try? await running.output.until(lineCount: 1)
                    if !running.output.text.isEmpty { start.yield(running) }
                }
                start.finish(throwing: ProgramOutput.Ended(text: result.errors))
            } catch {
                start.finish(throwing: error)
            }
        }
        for try await program in starts { return Daemon(program: program, end: end) }
        throw CancellationError()
    }
}
