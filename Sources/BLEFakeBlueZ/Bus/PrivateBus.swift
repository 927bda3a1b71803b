public import BLE
import BLEBlueZ
import Subprocess
import Synchronization
import SystemPackage
import Waiting

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A message bus of one's own: a `dbus-daemon` that ends with this object, or with the process.
///
/// Only the user of this process can connect to it. It leaves nothing behind: neither its configuration nor its socket
/// has a name in the file system, unless it was given one.
public final class PrivateBus: Sendable {
    /// The bus's address, in D-Bus's notation, for the variable `DBUS_SYSTEM_BUS_ADDRESS`.
    public let address: String
    /// The path of its socket, and the file there.
    private let socketFile: (path: String, number: UInt)?
    /// The bus's configuration, a file without a name, which the daemon reads through this process's descriptor.
    private let configuration: CInt
    private let daemon: Mutex<Daemon>

    /// A `dbus-daemon` that listens, and the task that waits for its end.
    private struct Daemon {
        /// Ends it as a crash does.
        let kill: @Sendable () -> Void
        let end: Task<Void, Never>
    }

    /// The policy that allows every message of this user's programs.
    ///
    /// - Parameter denied: exceptions, as attributes of the configuration's `<deny>`.
    public static func policy(denying denied: String...) -> String {
        #"""
        <policy context="default">
          <allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/><allow eavesdrop="true"/>
          \#(denied.map { "<deny \($0)/>" }.joined())
        </policy>
        """#
    }

    /// Starts a bus.
    ///
    /// - Parameters:
    ///   - path: the path of the bus's socket; by default, the socket has a random name outside of the file system.
    ///   - policy: who may send what, in the XML of a bus's configuration.
    /// - Throws: `BLEError` with the code `bluetoothUnavailable` if `dbus-daemon` cannot be started.
    public init(path: String? = nil, policy: String = policy()) async throws(BLEError) {
        if let path, Self.isUsed(path) {
            throw BLEError(.busy, "another bus listens at \(path)", remedy: "Choose another path for the socket.")
        }
        let name = String(UInt64.random(in: .min ... .max), radix: 16)
        address = path.map(Self.address) ?? "unix:abstract=ble-\(name)"
        do {
            configuration = try UnnamedFile.make(
                holding: """
                    <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "busconfig.dtd">
                    <busconfig>
                      <listen>\(address)</listen>
                      <auth>EXTERNAL</auth>
                      <limit name="max_match_rules_per_connection">100000</limit>
                      \(policy)
                    </busconfig>
                    """)
        } catch {
            throw BLEError(.bluetoothUnavailable, "the private bus has no configuration: \(error)")
        }
        do throws(BLEError) {
            daemon = Mutex(try await Self.start(configuration))
        } catch {
            close(configuration)
            throw error
        }
        socketFile = path.flatMap { path in Self.number(path).map { (path, $0) } }
    }

    /// The number of a file; nil if there is none.
    private static func number(_ path: String) -> UInt? {
        var facts = stat()
        return stat(path, &facts) == 0 ? UInt(facts.st_ino) : nil
    }

    /// The address of a bus whose socket has a path.
    package static func address(_ path: String) -> String { "unix:path=\(escaped(path))" }

    /// Whether a program listens at a path.
    package static func isUsed(_ path: String) -> Bool {
        var place = sockaddr_un()
        place.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: place.sun_path) else { return false }
        withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: path.utf8) }
        let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(probe) }
        return withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(probe, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    /// Bytes that an address cannot contain are written as `%` and two digits, as D-Bus's specification says.
    private static func escaped(_ path: String) -> String {
        path.utf8.map { byte in
            let character = Character(UnicodeScalar(byte))
            let isPlain =
                character.isASCII && (character.isLetter || character.isNumber) || "-_/.\\*".contains(character)
            return isPlain ? String(character) : "%\(Hex.string([byte]))"
        }.joined()
    }

    deinit {
        stop()
        // Another bus may have taken the path.
        if let socketFile, Self.number(socketFile.path) == socketFile.number { unlink(socketFile.path) }
        close(configuration)
    }

    /// Ends the bus at once, as a crash does.
    public func stop() { daemon.withLock { $0.kill() } }

    /// Returns once the bus has ended.
    public func ended() async throws(BLEError) {
        let end = daemon.withLock { $0.end }
        let outcome = Outcome<Void>()
        Task {
            await end.value
            outcome.deliver(.success(()))
        }
        try await outcome.wait()
    }

    /// Starts a new bus in place of one that was stopped.
    public func restart() async throws(BLEError) {
        await daemon.withLock { $0.end }.value
        let new = try await Self.start(configuration)
        daemon.withLock { $0 = new }
    }

    /// Returns once the daemon listens.
    private static func start(_ configuration: CInt) async throws(BLEError) -> Daemon {
        // The kernel sends the signal when the *thread* ends that started the program. Subprocess 1.0.2 starts all
        // programs on one thread, which ends with the process; Package.swift requires exactly that version.
        let arguments = [
            "--pdeathsig", "KILL", "--", "dbus-daemon", "--nofork", "--nopidfile", "--print-address",
            "--config-file=/proc/\(getpid())/fd/\(configuration)",
        ]
        let isRunning = SharedFlag()
        // Ctrl-C on a terminal is for the programs, not for their bus.
        var options = PlatformOptions()
        options.createSession = true
        // Only the first is of interest.
        let (starts, start) = AsyncStream.makeStream(
            of: Result<@Sendable () -> Void, BLEError>.self, bufferingPolicy: .bufferingOldest(1))
        let end = Task {
            do {
                let result = try await Subprocess.run(
                    .name("setpriv"), arguments: Arguments(arguments), platformOptions: options, input: .none,
                    output: .sequence, error: .string(limit: 65_536)
                ) { execution in
                    for try await buffer in execution.standardOutput where buffer.count > 0 {
                        // The address is printed once it listens. Later, its number may be another process's.
                        start.yield(.success { isRunning.whileSet { try? execution.send(signal: .kill) } })
                    }
                    isRunning.clear()
                }
                start.yield(.failure(cannotStart(result.standardError)))
            } catch {
                start.yield(.failure(cannotStart("\(error)")))
            }
            start.finish()
        }
        for await first in starts { return Daemon(kill: try first.get(), end: end) }
        throw .cancelled
    }

    private static func cannotStart(_ reason: String) -> BLEError {
        BLEError(
            .bluetoothUnavailable, "the private bus cannot be started: \(reason.filter { !$0.isNewline })",
            remedy: reason.contains("Failed to bind")
                ? "Choose another path for its socket."
                : "Install dbus-daemon and setpriv: the packages dbus and util-linux.")
    }
}

/// Whether a process runs that this one has started.
private final class SharedFlag: Sendable {
    private let isSet = Mutex(true)

    func clear() { isSet.withLock { $0 = false } }

    /// Does the work unless it is cleared.
    func whileSet(_ work: () -> Void) { isSet.withLock { if $0 { work() } } }
}

/// A file without a name.
package enum UnnamedFile {
    /// Returns the descriptor of a file that holds `text`; its position is at the beginning.
    package static func make(holding text: String) throws -> CInt {
        var path = Array("/tmp/ble-XXXXXX".utf8CString)
        let file = FileDescriptor(rawValue: mkstemp(&path))
        guard file.rawValue >= 0 else { throw Errno(rawValue: errno) }
        unlink(path)
        try file.writeAll(text.utf8)
        try file.seek(offset: 0, from: .start)
        return file.rawValue
    }
}
