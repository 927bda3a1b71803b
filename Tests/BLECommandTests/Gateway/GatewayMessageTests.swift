#if DeviceCommands
    import BLE
    import BLEFeatures
    import BLESimulation
    import BLETestSupport
    import BLETesting
    import Foundation
    import SmartLock
    import Testing

    @testable import BLECommand

    /// Messages from the broker for a smart lock.
    @Suite(.hangLimit)
    struct GatewayMessageTests {
        private let world: SimulatedWorld
        private let broker = MemoryBroker()
        private let lock: SimulatedPeripheral
        private let keys = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID().uuidString).json").path

        init() async throws {
            world = try await SimulatedWorld()
            lock = await world.radio.add(SimulatedLock().definition)
        }

        private var protocolText: String {
            #"""
            {"features": ["lock-access"], "reassembles": true, "replyTimeout": 100000, "encryption": {
              "mode": "bound", "salt": "9iac7i7zikocotce9gn3ji7lztz8rltn", "info": "smartlockperipheral", "command": "0103"}}
            """#
        }

        /// Runs a gateway whose list has the lock, sends it commands one after the other, and returns the answers.
        private func answers(
            _ messages: String?, of device: SimulatedPeripheral? = nil, _ commands: [String]
        ) async throws -> [String] {
            let lock = device ?? lock
            let messages = messages.map { #", "messages": \#($0)"# } ?? ""
            let text = #"{"id": "kitchen", "devices": {"lock": {"address": "\#(lock.id)"\#(messages)}}}"#
            let configuration = try GatewayFile.configuration(json: Data(text.utf8))
            let gateway = Gateway(configuration, broker: broker, clock: world.clock) { _ in }
            let central = world.central
            let run = Task(executorPreference: world.radio.taskExecutor) { try await gateway.run { central } }
            await until { broker.filters.count == 3 }
            broker.send(.connected)
            for command in commands {
                broker.send(
                    ReceivedMessage(
                        topic: "ble/device/\(GatewayTopics.device(lock.id))/command", payload: Array(command.utf8),
                        isRetained: false, responseTopic: "answers/1", correlation: []))
            }
            var answers: [String] = []
            // The lock computes while no time passes for it, but it does here: its replies have a lot of it.
            while answers.count < commands.count {
                await world.clock.run(for: .seconds(1))
                answers = broker.log.filter { $0.topic == "answers/1" }.map(\.payload)
            }
            run.cancel()
            _ = await run.result
            return answers
        }

        @Test func `a request is sent by name or number, and its reply is the result`() async throws {
            let answers = try await answers(
                #"{"protocol": \#(protocolText), "commands": {"name": "0201", "state": "0104"}}"#,
                [
                    #"{"id": "a", "message": "name"}"#, #"{"id": "b", "message": "0104"}"#,
                    #"{"id": "c", "message": "stat"}"#, #"{"id": "d", "message": "name", "encrypted": true}"#,
                    #"{"id": "e", "message": "name", "value": "00"}"#, #"{"id": "f", "message": "state"}"#,
                ])
            let name = Hex.string(Array("Simulated Lock".utf8))
            try #require(answers.count == 6)
            #expect(answers[0] == #"{"encrypted":false,"id":"a","ok":true,"payload":"\#(name)"}"#)
            #expect(answers[1] == #"{"encrypted":false,"id":"b","ok":true,"payload":"00"}"#)
            #expect(answers[2].contains(#""error":"invalidArgument","id":"c","message":"no message is named"#))
            #expect(answers[3].contains(#""error":"encryptionFailed","id":"d""#), "\(answers[3])")
            #expect(
                answers[4].contains(#""error":"invalidArgument","id":"e","message":"value: a message has no value""#))
            #expect(answers[5].contains(#""id":"f","ok":true"#))
            #expect(await world.central.peripheral(lock.id).connectionState == .disconnected)
        }

        @Test func `with a key of ble devices, messages are encrypted`() async throws {
            defer { try? FileManager.default.removeItem(atPath: keys) }
            var configuration = try Devices.Configuration.smartLock()
            configuration.replyTimeout = .seconds(100_000)
            let devices = Devices(
                world.central, configuration: configuration, storage: FileDeviceStorage(path: keys))
            let run = Task(executorPreference: world.radio.taskExecutor) {
                let device = try await devices.connect(serial: "010203040506")
                try await device.messages.pair()
                try await device.disconnect()
            }
            await world.clock.run(for: .seconds(30))
            try await run.value
            let answers = try await answers(
                #"{"protocol": \#(protocolText), "serial": "01:02:03:04:05:06", "keys": "\#(keys)"}"#,
                [
                    #"{"message": "0204", "payload": "01"}"#, #"{"message": "0104", "encrypted": false}"#,
                    #"{"message": "0204", "payload": "00", "encrypted": true}"#, #"{"message": "0104"}"#,
                    #"{"message": "0103", "encrypted": false}"#,
                ])
            try #require(answers.count == 5)
            #expect(answers[4].contains("0x0103 exchanges keys"))
            #expect(
                answers.dropLast() == [
                    #"{"encrypted":true,"ok":true,"payload":""}"#, #"{"encrypted":false,"ok":true,"payload":"01"}"#,
                    #"{"encrypted":true,"ok":true,"payload":""}"#, #"{"encrypted":true,"ok":true,"payload":"00"}"#,
                ])
        }

        @Test func `a lock that does not answer costs its own time, and the next command is performed`() async throws {
            await lock.ignore(.notify, .next(1))
            let answers = try await answers(
                #"{"protocol": {"reassembles": true, "replyTimeout": 300}}"#,
                [#"{"id": "a", "message": "0201"}"#, #"{"id": "b", "message": "0201"}"#])
            try #require(answers.count == 2)
            #expect(answers[0].contains(#""error":"commandTimedOut","id":"a""#), "\(answers)")
            #expect(answers[1].contains(#""id":"b","ok":true"#), "\(answers)")
        }

        @Test func `on a link that stays, a late reply is not taken for that of the next message`() async throws {
            let device = MessagePeripheral { request, _ in request.payload }
            let echo = await world.radio.add(device.definition(name: "Echo", serial: [1, 2, 3, 4, 5, 7]))
            // The link that something else of the program, here the test, keeps.
            let central = world.central
            let link = Task(executorPreference: world.radio.taskExecutor) {
                try await central.peripheral(echo.id).withConnection { _ in
                    try await ContinuousClock().sleep(for: .seconds(86_400))
                }
            }
            defer { link.cancel() }
            await echo.delay(.notify, .next(1), by: .seconds(400))
            let answers = try await answers(
                #"{"protocol": {"replyTimeout": 300, "lateReplyGrace": 300}}"#, of: echo,
                [1, 2, 3].map { #"{"message": "0201", "payload": "0\#($0)"}"# })
            try #require(answers.count == 3)
            #expect(answers[0].contains(#""error":"commandTimedOut""#), "\(answers)")
            #expect(answers[1].contains(#""ok":true,"payload":"02""#), "\(answers)")
            #expect(answers[2].contains(#""ok":true,"payload":"03""#), "\(answers)")
        }

        @Test func `a device without messages in the list gets none`() async throws {
            let answers = try await answers(nil, [#"{"message": "0201"}"#])
            #expect(answers.first?.contains("the list has no messages of this device") == true)
        }

        @Test(arguments: [
            (#"{"protocol": {"servce": "1"}}"#, "there is no configuration key servce"),
            (#"{"protocol": []}"#, "messages.protocol: "),
            (#"{"commands": {"ring": "02"}}"#, "messages.commands.ring: not a command"),
            (#"{"commands": {"0201": "0201"}}"#, "messages.commands.0201: the name is the number"),
            (#"{"serial": "0102", "keys": "k"}"#, "messages.serial: not a serial number"),
            (#"{"serial": "010203040506"}"#, "messages: keys and serial are given together"),
            (#"{"command": {}}"#, "messages.command: unknown key; did you mean \"commands\"?"),
        ])
        func `a mistake is told with its place`(messages: String, mistake: String) {
            let text = #"{"id": "k", "devices": {"x": {"address": "C0:00:00:00:00:01", "messages": \#(messages)}}}"#
            #expect {
                try GatewayFile.configuration(json: Data(text.utf8))
            } throws: { "\($0)".contains(mistake) && "\($0)".hasPrefix("devices.x.messages") }
        }
    }
#endif
