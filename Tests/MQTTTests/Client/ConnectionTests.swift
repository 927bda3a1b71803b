#if Gateway
    import BLE
    import BLETestSupport
    import BlueZTestSupport
    import Foundation
    import MQTT
    import Testing

    @Suite(.hangLimit, .startsProcesses) struct ConnectionTests {
        @Test func `the broker is killed and comes back, and everything goes on`() async throws {
            let broker = try TestBroker(port: try TestBroker.freePort())
            let client = try MQTTClient.make(broker.address)
            let stream = try await client.read("in/+")
            await client.start()
            try await broker.run { mosquitto in
                try await mosquitto.untilSubscribed("in/+")
                try await broker.publish("in/1", "before")
                #expect(try await stream.next(1) == ["before"])
            }
            _ = try await client.reachError()
            try await client.publish(MQTTMessage("out", text: "meanwhile", retain: true))
            try await broker.run { mosquitto in
                #expect(try await broker.read(["out"], count: 1, format: "%t %p") == ["out meanwhile"])
                try await mosquitto.untilSubscribed("in/+")
                try await broker.publish("in/2", "after")
                #expect(try await stream.next(1) == ["after"])
                #expect(await client.statistics.reconnects == 1)
                await client.shutDown()
            }
        }

        @Test func `the will is published when the client is gone without a farewell, or on demand`() async throws {
            let broker = try TestBroker()
            try await broker.run { mosquitto in
                func client() throws -> MQTTClient {
                    try MQTTClient.make(broker.address) {
                        $0.will = MQTTClient.Will(MQTTMessage("gw/1", text: "gone", retain: true))
                    }
                }
                let first = try client()
                await first.start()
                try await first.publish(MQTTMessage("gw/1", text: "online", retain: true), within: .seconds(60))
                await first.shutDown()
                #expect(try await broker.read(["gw/1"], count: 1) == ["gw/1 online 1"])

                let subscriber = broker.subscriber(["gw/1"], count: 2)
                let second = try client()
                await second.start()
                try await second.reachConnected()
                let result = try await subscriber.run { running in
                    try await running.output.until(lineCount: 1)
                    await second.shutDown(publishingWill: true)
                }
                #expect(result.output == "gw/1 online 1\ngw/1 gone 0\n")

                try await broker.publish("gw/1", "online", options: ["-r"])
                var third: MQTTClient? = try client()
                await third?.start()
                try await third?.reachConnected()
                let other = try await subscriber.run { running in
                    try await running.output.until(lineCount: 1)
                    third = nil
                }
                #expect(other.output == "gw/1 online 1\ngw/1 gone 0\n")
            }
        }

        @Test func `a session outlives its client`() async throws {
            let broker = try TestBroker()
            try await broker.run { mosquitto in
                func client() throws -> MQTTClient {
                    try MQTTClient.make(broker.address) {
                        $0.clientID = "gateway"
                        $0.sessionExpiry = .seconds(3600)
                    }
                }
                let first = try client()
                let old = try await first.read("cmd/#")
                await first.start()
                #expect(try await first.reach(\.isConnected) == .connected(sessionPresent: false))
                try await mosquitto.untilSubscribed("cmd/#")
                await first.shutDown()
                #expect(try await old.next(1) == [], "the stream has ended")
                try await broker.publish("cmd/1", "kept")
                let second = try client()
                let new = try await second.read("cmd/#")
                await second.start()
                #expect(try await second.reach(\.isConnected) == .connected(sessionPresent: true))
                #expect(try await new.next(1) == ["kept"])
                await second.shutDown()
            }
        }

        @Test func `a wrong password is an error of its own, and is tried again after the longest pause`() async throws
        {
            let (broker, clock) = (try TestBroker(), ManualClock())
            let passwords = broker.path("passwords")
            let made = try await TestProgram("mosquitto_passwd", ["-b", "-c", passwords, "gateway", "right"]).run()
            #expect(made.status == 0, "\(made.errors)")
            func configure(_ configuration: inout MQTTClient.Configuration, _ password: String) {
                configuration.credentials = MQTTClient.Credentials(username: "gateway", password: password)
                configuration.backoff = .standard
            }
            try await broker.run(["allow_anonymous false", "password_file \(passwords)"]) { mosquitto in
                let client = try MQTTClient.make(broker.address, clock: clock) { configure(&$0, "wrong") }
                await client.start()
                var attempts = 0
                for try await state in await client.states() {
                    guard let error = state.error else { continue }
                    #expect(error.code == .notAuthorized && error.reasonCode == 0x87)
                    #expect(state.pause == .seconds(30))
                    attempts += 1
                    if attempts == 3 { break }
                    clock.advance(by: .seconds(30))
                }
                await client.shutDown()
                let other = try MQTTClient.make(broker.address, clock: clock) { configure(&$0, "right") }
                await other.start()
                try await other.reachConnected()
                await other.shutDown()
            }
        }

        @Test func `another client with the same id takes the session over`() async throws {
            let (broker, clock) = (try TestBroker(), ManualClock())
            try await broker.run { mosquitto in
                let clients = try (0..<2).map { _ in
                    try MQTTClient.make(broker.address, clock: clock) {
                        $0.clientID = "gateway"
                    }
                }
                await clients[0].start()
                try await clients[0].reachConnected()
                await clients[1].start()
                let state = try await clients[0].reach { $0.error != nil }
                // mosquitto 2.0.11 closes the connection, and gives no reason.
                #expect([.sessionTakenOver, .connectionLost].contains(state.error?.code))
                for client in clients { await client.shutDown() }
            }
        }

        @Test func `encryption checks the broker, and shows a certificate to it`() async throws {
            let broker = try TestBroker(port: try TestBroker.freePort())
            try await Certificates.make(in: broker)
            let options = [
                "allow_anonymous true", "cafile \(broker.path("ca.pem"))", "certfile \(broker.path("server.pem"))",
                "keyfile \(broker.path("server.key"))",
            ]
            func client(_ change: (inout MQTTClient.TLS) -> Void) async throws -> MQTTClient {
                let client = try MQTTClient.make(broker.address) {
                    var tls = MQTTClient.TLS(authorityFile: broker.path("ca.pem"))
                    change(&tls)
                    $0.tls = tls
                }
                await client.start()
                return client
            }
            func outcome(_ change: (inout MQTTClient.TLS) -> Void) async throws -> MQTTError.Code? {
                let client = try await client(change)
                let state = try await client.reach { $0.isConnected || $0.error != nil }
                if state.isConnected { try await client.publish(MQTTMessage("a", text: "1"), within: .seconds(60)) }
                await client.shutDown()
                return state.error?.code
            }
            try await broker.run(options) { _ in
                let trusted = try await outcome { _ in }
                let other = try await outcome { $0.authorityFile = broker.path("other.pem") }
                let system = try await outcome { $0.authorityFile = nil }
                let missing = try await outcome { $0.authorityFile = broker.path("missing.pem") }
                let unverified = try await outcome {
                    $0.authorityFile = nil
                    $0.isInsecureWithoutVerification = true
                }
                #expect(trusted == nil && unverified == nil)
                #expect(other == .insecure && system == .insecure && missing == .insecure)
                let plain = try MQTTClient.make(broker.address)
                await plain.start()
                #expect(try await plain.reachError() != nil, "without encryption")
                await plain.shutDown()
            }
            try await broker.run(options + ["require_certificate true"]) { _ in
                let known = try await outcome {
                    $0.certificate = (broker.path("client.pem"), broker.path("client.key"))
                }
                let unknown = try await outcome { _ in }
                let locked = try await outcome {
                    $0.certificate = (broker.path("client.pem"), broker.path("locked.key"))
                }
                #expect(known == nil && unknown != nil)
                #expect(locked == .insecure, "the passphrase of a key is not asked for")
            }
            let wrong = options.map { $0.replacing("server.", with: "wrong.") }
            try await broker.run(wrong) { _ in
                let misnamed = try await outcome { _ in }
                #expect(misnamed == .insecure)
            }
        }

        @Test func `a client that is shut down sends what is queued first`() async throws {
            let broker = try TestBroker()
            try await broker.run { mosquitto in
                let client = try MQTTClient.make(broker.address)
                for number in 0..<2000 { try await client.publish(MQTTMessage("n/\(number)", text: "x", retain: true)) }
                await client.start()
                await client.shutDown(within: .seconds(600))
                let lines = try await broker.read(["n/#"], count: 2000, format: "%t")
                #expect(Set(lines).count == 2000)
                #expect(await client.state == .idle)
                #expect(await code { try await client.publish(MQTTMessage("a", [])) } == .shutDown)
                for try await _ in await client.states() { Issue.record("a state after the end") }
                let stream = try await client.read("a")
                #expect(try await stream.next(1) == [])
                await client.shutDown()
            }
        }
    }

    /// Certificates of a test's own authority.
    enum Certificates {
        static func make(in broker: TestBroker) async throws {
            func openssl(_ arguments: [String]) async throws {
                let result = try await TestProgram("openssl", arguments).run()
                try #require(result.status == 0, "\(result.errors)")
            }
            func authority(_ name: String) async throws {
                try await openssl(
                    ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=\(name)"]
                        + ["-keyout", broker.path("\(name).key"), "-out", broker.path("\(name).pem")])
            }
            func certificate(_ name: String, for host: String) async throws {
                try await openssl(
                    ["req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=\(host)"]
                        + ["-keyout", broker.path("\(name).key"), "-out", broker.path("\(name).csr")])
                let file = broker.path("\(name).ext")
                try "subjectAltName=DNS:\(host)\n".write(toFile: file, atomically: true, encoding: .utf8)
                try await openssl(
                    ["x509", "-req", "-days", "2", "-in", broker.path("\(name).csr"), "-CA", broker.path("ca.pem")]
                        + ["-CAkey", broker.path("ca.key"), "-CAcreateserial", "-extfile", file]
                        + ["-out", broker.path("\(name).pem")])
            }
            try await authority("ca")
            try await authority("other")
            try await certificate("server", for: "localhost")
            try await certificate("wrong", for: "elsewhere.example")
            try await certificate("client", for: "gateway")
            try await openssl(
                ["rsa", "-aes256", "-passout", "pass:secret", "-in", broker.path("client.key")]
                    + ["-out", broker.path("locked.key")])
        }
    }
#endif
