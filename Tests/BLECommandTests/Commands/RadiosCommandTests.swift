import BLE
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Foundation
import Testing

@Suite(.startsProcesses, .hangLimit)
struct RadiosCommandTests {
    /// Listens for longer each time, until enough was heard: a busy machine may hear nothing within a second.
    private func listen(
        until isEnough: (Tool.Result) throws -> Bool, _ tool: ([String]) -> Tool
    ) async throws -> Tool.Result {
        var duration = 1
        while true {
            let result = try await tool(["--duration", "\(duration)"]).run()
            if try result.status != 0 || isEnough(result) || duration >= 64 { return result }
            duration *= 4
        }
    }

    private func simulated(
        _ arguments: String..., until isEnough: (Tool.Result) throws -> Bool
    ) async throws -> Tool.Result {
        try await listen(until: isEnough) { Tool(["radios"] + arguments + $0 + ["--backend", "simulated"]) }
    }

    @Test func `radios and what each hears are shown, as text and as JSON`() async throws {
        let text = try await simulated { $0.output.contains("Simulated Strap") }
        #expect(text.status == 0, "\(text.errors)")
        #expect(text.output.contains("hci0   poweredOn    yes"))
        #expect(text.output.contains("hci1   poweredOn    yes"))
        #expect(text.output.contains("Simulated Strap"))
        let result = try await simulated("--radio", "hci0", "--radio", "hci1", "--radio", "hci7", "--json") {
            $0.output.components(separatedBy: "Simulated Strap").count > 3
        }
        let objects = try result.objects
        let radios = objects.filter { $0["kind"] as? String == "radio" }
        #expect(radios.map { $0["radio"] as? String } == ["hci0", "hci1", "hci7"])
        #expect(radios.allSatisfy { $0["state"] as? String == "poweredOn" && $0["isScanning"] as? Bool == true })
        let paths = objects.filter { $0["kind"] as? String == "path" && $0["name"] as? String == "Simulated Strap" }
        #expect(paths.map { $0["rank"] as? Int } == [1, 2, 3])
        #expect(Set(paths.compactMap { $0["radio"] as? String }) == ["hci0", "hci1", "hci7"])
        #expect(paths.allSatisfy { $0["rssi"] is Int && $0["ageSeconds"] is Double && $0["obstacle"] is NSNull })
    }

    @Test func `without radios, all adapters of bluetoothd are used, and one alone, too`() async throws {
        let world = try await BlueZWorld(minorVersion: 82)
        let battery = await world.radio.add(.battery())
        func listen(count: Int) async throws -> Tool.Result {
            try await self.listen(until: { try $0.objects.count >= count }) {
                world.ble(["radios", battery.id.rawValue, "--json"] + $0)
            }
        }
        let one = try await listen(count: 2)
        #expect(try one.objects.compactMap { $0["radio"] as? String } == ["hci0", "hci0"], "\(one.errors)")
        await world.daemon.addAdapter("hci1")
        let two = try await listen(count: 4)
        #expect(try two.objects.count == 4)
        #expect(try Set(two.objects.compactMap { $0["radio"] as? String }) == ["hci0", "hci1"])
    }

    @Test func `the note of a radio that is missing is the reason`() async throws {
        let world = try await BlueZWorld()
        let arguments = ["radios", "--radio", "hci0", "--radio", "hci7", "--duration", "0.1"]
        let text = try await world.ble(arguments).run()
        #expect(text.status == 0, "\(text.errors)")
        #expect(text.output.contains(/hci7 +unavailable +no .*  there is no adapter hci7/), "\(text.output)")
        let objects = try await world.ble(arguments + ["--json"]).run().objects
        #expect(objects.first?["reason"] is NSNull)
        #expect(objects.first { $0["radio"] as? String == "hci7" }?["reason"] as? String == "there is no adapter hci7")
    }

    @Test(
        arguments: [
            (["--radio", "hci0", "--adapter", "hci0"], 64), (["--radio", "hci0", "--radio", "hci0"], 64),
            (["--record", "/tmp/x"], 64), (["--radio", "esphome://127.0.0.1:1?key-file=/does/not/exist"], 64),
            (["nonsense"], 64), (["--duration", "0"], 64), (["--find"], 64),
        ] as [([String], Int32)])
    func `what cannot be is refused`(_ arguments: [String], _ status: Int32) async throws {
        let result = try await Tool(["radios"] + arguments + ["--backend", "simulated"]).run()
        #expect(result.status == status, "\(result.errors)")
    }

    #if DeviceCommands
        @Test func `the devices of the network are listed, whatever their names`() async throws {
            let world = try await BlueZWorld()
            let none = try await world.ble("radios", "--find").run()
            #expect(none.status == 17)
            #expect(none.errors.contains("Avahi does not run"), "\(none.errors)")
            let avahi = try await FakeAvahi(
                world.bus,
                services: [
                    .init("attic", at: "10.0.0.7", ["mac=aabbccddeeff", "version=2026.11.0", "api_encryption=x"]),
                    .init("evil\u{1B}[31m", at: "10.0.0.8", port: 7000, []),
                ])
            func find(_ arguments: String...) async throws -> Tool.Result {
                try await listen(until: { $0.output.contains("10.0.0.7") && $0.output.contains("10.0.0.8") }) {
                    world.ble(["radios", "--find"] + arguments + $0)
                }
            }
            let text = try await find()
            #expect(text.status == 0, "\(text.errors)")
            #expect(text.output.contains(/attic +10\.0\.0\.7 +6053  AA:BB:CC:DD:EE:FF  yes  2026\.11\.0/))
            #expect(!text.output.contains("\u{1B}"))
            let objects = try await find("--json").objects
            #expect(objects.map { $0["name"] as? String } == ["attic", "evil\u{1B}[31m"])
            #expect(objects.map { $0["isEncrypted"] as? Bool } == [true, false])
            #expect(objects.map { $0["port"] as? Int } == [6053, 7000])
            await avahi.stop()
        }
    #endif

    @Test func `other commands use several radios, and a host does not`() async throws {
        let arguments = ["--radio", "hci0", "--radio", "hci1", "--backend", "simulated"]
        let read = try await Tool(["read", "Simulated Strap", "battery-level"] + arguments).run()
        #expect(read.status == 0, "\(read.errors)")
        #expect(read.output.contains("90 %"))
        #expect(try await Tool(["advertise", "--name", "x"] + arguments).run().status == 64)
    }
}
