import BLE
import BLEBeacons
import BLEProfiles
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Subprocess
import Testing

/// `serve` and `advertise`, heard and used by a central of the radio.
@Suite(.startsProcesses, .hangLimit)
struct ServeCommandTests {
    private let world: BlueZWorld

    init() async throws { world = try await BlueZWorld() }

    private func withCentral(_ check: (Central) async throws -> Void) async throws {
        let central = try await Central(backend: .simulated(world.radio), configuration: .quiet())
        do {
            try await check(central)
            await central.shutDown()
        } catch {
            await central.shutDown()
            throw error
        }
    }

    @Test func `serve shows what centrals do, and leaves nothing behind`() async throws {
        let result = try await world.ble("serve", "strap", "--name", "Ours", "--json").afterFirstLine { program in
            try await withCentral { central in
                let strap = try await central.first(matching: .name("Ours"), timeout: .seconds(60)).peripheral
                var beats = try await HeartRate(strap).measurements().makeAsyncIterator()
                let beat = try await beats.next()
                #expect(beat?.beatsPerMinute ?? 0 > 0)
            }
            try await program.output.until("\"disconnected\"")
            program.send(.interrupt)
        }
        #expect(result.status == 130)
        let events = try result.objects.compactMap { $0["event"] as? String }
        #expect(events.first == "advertising")
        #expect(events.contains("subscribed"))
        #expect(events.contains("unsubscribed"))
        let (applications, advertisements) = await world.daemon.servedCounts
        #expect(applications == 0)
        #expect(advertisements == 0)
    }

    @Test func `serve sets the values that its input gives`() async throws {
        let tool = world.ble("serve", "battery", input: "battery-level 32\nnonsense\n2a19 zz\n2a37 00\n")
        let result = try await tool.afterFirstLine { program in
            try await program.errors.until("no characteristic 2a37")
            try await withCentral { central in
                let battery = try await central.first(matching: .service(.battery), timeout: .seconds(60)).peripheral
                let level = try await battery.read(.batteryLevel)
                #expect(level == 0x32)
            }
            program.send(.terminate)
        }
        #expect(result.status == 143)
        #expect(result.errors.contains("hexadecimal: nonsense"))
        #expect(result.errors.contains("hexadecimal: 2a19 zz"))
    }

    @Test func `serve goes on after bluetoothd has died`() async throws {
        let result = try await world.ble("serve", "battery").afterFirstLine { program in
            await world.daemon.kill()
            try await world.daemon.start()
            try await program.output.until("served again")
            try await program.output.until("advertising", after: "served again")
            program.send(.interrupt)
        }
        #expect(result.output.contains("not served now"))
    }

    @Test func `advertise shows the budget, and is heard as what it says`() async throws {
        let beacon = "e2c56db5-dffb-48d2-b060-d0f5a71096e0"
        let result = try await world.ble("advertise", "--ibeacon", "\(beacon),1,61442,-59").afterFirstLine { program in
            try await withCentral { central in
                let found = try await central.first(matching: .custom { _ in true }, timeout: .seconds(60))
                let heard = try IBeacon.decode(found.advertisement)
                #expect(heard == IBeacon(uuid: BluetoothUUID(beacon)!, major: 1, minor: 61442, measuredPower: -59))
                #expect(found.advertisement.isConnectable == false)
            }
            program.send(.interrupt)
        }
        #expect(result.errors.contains("manufacturer data 004c  27"))
    }

    @Test func `what cannot be advertised is told before anything starts`() async throws {
        for arguments in [
            ["--name", "This name is longer than 29 bytes"], ["--ibeacon", "1,2"], ["--seconds", "0"],
            ["--manufacturer", "ffff"], ["--eddystone-url", "not a url"],
        ] {
            let result = try await world.ble(["advertise"] + arguments).run()
            #expect(result.status == 64, "\(arguments): \(result.errors)")
        }
        #expect(await world.daemon.calls["RegisterAdvertisement"] == nil)
    }
}
