public import Foundation
import Synchronization

/// A message bus for one test: a `dbus-daemon` that ends with this object, or with the test process.
public final class PrivateBus: Sendable {
    /// The bus's address, in D-Bus's notation.
    public let address: String
    private let process: Mutex<Process>
    private let directory: URL

    public enum Failure: Error {
        case noAddress
    }

    /// The policy that lets everybody do everything.
    ///
    /// - Parameter denied: but for these, as attributes of the configuration's `<deny>`.
    public static func policy(denying denied: String...) -> String {
        #"""
        <policy context="default">
          <allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
          \#(denied.map { "<deny \($0)/>" }.joined())
        </policy>
        """#
    }

    /// Starts a bus with a policy in the bus configuration's XML.
    public init(policy: String = policy()) throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "ble-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let configuration = directory.appending(path: "bus.conf")
        try """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "busconfig.dtd">
        <busconfig>
          <listen>unix:path=\(directory.path)/socket</listen>
          <auth>EXTERNAL</auth>
          \(policy)
        </busconfig>
        """.write(to: configuration, atomically: true, encoding: .utf8)
        let (process, address) = try Self.start(configuration)
        self.process = Mutex(process)
        self.address = address
    }

    private static func start(_ configuration: URL) throws -> (Process, String) {
        let process = Process()
        // (setpriv lets the bus end with this process, however that ends)
        process.executableURL = URL(filePath: "/usr/bin/setpriv")
        process.arguments = [
            "--pdeathsig", "TERM", "dbus-daemon", "--nofork", "--nopidfile", "--print-address",
            "--config-file=\(configuration.path)",
        ]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.runAlone()
        var text = Data()
        while !text.contains(UInt8(ascii: "\n")) {
            guard let more = try output.fileHandleForReading.read(upToCount: 1), !more.isEmpty else {
                throw Failure.noAddress
            }
            text += more
        }
        return (process, String(decoding: text.dropLast(), as: UTF8.self))
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(at: directory)
    }

    /// Ends the bus at once, as a crash does.
    public func stop() {
        // (not waited for: Foundation's way of doing so blocks the thread, of which the tests share two)
        process.withLock { if $0.isRunning { kill($0.processIdentifier, SIGKILL) } }
    }

    /// Starts a new bus in the place of one that was stopped.
    public func restart() throws {
        try? FileManager.default.removeItem(at: directory.appending(path: "socket"))
        let process = try Self.start(directory.appending(path: "bus.conf")).0
        self.process.withLock { $0 = process }
    }
}

extension Process {
    private static let running = Mutex(())

    /// `run()`, one at a time: Foundation's crashed once while several threads were in it.
    public func runAlone() throws {
        try Self.running.withLock { _ in try run() }
    }
}
