import BLEDefinitions

#if Web
    import BLE
    import BLERecording
    import BLESimulation
    import BLETestSupport
    import FlyingFox
    import FlyingSocks
    import Foundation
    import Testing

    @testable import BLECommand

    /// The server without a port: requests go to its handler, and frames to its sockets.
    @Suite(.hangLimit)
    struct WebServerTests {
        private let radio: SimulatedRadio
        private let central: Central
        private let strap: SimulatedPeripheral

        init() async throws {
            radio = SimulatedRadio()
            strap = await radio.add(.heartRateStrap(beatsPerMinute: 72))
            central = try await Central(backend: .simulated(radio))
        }

        private func server(_ token: String? = nil, at address: String = "127.0.0.1:8080") throws -> WebServer {
            let central = central
            return WebServer(
                try #require(WebAddress(address)),
                WebServer.Subject(title: "test", backend: .simulated, timeout: 20, central: { central }), token: token
            ) { _ in }
        }

        private static func request(_ path: String, _ headers: [HTTPHeader: String] = [:]) -> HTTPRequest {
            HTTPRequest(
                method: .GET, version: .http11, path: path, query: [],
                headers: [.host: "localhost:8080"].merging(headers) { $1 }, body: Data())
        }

        private static func text(_ response: HTTPResponse) async throws -> String {
            String(decoding: try await response.bodyData, as: UTF8.self)
        }

        // MARK: Requests

        @Test(arguments: ["/", "/page.css", "/page.js", "/about", "/links", "/metrics"])
        func `what is served comes with headers against foreign code`(_ path: String) async throws {
            let response = try await server().answer(Self.request(path))
            #expect(response.statusCode == .ok)
            let policy = try #require(response.headers[HTTPHeader("Content-Security-Policy")])
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'"))
            #expect(!policy.contains("unsafe"))
            #expect(response.headers[HTTPHeader("X-Content-Type-Options")] == "nosniff")
        }

        @Test func `a foreign name or page is refused, for sockets also`() async throws {
            let server = try server()
            for path in ["/", "/about", "/command", "/metrics"] {
                let renamed = try await server.answer(Self.request(path, [.host: "evil.example:8080"]))
                #expect(renamed.statusCode == .misdirectedRequest)
                let foreign = try await server.answer(
                    Self.request(path, [HTTPHeader("Origin"): "http://evil.example"]))
                #expect(foreign.statusCode == .forbidden)
            }
        }

        @Test func `other paths and methods are refused`() async throws {
            for path in ["/x", "/../etc/passwd", "/devices", "/recording.btsnoop", "/page.html/"] {
                #expect(try await server().answer(Self.request(path)).statusCode == .notFound)
            }
            var request = Self.request("/")
            request.method = .POST
            #expect(try await server().answer(request).statusCode == .methodNotAllowed)
        }

        @Test(
            arguments: [
                ([("device", "a"), ("field", "rssi"), ("hours", "1")], 200, #"{"points":[]}"#),
                ([("device", "busy"), ("field", "rssi"), ("hours", "1")], 503, "other plots are read\n"),
                ([("device", "away"), ("field", "rssi"), ("hours", "1")], 500, "the history is locked\n"),
                ([("device", "a"), ("field", "rssi"), ("hours", "0.5")], 400, nil),
                ([("device", "a"), ("field", "rssi"), ("hours", "0")], 400, nil),
                ([("device", "a"), ("field", "rssi")], 400, nil), ([], 400, nil),
            ] as [([(String, String)], Int, String?)])
        func `a plot is answered, or refused with a reason`(query: [(String, String)], status: Int, text: String?)
            async throws
        {
            let subject = WebServer.Subject(
                title: "test", backend: .simulated, timeout: 20, central: { nil },
                history: { device, _, _ throws(BLEError) in
                    switch device {
                    case "busy": throw BLEError(.busy, "other plots are read")
                    case "away": throw BLEError(.failed, "the history is locked")
                    default: .object(["points": .array([])])
                    }
                })
            let server = WebServer(try #require(WebAddress("127.0.0.1:8080")), subject, token: nil) { _ in }
            let request = HTTPRequest(
                method: .GET, version: .http11, path: "/history",
                query: query.map { HTTPRequest.QueryItem(name: $0.0, value: $0.1) },
                headers: [.host: "localhost:8080"], body: Data())
            let response = try await server.answer(request)
            #expect(response.statusCode.code == status)
            if let text { #expect(try await Self.text(response) == text) }
            #expect(try await self.server().answer(Self.request("/history")).statusCode == .notFound)
        }

        @Test func `of too many connections, the last one is refused, and the end of one is the room of another`()
            async throws
        {
            let waits = SocketWaits {}
            try await waits.prepare()
            // Each can be written to at once.
            func makeSocket() throws -> FlyingSocks.Socket {
                let socket = try FlyingSocks.Socket(domain: AF_UNIX, type: .datagram)
                try socket.setFlags(.nonBlocking)
                return socket
            }
            func canWait(_ socket: FlyingSocks.Socket) async -> Bool {
                (try? await waits.suspendSocket(socket, untilReadyFor: .write)) != nil
            }
            var sockets: [FlyingSocks.Socket] = []
            defer { for socket in sockets { try? socket.close() } }
            for _ in 0..<SocketWaits.connectionLimit {
                sockets.append(try makeSocket())
                #expect(await canWait(sockets[sockets.count - 1]))
            }
            let further = try makeSocket()
            #expect(await !canWait(further))
            // Those that were there go on, whatever they wait for.
            #expect(await canWait(sockets[0]))
            try sockets.removeLast().close()
            #expect(await canWait(further))
            #expect(await !canWait(try makeSocket()))
            sockets.append(further)
        }

        @Test func `a page learns what it may do, but not the token`() async throws {
            let text = try await Self.text(try server("secret").answer(Self.request("/about")))
            #expect(text.contains(#""allowsWriting":true"#))
            #expect(!text.contains("secret"))
            #expect(
                try await Self.text(try server().answer(Self.request("/about"))).contains(#""allowsWriting":false"#))
        }

        @Test func `Prometheus gets what the central has counted`() async throws {
            let peripheral = central.peripheral(strap.id)
            try await peripheral.connect()
            _ = try await peripheral.read(Characteristic<[UInt8]>(BluetoothUUID(0x2A19)))
            try await peripheral.disconnect()
            let text = try await Self.text(try server().answer(Self.request("/metrics")))
            for line in [
                "# TYPE ble_central_links_total counter", "ble_central_links_total 1", "ble_central_connected 0",
                #"ble_central_links_ended_total{reason="local"} 1"#,
                #"ble_central_operations_total{operation="read",error="none"} 1"#,
            ] {
                #expect(text.split(separator: "\n").contains(Substring(line)), "\(line) in \(text)")
            }
            #expect(!text.contains(strap.id.rawValue))
        }

        // MARK: Commands

        /// A socket of a page.
        private struct Socket {
            let send: AsyncThrowingStream<WSFrame, any Error>.Continuation
            let frames: AsyncStream<WSFrame>

            /// Sends a request.
            func ask(_ arguments: [String], token: String? = nil) {
                let keys: [String: JSON] = [
                    "arguments": .array(arguments.map(JSON.string)), "token": .optional(token),
                ]
                send(.text, JSON.object(keys).text)
            }

            func send(_ opcode: WSFrame.Opcode, _ text: String = "") {
                send.yield(WSFrame(fin: true, opcode: opcode, mask: nil, payload: Data(text.utf8)))
            }

            /// Returns the lines until the end of the socket.
            func lines() async -> [String] {
                var lines: [String] = []
                for await frame in frames where frame.opcode == .text {
                    lines.append(String(decoding: frame.payload, as: UTF8.self))
                }
                return lines
            }
        }

        private func socket(_ server: WebServer) async throws -> Socket {
            let response = try await server.answer(
                Self.request(
                    "/command",
                    [
                        .connection: "Upgrade", .upgrade: "websocket", .webSocketVersion: "13",
                        .webSocketKey: Data(repeating: 1, count: 16).base64EncodedString(),
                    ]))
            guard case .webSocket(let handler) = response.payload else {
                throw BLEError(.failed, "no socket: \(response.statusCode)")
            }
            let (client, send) = AsyncThrowingStream.makeStream(of: WSFrame.self)
            return Socket(send: send, frames: try await handler.makeFrames(for: client))
        }

        @Test func `a command writes to the page what it writes to a terminal, and the link ends with it`() async throws
        {
            let socket = try await socket(server())
            socket.ask(["read", strap.id.rawValue, "2a19"])
            let lines = await socket.lines()
            #expect(lines.count == 2)
            #expect(lines.first?.contains(#""decoded":"90 %""#) == true, "\(lines)")
            #expect(lines.first?.contains(#""value":"5a""#) == true)
            #expect(lines.last == #"{"event":"ended","status":0}"#)
            #expect(await central.peripheral(strap.id).connectionState != .connected)
        }

        @Test func `a tree has its names`() async throws {
            let socket = try await socket(server())
            socket.ask(["inspect", "--values", strap.id.rawValue])
            let lines = await socket.lines()
            #expect(lines.first?.contains(#""name":"Heart Rate Measurement""#) == true, "\(lines)")
        }

        @Test func `a scan goes on until the page ends it`() async throws {
            let socket = try await socket(server())
            socket.ask(["scan"])
            for await frame in socket.frames {
                #expect(String(decoding: frame.payload, as: UTF8.self).contains(#""event":"found""#))
                break
            }
            socket.send(.close)
            while try await central.adapters().contains(where: \.isDiscovering) { await Task.yield() }
        }

        @Test func `writing needs the token, and is refused without`() async throws {
            let lamp = await radio.add(.lamp())
            let refused = try await socket(server("secret"))
            refused.ask(["write", lamp.id.rawValue, "ff01", "00"], token: "guess")
            let lines = await refused.lines()
            #expect(lines.first?.contains(#""code":"notPermitted""#) == true, "\(lines)")
            #expect(lines.last == #"{"event":"ended","status":17}"#)
            let allowed = try await socket(server("secret"))
            allowed.ask(["write", lamp.id.rawValue, "ff01", "00"], token: "secret")
            #expect(await allowed.lines().last == #"{"event":"ended","status":0}"#)
            let reader = try await socket(server())
            reader.ask(["read", lamp.id.rawValue, "ff01"])
            #expect(await reader.lines().first?.contains(#""value":"00""#) == true)
        }

        @Test func `errors come as lines, with the status of the command`() async throws {
            let central = try await Central(
                backend: .simulated(radio), configuration: Central.Configuration(connectTimeout: .milliseconds(100)))
            for (arguments, status) in [
                (["read", "C4:7C:8D:FF:FF:FF", "2a19"], 12), (["read", strap.id.rawValue, "fff9"], 16),
                (["read", strap.id.rawValue, "nonsense"], 64), (["gateway"], 64),
            ] {
                let socket = try await socket(
                    WebServer(
                        try #require(WebAddress("8080")),
                        WebServer.Subject(title: "", backend: .simulated, timeout: 1, central: { central }), token: nil
                    ) { _ in })
                socket.ask(arguments)
                let lines = await socket.lines()
                #expect(lines.count == 2, "\(lines)")
                #expect(lines.first?.contains(#""error":{"#) == true)
                #expect(lines.last == "{\"event\":\"ended\",\"status\":\(status)}", "\(lines)")
            }
        }

        @Test func `before there is Bluetooth, a command says so`() async throws {
            let server = WebServer(
                try #require(WebAddress("8080")),
                WebServer.Subject(title: "", backend: .bluez, timeout: 1, central: { nil }), token: nil
            ) { _ in }
            let socket = try await socket(server)
            socket.ask(["scan"])
            #expect(await socket.lines().first?.contains(#""code":"bluetoothUnavailable""#) == true)
            #expect(try await Self.text(server.answer(Self.request("/links"))) == #"{"links":[],"statistics":null}"#)
        }

        @Test func `a ping is answered`() async throws {
            let socket = try await socket(server())
            socket.send(.ping, "are you there")
            var frames = socket.frames.makeAsyncIterator()
            let pong = await frames.next()
            #expect(pong?.opcode == .pong)
            #expect(pong.map { String(decoding: $0.payload, as: UTF8.self) } == "are you there")
        }

        @Test(arguments: ["a second request", "a long ping", "a message in parts", "an unknown frame"])
        func `what a page does not send ends its socket, with an error`(_ what: String) async throws {
            let socket = try await socket(server())
            switch what {
            case "a second request":
                socket.ask(["scan"])
                socket.ask(["scan"])
            case "a long ping": socket.send(.ping, String(repeating: "x", count: 126))
            case "a message in parts":
                socket.send.yield(WSFrame(fin: false, opcode: .text, mask: nil, payload: Data("{".utf8)))
            default: socket.send(WSFrame.Opcode(3), "x")
            }
            let lines = await socket.lines()
            #expect(lines.last == #"{"event":"ended","status":64}"#, "\(lines)")
            #expect(lines.contains { $0.contains(#""code":"invalidArgument""#) }, "\(lines)")
        }

        @Test func `a command that is cancelled has the error that others have`() async throws {
            let socket = try await socket(server())
            socket.ask(["scan"])
            for await frame in socket.frames where frame.opcode == .text { break }
            socket.send(.close)
            let lines = await socket.lines()
            #expect(lines.allSatisfy { !$0.contains("error") || $0.contains(#""error":{"#) }, "\(lines)")
        }

        @Test func `a page without the token does not pair by reading, also beside one that may write`() async throws {
            let radio = SimulatedRadio()
            let box = await radio.add(.sealedBox(), pairing: .justWorks)
            let central = try await Central(
                backend: .simulated(radio), configuration: Central.Configuration(pairing: WebPairing.behavior()))
            let server = WebServer(
                try #require(WebAddress("8080")),
                WebServer.Subject(title: "", backend: .simulated, timeout: 20, central: { central }), token: "secret"
            ) { _ in }
            let reader = try await socket(server)
            reader.ask(["read", box.id.rawValue, "ff11"], token: "secret")
            #expect(await reader.lines().last != #"{"event":"ended","status":0}"#)
            #expect(try await !central.peripheral(box.id).isPaired)
            let pairing = try await socket(server)
            pairing.ask(["pair", box.id.rawValue], token: "secret")
            #expect(await pairing.lines().last == #"{"event":"ended","status":0}"#)
            #expect(try await central.peripheral(box.id).isPaired)
            // The link of the pairing has ended with it.
            for try await state in await central.peripheral(box.id).connectionStates() where state != .connected {
                break
            }
        }

        @Test func `the recording needs the token`() async throws {
            let central = central
            let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).recording").path
            defer { try? FileManager.default.removeItem(atPath: file) }
            try Recording(Recording.Header(stack: "test")).write(to: file)
            let server = WebServer(
                try #require(WebAddress("8080")),
                WebServer.Subject(
                    title: "", backend: .simulated, timeout: 20, recording: file, central: { central }), token: "secret"
            ) { _ in }
            let refused = try await server.answer(Self.request("/recording.btsnoop"))
            #expect(refused.statusCode == .forbidden)
            let response = try await server.answer(
                Self.request("/recording.btsnoop", [.authorization: "Bearer secret"]))
            #expect(try await response.bodyData.starts(with: Data("btsnoop".utf8)))
        }

        @Test func `a page that reads nothing keeps only the newest lines, and is told how many it has lost`()
            async throws
        {
            let count = CommandSocket.capacity * 3
            let (client, send) = AsyncThrowingStream.makeStream(of: WSFrame.self)
            let (done, finish) = AsyncStream.makeStream(of: Void.self)
            let socket = Socket(
                send: send,
                frames: try await CommandSocket { _, output in
                    for number in 0..<count { try? output.line(.object(["number": .int(number)]), "") }
                    finish.finish()
                    return 0
                }.makeFrames(for: client))
            socket.ask(["scan"])
            for await _ in done {}
            let lines = await socket.lines()
            #expect(lines.count <= CommandSocket.capacity)
            #expect(lines.last == #"{"event":"ended","status":0}"#)
            let told = lines.compactMap { $0.firstMatch(of: /"count":(\d+),"event":"dropped"/) }.last?.1
            let received = lines.count { $0.contains(#""number":"#) }
            let lost = try #require(told.flatMap { Int($0) })
            // The last three frames took the places of lines, unless the page had begun to read.
            #expect((0...3).contains(lost - (count - received)))
            #expect(lines.contains { $0.contains("\"number\":\(count - 1),") })
        }

        @Test func `a page that reads again is told how many lines it has lost`() async throws {
            let (client, send) = AsyncThrowingStream.makeStream(of: WSFrame.self)
            let (full, isFull) = AsyncStream.makeStream(of: Void.self)
            let (read, hasRead) = AsyncStream.makeStream(of: Void.self)
            let socket = Socket(
                send: send,
                frames: try await CommandSocket { _, output in
                    for _ in 0..<CommandSocket.capacity + 5 { try? output.line(.object([:]), "") }
                    isFull.finish()
                    for await _ in read {}
                    try? output.line(.object(["last": true]), "")
                    return 0
                }.makeFrames(for: client))
            socket.ask(["scan"])
            for await _ in full {}
            var frames = socket.frames.makeAsyncIterator()
            for _ in 0..<10 { _ = await frames.next() }
            hasRead.finish()
            var rest: [String] = []
            while let frame = await frames.next() { rest.append(String(decoding: frame.payload, as: UTF8.self)) }
            #expect(rest.contains(#"{"count":5,"event":"dropped"}"#))
        }

        @Test func `two pages use one link, which ends with the last of them`() async throws {
            let server = try server("secret")
            let (one, other) = (try await socket(server), try await socket(server))
            one.ask(["notify", strap.id.rawValue, "2a37"], token: "secret")
            other.ask(["notify", strap.id.rawValue, "2a37"], token: "secret")
            for socket in [one, other] { for await frame in socket.frames where frame.opcode == .text { break } }
            one.send(.close)
            _ = await one.lines()
            let reader = try await self.socket(server)
            reader.ask(["read", strap.id.rawValue, "2a19"])
            #expect(await reader.lines().last == #"{"event":"ended","status":0}"#)
            #expect(await central.peripheral(strap.id).connectionState == .connected)
            other.send(.close)
            for try await state in await central.peripheral(strap.id).connectionStates() where state != .connected {
                break
            }
        }
    }
#endif
