#if Gateway
    import BLETestSupport
    import BlueZTestSupport
    import Foundation
    import Subprocess
    import Testing

    /// `ble gateway` between the real bluetoothd and Debian's mosquitto, read by mosquitto_sub and asked by mosquitto_rr;
    /// inside `Scripts/with-bluez` only.
    @Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .startsProcesses, .hangLimit)
    struct RealGatewayTests {
        private let broker: TestBroker

        init() throws { broker = try TestBroker(port: try TestBroker.freePort()) }

        private static let device = "ble/device/f0f1f2f3f4f5"
        private static let gateway = "ble/gateway/guest/state"

        private func configuration() throws -> String {
            let text = """
                {"id": "guest", "broker": {"host": "127.0.0.1", "port": \(broker.port ?? 0)},
                 "devices": {"strap": {"address": "F0:F1:F2:F3:F4:F5", "name": "Strap",
                                       "values": ["heart-rate-measurement", "180f/2a19"]}}}
                """
            let file = broker.path("gateway.json")
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            return file
        }

        /// Returns once three different heart rates have been published from now on.
        ///
        /// The strap counts up with each measurement. When bluetoothd or the broker dies, one state may still wait for
        /// its time: of three, two were measured afterwards.
        private func untilBeats() async throws {
            try await broker.subscriber(["\(Self.device)/state"], count: 1_000_000, format: "%p", options: ["-R"]).run {
                try await $0.output.until { text in
                    let rates = text.matches(of: /"heart_rate_measurement_heart_rate":(\d+)/).map(\.output.1)
                    return Set(rates).count >= 3
                }
                $0.send(.kill)
            }
        }

        /// Expects what a subscriber finds that comes now.
        private func expectRetained() async throws {
            #expect(try await broker.read([Self.gateway], count: 1, format: "%r %p") == ["1 online"])
            try await broker.until("online", in: "\(Self.device)/availability")
            // The parts of the announcement, once all values are known.
            try await broker.until(
                #""uniq_id":"ble_f0f1f2f3f4f5_heart_rate_measurement_heart_rate","#,
                in: "homeassistant/device/ble_f0f1f2f3f4f5/config")
        }

        /// Expects the strap's battery level as the answer to a command.
        private func expectAnswer() async throws {
            let answer = try await broker.request(
                "\(Self.device)/command", #"{"id": "a", "read": "180f/2a19"}"#, answer: "answers/1")
            #expect(answer == #"{"fields":{"battery_level":87},"id":"a","ok":true,"value":"57"}"# + "\n")
        }

        @Test
        func
            `values and answers of a strap reach subscribers, before and after the deaths of bluetoothd and the broker`()
            async throws
        {
            #expect(Guest.shell("/run/bluez/peerctl reset") == 0)
            let result = try await Tool(["gateway", "--config", try configuration()]).run { gateway in
                try await gateway.errors.until("no connection to the broker")
                try await broker.run { _ in
                    try await untilBeats()
                    try await expectRetained()
                    try await expectAnswer()
                    #expect(Guest.shell("/run/bluez/kill") == 0)
                    #expect(Guest.shell("/run/bluez/start") == 0)
                    try await untilBeats()
                }
                // The broker was killed, and another one knows nothing.
                try await broker.run { mosquitto in
                    try await untilBeats()
                    try await expectRetained()
                    try await expectAnswer()
                    let last = broker.subscriber([Self.gateway], count: 2, format: "%p")
                    let states = try await last.run { _ in
                        try await mosquitto.untilSubscribed(Self.gateway)
                        gateway.send(.terminate)
                    }
                    #expect(states.output == "online\noffline\n")
                }
            }
            #expect(result.status == 0, "\(result.errors)")
            // SIGTERM leaves no link.
            #expect(Guest.shell("until [ $(/run/bluez/peerctl connections) = 0 ]; do sleep 0.1; done") == 0)
        }
    }
#endif
