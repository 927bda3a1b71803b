#if Web
    import BLE
    import BLESimulation
    import BLETestSupport
    import BlueZTestSupport
    import Foundation
    import Subprocess
    import Testing

    @testable import BLECommand

    /// `ble web` on a fake bluetoothd, used as a browser uses it.
    @Suite(.startsProcesses, .hangLimit)
    struct WebCommandTests {
        private let world: BlueZWorld

        init() async throws { world = try await BlueZWorld() }

        /// Runs `ble web`, and `body` with the token that it prints.
        private func serve(
            _ arguments: [String] = [], _ body: (_ port: UInt16, _ token: String, RunningProgram) async throws -> Void
        ) async throws {
            let port = try TestBroker.freePort()
            let tool = world.ble(["web", "--http", "127.0.0.1:\(port)"] + arguments)
            let result = try await tool.run { program in
                try await program.errors.until("\n", after: "the page: http://127.0.0.1:\(port)/")
                let token = program.errors.text.firstMatch(of: /#token=([0-9a-f]{32})\n/)?.1 ?? ""
                try await body(port, String(token), program)
                program.send(.terminate)
            }
            #expect(result.status == 143)
        }

        @Test(.enabled(if: OtherPrograms.has("websockets")))
        func `a client of another author gets the lines of commands, and is refused what a page must not do`()
            async throws
        {
            let strap = await world.radio.add(.heartRateStrap(beatsPerMinute: 72))
            let lamp = await world.radio.add(.lamp())
            try await serve(["--allow-write"]) { port, token, _ in
                let session = try await OtherPrograms.webSession(
                    port: port, token: token, strap: strap.id.rawValue, lamp: lamp.id.rawValue)
                let lines = session.split(separator: "\n").map(String.init)
                #expect(
                    Array(lines.prefix(10)) == [
                        #"{"get": "/", "status": 200, "type": "text/html; charset=utf-8"}"#,
                        #"{"get": "/page.css", "status": 200, "type": "text/css; charset=utf-8"}"#,
                        #"{"get": "/page.js", "status": 200, "type": "text/javascript; charset=utf-8"}"#,
                        #"{"get": "/about", "status": 200, "type": "application/json"}"#,
                        #"{"get": "/metrics", "status": 200, "type": "text/plain; version=0.0.4; charset=utf-8"}"#,
                        #"{"get": "/none", "status": 404, "type": "text/plain; charset=utf-8"}"#,
                        #"{"get": "/about", "status": 421, "type": "text/plain; charset=utf-8"}"#,
                        #"{"socket": ["origin"], "status": 403}"#,
                        #"{"socket": ["additional_headers"], "status": 421}"#,
                        #"{"command": "scan", "missing": []}"#,
                    ])
                let commands = lines.dropFirst(10)
                #expect(commands.count == 5)
                #expect(commands.first?.contains(#""decoded": "90 %""#) == true)
                #expect(commands.dropFirst().first?.contains(#""code": "notPermitted""#) == true)
                #expect(commands.dropFirst(2).first?.contains(#"{"event": "ended", "status": 0}"#) == true)
                #expect(commands.dropFirst(3).first?.contains(#""value": "07""#) == true)
                #expect(commands.last?.contains("72") == true)
            }
        }

        @Test(.enabled(if: OtherPrograms.has("websockets") && OtherPrograms.chromium != nil))
        func `in a browser, the list fills, a tree opens, a plot moves, and a change needs the token`() async throws {
            let strap = await world.radio.add(.heartRateStrap { 60 + $0 % 40 })
            let lamp = await world.radio.add(.lamp())
            let name = "<img src=x onerror=alert(1)>\u{202E}"
            let hostile = await world.radio.add(
                PeripheralDefinition(advertisement: Advertisement(localName: name, rssi: -40), services: []))
            try await serve(["--allow-write"]) { port, token, _ in
                let session = try await OtherPrograms.pageSession(
                    address: "http://127.0.0.1:\(port)/", token: token, strap: strap.id.rawValue,
                    lamp: lamp.id.rawValue, hostile: hostile.id.rawValue)
                #expect(
                    session.split(separator: "\n").map(String.init) == [
                        #"{"images": 0, "name": true, "step": "list"}"#,
                        #"{"overflow": false, "step": "phone"}"#,
                        #"{"disabled": true, "step": "tree"}"#,
                        #"{"code": "notPermitted", "step": "refused"}"#,
                        #"{"shown": false, "step": "token"}"#,
                        #"{"moves": true, "step": "plot"}"#,
                        #"{"step": "write", "value": "07"}"#,
                        #"{"complaints": [], "foreign": [], "step": "end"}"#,
                    ])
            }
        }

        @Test(.enabled(if: OtherPrograms.node != nil))
        func `the page's tables, logs and plots do as their own tests say`() async throws {
            let tests = Checkout.url("Tests/Tools/Page").path
            let files = try FileManager.default.contentsOfDirectory(atPath: tests).filter { $0.hasSuffix(".test.mjs") }
            #expect(!files.isEmpty)
            let result = try await TestProgram(
                OtherPrograms.node ?? "node", ["--test", "--test-reporter", "tap"] + files.map { "\(tests)/\($0)" }
            ).run()
            #expect(result.status == 0, "\(result.output)")
            #expect(result.output.contains("# fail 0"))
        }

        @Test func `a port that is in use is told once, and the page is served when it is free`() async throws {
            let port = try TestBroker.freePort()
            let tool = world.ble("web", "--http", "127.0.0.1:\(port)")
            let first = try await tool.run { program in
                try await program.errors.until("the page: http://127.0.0.1:\(port)/")
                let second = try await tool.run { other in
                    try await other.errors.until("cannot be served at http://127.0.0.1:\(port)/")
                    program.send(.terminate)
                    try await other.errors.until("the page is served again at http://127.0.0.1:\(port)/")
                    other.send(.terminate)
                }
                #expect(second.status == 143)
                #expect(second.errors.split(separator: "\n").count { $0.contains("cannot be served") } == 1)
            }
            #expect(first.status == 143)
        }

        @Test func `an address without a port is wrong usage`() async throws {
            let result = try await world.ble("web", "--http", "example.com:80").run()
            #expect(result.status == 64)
            #expect(result.errors.contains("is not HOST:PORT"))
        }
    }
#endif
