import BLEDefinitions

#if Web
    import ArgumentParser
    import BLE
    import BLERecording
    import FlyingFox
    import FlyingSocks
    import FoundationEssentials
    import Synchronization

    /// Serves the page, runs commands for it, and answers Prometheus.
    ///
    /// Each socket of a page is a command of this program, which runs here with the central of the server; what the
    /// command writes with `--json` goes to the page. So the page can do what the commands can, as far as
    /// ``WebRequest`` lets it.
    final class WebServer: Sendable {
        /// What the page is about.
        struct Subject: Sendable {
            let title: String
            let backend: BackendName
            /// The time limit of each step of a command.
            let timeout: Double
            /// The recording that the central is part of. Nil if there is none.
            var recording: String?
            /// The central. Nil until Bluetooth is available.
            let central: @Sendable () -> Central?
            /// The devices of a gateway. Nil for another program.
            var devices: (@Sendable () -> JSON)?
            /// Returns the values of a field of a device in the last hours. Nil if none are kept.
            var history: (@Sendable (_ device: String, _ field: String, _ hours: Int) async throws(BLEError) -> JSON)?
            /// The numbers of a gateway for Prometheus.
            var metrics: @Sendable () -> [PrometheusMetric] = { [] }
        }

        private let address: WebAddress
        private let subject: Subject
        /// What a page needs to change something. Nil if none may.
        private let token: String?
        private let note: @Sendable (String) -> Void
        private let runningCount = Mutex(0)

        /// The maximum number of commands that run at the same time.
        private static let commandLimit = 100
        /// The pauses before the port is opened again after an error.
        private static let backoff = Backoff(initial: .seconds(1), factor: 2, maximum: .seconds(30))

        init(
            _ address: WebAddress, _ subject: Subject, token: String?, note: @escaping @Sendable (String) -> Void
        ) {
            (self.address, self.subject, self.token, self.note) = (address, subject, token, note)
        }

        /// A token that nobody can guess.
        static func makeToken() -> String {
            var generator = SystemRandomNumberGenerator()
            return Hex.string((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
        }

        /// Serves until the task is cancelled. An error of the port, such as that it is in use, ends an attempt, not
        /// the program.
        func run(_ clock: any Clock<Duration>) async throws {
            let socketAddress = try address.socketAddress
            let elapsed = CommandClock.elapsed(clock)
            let failures = Mutex(Failures())
            let connections = SocketWaits { [note, address] in
                if failures.withLock({ $0.end() }) { note("the page is served again at \(address.url)") }
            }
            var told = ToldTexts()
            note("the page: \(address.url)\(token.map { "#token=\($0)" } ?? "")")
            while true {
                do {
                    try Self.checkPort(socketAddress)
                    let server = HTTPServer(
                        address: socketAddress, pool: connections, logger: .disabled,
                        handler: ClosureHTTPHandler { try await self.answer($0) })
                    try await server.run()
                } catch {
                    guard !Task.isCancelled else { throw CancellationError() }
                    let text = "the page cannot be served at \(address.url): \(Self.text(error))"
                    let isTold = told.insert(text, at: elapsed())
                    if isTold { note(text) }
                    let count = failures.withLock { $0.add(isTold: isTold) }
                    try await clock.sleep(for: Self.backoff.pause(afterFailures: count))
                }
            }
        }

        /// Throws the error of an address that cannot be served at.
        ///
        /// FlyingFox 0.27 does not close a socket that it cannot bind: each attempt would cost a descriptor.
        private static func checkPort(_ address: some SocketAddress) throws {
            let socket = try Socket(domain: Int32(type(of: address).family), type: .stream)
            defer { try? socket.close() }
            try socket.setValue(true, for: .localAddressReuse)
            try socket.bind(to: address)
        }

        /// The attempts to serve that have failed since the last one that did not.
        private struct Failures {
            private var count = 0
            private var isTold = false

            /// Returns the number with this one.
            mutating func add(isTold: Bool) -> Int {
                count += 1
                self.isTold = self.isTold || isTold
                return count
            }

            /// Returns whether people know of a failure.
            mutating func end() -> Bool {
                defer { self = Failures() }
                return isTold
            }
        }

        private static func text(_ error: any Error) -> String {
            if case .failed(_, _, let message)? = error as? SocketError { message } else { "\(error)" }
        }

        // MARK: Requests

        /// Answers a request, unless somebody else's page asks.
        func answer(_ request: HTTPRequest) async throws -> HTTPResponse {
            guard address.accepts(host: request.headers[.host]) else {
                return Self.refusal(.misdirectedRequest, "This server does not have that name.")
            }
            guard WebAddress.accepts(origin: request.headers[HTTPHeader("Origin")], host: request.headers[.host])
            else { return Self.refusal(.forbidden, "A page of another server asks.") }
            guard request.method == .GET else { return Self.refusal(.methodNotAllowed, "Only GET is answered.") }
            var response = try await content(request)
            for (header, value) in Self.headers { response.headers[header] = value }
            return response
        }

        /// What keeps foreign pages away from this one, and foreign text from becoming code.
        private static let headers = [
            HTTPHeader("Content-Security-Policy"):
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                + "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            HTTPHeader("X-Content-Type-Options"): "nosniff",
            HTTPHeader("Referrer-Policy"): "no-referrer",
            HTTPHeader("Cross-Origin-Resource-Policy"): "same-origin",
            .cacheControl: "no-store",
        ]

        private func content(_ request: HTTPRequest) async throws -> HTTPResponse {
            switch request.path {
            case "/command":
                return try await WebSocketHTTPHandler(handler: CommandSocket { await self.perform($0, $1) })
                    .handleRequest(request)
            case "/about": return Self.json(about)
            case "/links": return Self.json(await links())
            case "/metrics":
                return Self.response(
                    Data(PrometheusMetric.text(await metrics()).utf8), "text/plain; version=0.0.4; charset=utf-8")
            case "/devices":
                guard let devices = subject.devices else { break }
                return Self.json(devices())
            case "/history":
                guard let history = subject.history else { break }
                guard let device = request.query["device"], let field = request.query["field"],
                    let hours = request.query["hours"].flatMap({ Int($0) }), hours > 0
                else { return Self.refusal(.badRequest, "device, field and hours, a whole number, are needed.") }
                do {
                    return Self.json(try await history(device, field, hours))
                } catch {
                    let isTemporary = [.busy, .timedOut].contains(error.code)
                    return Self.refusal(isTemporary ? .serviceUnavailable : .internalServerError, error.message)
                }
            case "/recording.btsnoop":
                guard let recording = subject.recording else { break }
                // It has what others have read and written.
                guard let token, request.headers[.authorization] == "Bearer \(token)" else {
                    return Self.refusal(.forbidden, "The recording needs the token.")
                }
                // What a recorder has not written yet is missing.
                return Self.response(try RecordingFile.read(recording).btsnoop(), "application/octet-stream")
            default:
                guard let file = WebPage.file(request.path) else { break }
                return Self.response(Data(file.content), file.type)
            }
            return Self.refusal(.notFound, "There is no such page.")
        }

        private static func response(_ body: Data, _ type: String) -> HTTPResponse {
            HTTPResponse(statusCode: .ok, headers: [.contentType: type], body: body)
        }

        private static func json(_ value: JSON) -> HTTPResponse { response(Data(value.text.utf8), "application/json") }

        private static func refusal(_ status: HTTPStatusCode, _ text: String) -> HTTPResponse {
            HTTPResponse(
                statusCode: status, headers: [.contentType: "text/plain; charset=utf-8"], body: Data("\(text)\n".utf8))
        }

        private var about: JSON {
            .object([
                "title": .string(subject.title), "version": .string(Central.version),
                "backend": .string(subject.backend.rawValue), "allowsWriting": .bool(token != nil),
                "records": .bool(subject.recording != nil && token != nil), "gateway": .bool(subject.devices != nil),
                "history": .bool(subject.history != nil),
            ])
        }

        // MARK: State

        private func links() async -> JSON {
            guard let central = subject.central() else { return .object(["links": .array([]), "statistics": .null]) }
            let connected = await central.knownPeripherals().filter(\.isConnected)
            return .object([
                "links": .array(
                    connected.map { known in
                        .object([
                            "id": .string(known.id.rawValue), "name": .optional(known.advertisement.localName),
                            "connected": true,
                        ])
                    }),
                "statistics": Self.json(await central.statistics),
            ])
        }

        private static func json(_ statistics: CentralStatistics) -> JSON {
            .object([
                "advertisements": .int(statistics.advertisementCount), "links": .int(statistics.linkCount),
                "connected": .int(statistics.connectedCount),
                "droppedValues": .int(statistics.droppedValueCount),
                "droppedDiscoveries": .int(statistics.droppedDiscoveryCount),
                "bluetoothLosses": .int(statistics.bluetoothLossCount),
                "ends": counts(statistics.linkEndCounts), "reconnects": counts(statistics.reconnectCounts),
            ])
        }

        private static func counts(_ counts: [DisconnectReason: Int]) -> JSON {
            .object(Dictionary(uniqueKeysWithValues: counts.map { ($0.rawValue, .int($1)) }))
        }

        private func metrics() async -> [PrometheusMetric] {
            guard let central = subject.central() else { return subject.metrics() }
            return PrometheusMetric.all(of: await central.statistics) + subject.metrics()
        }

        // MARK: Commands

        /// Runs a command, and returns its exit status.
        private func perform(_ request: [UInt8], _ output: Output) async -> Int32 {
            let place = runningCount.withLock { count in
                count += 1
                return count
            }
            defer { runningCount.withLock { $0 -= 1 } }
            do {
                guard place <= Self.commandLimit else { throw BLEError(.busy, "too many commands run") }
                try await run(WebRequest(request, token: token), output)
                return ExitStatus.success
            } catch {
                let error = Self.known(error)
                output.complain(error)
                return ExitStatus.status(of: error.code)
            }
        }

        private static func known(_ error: any Error) -> BLEError {
            switch error {
            case let error as BLEError: error
            case is CancellationError: .cancelled
            default: BLEError(.invalidArgument, BLECommand.message(for: error), isRetryable: false)
            }
        }

        private func run(_ request: WebRequest, _ output: Output) async throws {
            let arguments = request.arguments(timeout: subject.timeout)
            // A mistake in them makes no link.
            _ = try BLECommand.parseAsRoot(arguments)
            guard let central = subject.central() else {
                throw BLEError(.bluetoothUnavailable, "Bluetooth is not available yet")
            }
            try await Session.$host.withValue(Session.Host(central: central, output: output)) {
                guard let id = request.peripheral else { return try await Self.run(arguments) }
                try await central.peripheral(id).withConnection { _ in try await Self.run(arguments) }
            }
        }

        private static func run(_ arguments: [String]) async throws {
            guard var command = try BLECommand.parseAsRoot(arguments) as? any AsyncParsableCommand else { return }
            try await command.run()
        }
    }
#endif
