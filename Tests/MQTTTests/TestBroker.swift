#if Gateway
    import BLE
    import BLETestSupport
    import BlueZTestSupport
    import Foundation
    import Logging
    import Loop
    import MQTT
    import Subprocess
    import Testing

    /// Debian's mosquitto, on a Unix socket or a port of a test.
    final class TestBroker: Sendable {
        /// A directory of the test's own.
        let directory: URL
        private let program: String
        /// Nil: a Unix socket.
        private let port: UInt16?

        init(port: UInt16? = nil) throws {
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

        func path(_ name: String) -> String { directory.appending(path: name).path }

        var address: MQTTClient.Broker {
            port.map { .tcp(host: "localhost", port: $0) } ?? .unix(path: path("socket"))
        }

        /// A port that is free now.
        static func freePort() throws -> UInt16 {
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
        func run(_ options: [String] = ["allow_anonymous true"], _ body: (RunningProgram) async throws -> Void)
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
        func read(_ filters: [String], count: Int, format: String = "%t %p %r", options: [String] = []) async throws
            -> [String]
        {
            let result = try await subscriber(filters, count: count, format: format, options: options).run()
            #expect(result.status == 0, "\(result.errors)")
            return result.output.split(separator: "\n").map(String.init)
        }

        func subscriber(_ filters: [String], count: Int, format: String = "%t %p %r", options: [String] = [])
            -> TestProgram
        {
            TestProgram(
                "mosquitto_sub",
                destination + ["-V", "5", "-q", "1", "-C", "\(count)", "-F", format] + options
                    + filters.flatMap { ["-t", $0] })
        }

        func publish(_ topic: String, _ payload: String, options: [String] = []) async throws {
            let arguments = destination + ["-V", "5", "-q", "1", "-t", topic, "-m", payload] + options
            let result = try await TestProgram("mosquitto_pub", arguments).run()
            #expect(result.status == 0, "\(result.errors)")
        }

        private var destination: [String] {
            port.map { ["-h", "127.0.0.1", "-p", "\($0)"] } ?? ["--unix", path("socket")]
        }
    }

    extension RunningProgram {
        /// Returns once the broker, which this is, has a subscription.
        func untilSubscribed(_ filter: String) async throws { try await errors.until("\t\(filter) (QoS") }
    }

    extension MQTTClient {
        static func make(
            _ broker: Broker, clock: (any Clock<Duration>)? = nil,
            logger: Logger = Logger(label: "mqtt") { _ in SwiftLogNoOpLogHandler() },
            _ change: (inout Configuration) -> Void = { _ in }
        ) throws -> MQTTClient {
            var configuration = Configuration(broker, clientID: "test-\(UInt64.random(in: 0 ... .max))")
            // Tests with a clock of their own decide when it passes.
            configuration.backoff = Backoff(every: .milliseconds(10))
            change(&configuration)
            return try MQTTClient(configuration, on: EventLoop(name: "mqtt"), clock: clock, logger: logger)
        }

        /// Returns the first state that is as wanted, from now on.
        @discardableResult func reach(_ isWanted: (State) -> Bool) async throws -> State {
            for try await state in states() where isWanted(state) { return state }
            throw MQTTError(.shutDown, "the states ended")
        }

        func reachConnected() async throws { try await reach(\.isConnected) }
        func reachError() async throws -> MQTTError? { try await reach { $0.error != nil }.error }
    }

    extension MQTTClient.State {
        var isConnected: Bool { if case .connected = self { true } else { false } }
        var error: MQTTError? { if case .disconnected(let error, _) = self { error } else { nil } }
        var pause: Duration? { if case .disconnected(_, let pause) = self { pause } else { nil } }
    }

    extension MQTTMessage {
        init(_ topic: String, text: String, qos: QoS = .atLeastOnce, retain: Bool = false) {
            self.init(topic, Array(text.utf8), qos: qos, retain: retain)
        }

        var text: String { String(decoding: payload, as: UTF8.self) }
    }

    /// A reader of a subscription, with an iterator for all its messages.
    final class MessageReader {
        private let stream: BoundedStream<MQTTMessage>
        private var iterator: BoundedStream<MQTTMessage>.Iterator

        init(_ stream: BoundedStream<MQTTMessage>) {
            self.stream = stream
            iterator = stream.makeAsyncIterator()
        }

        var droppedCount: Int { stream.droppedCount }

        func nextMessage() async throws -> MQTTMessage? { try await iterator.next() }

        /// The next messages, as text; fewer at the end of the stream.
        func next(_ count: Int) async throws -> [String] {
            var texts: [String] = []
            while texts.count < count, let message = try await nextMessage() { texts.append(message.text) }
            return texts
        }
    }

    extension MQTTClient {
        nonisolated func read(_ filter: String, qos: MQTTMessage.QoS = .atLeastOnce, capacity: Int = 1000) async throws
            -> MessageReader
        {
            MessageReader(await subscribe(try TopicFilter(filter), qos: qos, capacity: capacity))
        }
    }

    /// An error's code, for expectations.
    func code(of body: () async throws -> Void) async -> MQTTError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? MQTTError)?.code
        }
    }
#endif
