import BLETestSupport
package import Foundation
import Subprocess
import Testing

/// Debian's mosquitto, on a Unix socket or a port of a test.
package final class TestBroker: Sendable {
    /// A directory of the test's own.
    package let directory: URL
    private let program: String
    /// Nil: a Unix socket.
    package let port: UInt16?

    package init(port: UInt16? = nil) throws {
        let name = "mqtt-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        directory = FileManager.default.temporaryDirectory.appending(path: name)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        program = try #require(
            ["/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto"].first {
                FileManager.default.isExecutableFile(atPath: $0)
            }, "mosquitto is missing; Scripts/setup test installs it")
        self.port = port
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    package func path(_ name: String) -> String { directory.appending(path: name).path }

    /// A port that is free now.
    package static func freePort() throws -> UInt16 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        try #require(isBound)
        return UInt16(bigEndian: place.sin_port)
    }

    /// Runs the broker beside `body`, and kills it.
    ///
    /// - Parameter options: lines of its configuration.
    package func run(_ options: [String] = ["allow_anonymous true"], _ body: (RunningProgram) async throws -> Void)
        async throws
    {
        let listener = port.map { "listener \($0) 127.0.0.1" } ?? "listener 0 \(path("socket"))"
        let lines =
            ["user root", "log_dest stderr", "log_type all", "max_queued_messages 0", listener] + options + [""]
        let file = directory.appending(path: "mosquitto.conf")
        try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        try await TestProgram(program, ["-c", file.path]).run { running in
            try await running.errors.until(" running")
            try await body(running)
            running.send(.kill)
        }
    }

    /// Returns what `mosquitto_sub` reads: as many lines as messages, each in the given format.
    package func read(_ filters: [String], count: Int, format: String = "%t %p %r", options: [String] = []) async throws
        -> [String]
    {
        let result = try await subscriber(filters, count: count, format: format, options: options).run()
        #expect(result.status == 0, "\(result.errors)")
        return result.output.split(separator: "\n").map(String.init)
    }

    package func subscriber(_ filters: [String], count: Int, format: String = "%t %p %r", options: [String] = [])
        -> TestProgram
    {
        TestProgram(
            "mosquitto_sub",
            destination + ["-V", "5", "-q", "1", "-C", "\(count)", "-F", format] + options
                + filters.flatMap { ["-t", $0] })
    }

    package func publish(_ topic: String, _ payload: String, options: [String] = []) async throws {
        let arguments = destination + ["-V", "5", "-q", "1", "-t", topic, "-m", payload] + options
        let result = try await TestProgram("mosquitto_pub", arguments).run()
        #expect(result.status == 0, "\(result.errors)")
    }

    /// Returns what `mosquitto_rr` gets as the answer to a request: the first message for `answer`.
    package func request(_ topic: String, _ payload: String, answer: String) async throws -> String {
        let arguments = destination + ["-V", "5", "-q", "1", "-t", topic, "-e", answer, "-m", payload]
        let result = try await TestProgram("mosquitto_rr", arguments).run()
        #expect(result.status == 0, "\(result.errors)")
        return result.output
    }

    /// Returns once a topic has a message that contains a text, which may be retained.
    package func until(_ text: String, in topic: String) async throws {
        try await subscriber([topic], count: 1_000_000, format: "%p").run { reader in
            try await reader.output.until(text)
            reader.send(.kill)
        }
    }

    private var destination: [String] {
        port.map { ["-h", "127.0.0.1", "-p", "\($0)"] } ?? ["--unix", path("socket")]
    }
}

extension RunningProgram {
    /// Returns once the broker, which this is, has a subscription.
    package func untilSubscribed(_ filter: String) async throws { try await errors.until("\t\(filter) (QoS") }
}
