internal import Foundation

/// The machine of `Scripts/with-bluez`, with the real bluetoothd, in which some suites run. They are skipped elsewhere.
public enum Guest {
    /// Whether this process runs there.
    public static var isHere: Bool { ProcessInfo.processInfo.environment["BLE_REAL_BLUEZ"] == "1" }

    /// The minor version of bluetoothd there: 82 for 5.82.
    public static var bluetoothdVersion: Int? {
        ProcessInfo.processInfo.environment["BLE_BLUETOOTHD"]?.split(separator: ".").last.flatMap { Int($0) }
    }

    /// Thrown by ``run(_:)`` for a command that has failed.
    public struct Failure: Error {
        /// The command.
        public let command: String
        /// Its answer, or its status.
        public let answer: String

        public init(command: String, answer: String) {
            self.command = command
            self.answer = answer
        }
    }

    /// The maximum time for a shell command, in seconds. `/run/bluez/start` gives up after 120 s.
    private static let limit = 150

    /// Runs a shell command. (Foundation's `Process` would also wait for processes that the command leaves running.)
    public static func run(_ command: String) async throws {
        try await onThread {
            let status = shell(command)
            guard status == 0 else { throw Failure(command: command, answer: "status \(status)") }
        }
    }

    /// Runs a shell command on this thread. Returns its wait status, which is 0 for success.
    public static func shell(_ command: String) -> Int32 {
        GuestProgress.shared.begin(command: command)
        let quoted = command.replacingOccurrences(of: "'", with: "'\\''")
        let status = system("exec timeout -k 5 \(limit) bash -c '\(quoted)'")
        GuestProgress.shared.end(command: command, "status \(status)")
        return status
    }

    /// The socket of the peer (`Scripts/guest/peer`).
    private static let socketPath = "/run/peer.sock"
    /// The maximum time for the peer's answer, in seconds: more than its own limit for a command, which is 90 s.
    private static let answerLimit = 120

    /// Sends one line to the peer. Returns its answer.
    @discardableResult public static func tellPeer(_ command: String) async throws -> String {
        GuestProgress.shared.begin(command: "peer: \(command)")
        var outcome = "failed"
        defer { GuestProgress.shared.end(command: "peer: \(command)", outcome) }
        let answer = try await onThread { try converse(command) }
        outcome = String(answer.prefix(80))
        guard !answer.hasPrefix("error") else { throw Failure(command: command, answer: answer) }
        return answer
    }

    /// Repeats a question to the guest, which reports no changes, until its answer is right.
    ///
    /// - Parameter pause: the time between two questions. Without it, they would slow down what they wait for.
    public static func until(
        pause: Duration = .milliseconds(20), _ isRight: () async throws -> Bool
    ) async throws {
        while !(try await isRight()) { try await Task.sleep(for: pause) }
    }

    /// Runs `work` on a thread that may block.
    private static func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value
    {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try work() }) }
        }
    }

    private static func converse(_ command: String) throws -> String {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var limit = timeval(tv_sec: answerLimit, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socketPath.utf8) }
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { throw Failure(command: command, answer: "no peer at \(socketPath)") }
        let line = Array((command + "\n").utf8)
        guard send(descriptor, line, line.count, Int32(MSG_NOSIGNAL)) == line.count else {
            throw Failure(command: command, answer: "closed")
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while answer.last != UInt8(ascii: "\n") {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { throw Failure(command: command, answer: "no answer") }
            answer += buffer.prefix(count)
        }
        return String(decoding: answer, as: UTF8.self).trimmingCharacters(in: .newlines)
    }
}
