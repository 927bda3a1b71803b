#if DeviceCommands
    import BLE
    import BLESimulation
    import BLETestSupport
    import BlueZTestSupport
    import Foundation
    import Subprocess
    import SmartLock
    import Testing

    /// `ble devices` on a fake bluetoothd with a smart lock in range.
    @Suite(.startsProcesses, .hangLimit)
    struct DevicesCommandTests {
        private let world: BlueZWorld
        private let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)

        init() async throws {
            world = try await BlueZWorld()
            _ = await world.radio.add(SimulatedLock().definition)
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        }

        private func file(_ json: String) throws -> String {
            let url = directory.appendingPathComponent("devices.json")
            try Data(json.utf8).write(to: url)
            return url.path
        }

        private static let lock = lock(replyTimeout: Double(HangLimit.stepSeconds))

        private static func lock(replyTimeout: Double) -> String {
            """
            {
              "features": ["lock-settings", "lock-access"], "reassembles": true, "replyTimeout": \(replyTimeout),
              "connectTimeout": \(HangLimit.stepSeconds),
              "encryption": {
                "mode": "bound", "salt": "9iac7i7zikocotce9gn3ji7lztz8rltn", "info": "smartlockperipheral", "command": "0103"
              }
            }
            """
        }

        @Test func `devices of the kind are listed`() async throws {
            defer { try? FileManager.default.removeItem(at: directory) }
            _ = await world.radio.add(.heartRateStrap())
            let look = world.ble("devices", "--config", try file(Self.lock), "--duration", "0", "--json")
            let result = try await look.afterFirstLine { program in program.send(.interrupt) }
            #expect(result.status == 130)
            let found = try #require(try result.objects.first)
            #expect(Set(found.keys) == ["event", "serial", "id", "name", "rssi"])
            #expect(found["serial"] as? String == "010203040506")
            #expect(found["name"] as? String == "Simulated Lock")
        }

        @Test func `messages are sent and answered, encrypted ones with the key that is kept`() async throws {
            defer { try? FileManager.default.removeItem(at: directory) }
            let storage = directory.appendingPathComponent("keys.json").path
            let start = [
                "devices", "--config", try file(Self.lock), "--connect", "01:02:03:04:05:06", "--storage", storage,
                "--json",
            ]
            let first = try await world.ble(start + ["--pair", "--send", "0101:41 42", "--send", "0201"]).run()
            #expect(first.status == 0, "\(first.errors)")
            #expect(try first.objects.map { $0["event"] as? String } == ["connected", "paired", "reply", "reply"])
            #expect(try first.objects.first?["features"] as? [String] == ["lock-access", "lock-settings"])
            #expect(try first.objects.last?["payload"] as? String == "4142")
            let second = try await world.ble(start + ["--encrypted", "--send", "0204:01", "--send", "0104"]).run()
            #expect(second.status == 0, "\(second.errors)")
            #expect(try second.objects.last?["payload"] as? String == "01")
        }

        @Test func `what is wrong has its status`() async throws {
            defer { try? FileManager.default.removeItem(at: directory) }
            let config = try file(Self.lock)
            func status(_ arguments: String...) async throws -> Int32 {
                try await world.ble(["devices", "--config", config] + arguments).run().status
            }
            #expect(try await status("--send", "0201") == 64)
            #expect(try await status("--connect", "0102") == 64)
            #expect(try await status("--connect", "010203040506", "--send", "02") == 64)
            #expect(try await status("--connect", "010203040506", "--encrypted", "--send", "0204:01") == 23)
            let impatient = try file(Self.lock(replyTimeout: 1.25))
            // In real time: only this reply has a short limit, and the outcome is the same however slow the machine is.
            let unanswered = world.ble("devices", "--config", impatient, "--connect", "010203040506", "--send", "0999")
            #expect(try await unanswered.run().status == 124)
            #expect(try await world.ble("devices", "--config", "/nowhere").run().status == 64)
            let unknown = try file(#"{"features": ["teleport"]}"#)
            let result = try await world.ble("devices", "--config", unknown).run()
            #expect(result.status == 64)
            #expect(result.errors.contains("teleport"))
        }
    }
#endif
