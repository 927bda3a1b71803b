import BLE
import BLESimulation
import BlueZTestSupport
import Foundation
import Testing

/// `ble pair` and `ble unpair`, with a fake bluetoothd and answers on standard input.
@Suite(.timeLimit(.minutes(1)))
struct PairCommandTests {
    private struct World {
        let bus: PrivateBus
        let daemon: FakeBlueZ
        let lock: SimulatedPeripheral

        init(_ method: PairingMethod) async throws {
            bus = try PrivateBus()
            let radio = SimulatedRadio()
            lock = await radio.add(
                PeripheralDefinition(
                    advertisement: Advertisement(localName: "Lock", rssi: -40),
                    services: [
                        ServiceDefinition(
                            BluetoothUUID(0xFF00),
                            characteristics: [
                                CharacteristicDefinition(
                                    BluetoothUUID(0xFF01), .read, security: .encrypted, value: [1])
                            ])
                    ], pairing: method))
            daemon = FakeBlueZ(address: bus.address, radio: radio)
            try await daemon.start()
        }

        func ble(_ arguments: String..., input: String? = nil) async throws -> Tool.Result {
            try await Tool(arguments + ["--bus", bus.address, "--timeout", "5"], input: input).run()
        }
    }

    @Test func `what just works asks nothing`() async throws {
        let world = try await World(.justWorks)
        let result = try await world.ble("pair", "Lock", "--json")
        #expect(result.status == 0)
        let object = try #require(try result.objects.first)
        #expect(Set(object.keys) == ["id", "identity", "paired", "trusted"])
        #expect(object["paired"] as? Bool == true)
        #expect(object["trusted"] as? Bool == false)
        #expect(await world.lock.isPaired)
        #expect(await world.lock.isConnected == false)
        #expect(try await world.ble("read", "Lock", "ff01").output == "01\n")
    }

    @Test func `a number is asked for until it is one, and must be right`() async throws {
        let world = try await World(.display(Passkey(42)!))
        let wrong = try await world.ble("pair", "Lock", input: "123456\n")
        #expect(wrong.status == 21)
        #expect(wrong.errors.contains("The number that \(world.lock.id) shows"))
        let right = try await world.ble("pair", "Lock", "--trust", "--json", input: "none\n000 042\n")
        #expect(right.status == 0)
        #expect(right.errors.contains("not a number"))
        #expect(try right.objects.first?["trusted"] as? Bool == true)
        #expect(await world.lock.isPaired)
    }

    @Test func `the end of the input refuses`() async throws {
        let world = try await World(.comparison { _ in true })
        #expect(try await world.ble("pair", "Lock").status == 21)
        #expect(try await world.ble("pair", "Lock", input: "n\n").status == 21)
        #expect(await world.lock.isPaired == false)
        let result = try await world.ble("pair", "Lock", input: "y\n")
        #expect(result.status == 0)
        #expect(result.errors.contains("Does \(world.lock.id) show"))
    }

    @Test func `yes answers what yes can answer`() async throws {
        let comparison = try await World(.comparison { _ in true })
        #expect(try await comparison.ble("pair", "Lock", "--yes").status == 0)
        let display = try await World(.display(Passkey(42)!))
        #expect(try await display.ble("pair", "Lock", "--yes").status == 21)
    }

    @Test func `a number to be entered there is shown`() async throws {
        let world = try await World(.keyboard { $0 })
        let result = try await world.ble("pair", "Lock", "--capability", "display-only")
        #expect(result.status == 0)
        #expect(result.errors.contains("on \(world.lock.id)."))
    }

    @Test func `capability decides what happens`() async throws {
        let world = try await World(.comparison { _ in false })
        #expect(try await world.ble("pair", "Lock", "--yes").status == 21)
        #expect(try await world.ble("pair", "Lock", "--capability", "NoInputNoOutput").status == 0)
    }

    @Test func `a bond that is there ends with 22, a peripheral that refuses with 21, a silent one with 124`()
        async throws
    {
        let world = try await World(.justWorks)
        #expect(try await world.ble("pair", "Lock").status == 0)
        #expect(try await world.ble("pair", "Lock").status == 22)
        let refusing = try await World(.rejected)
        #expect(try await refusing.ble("pair", "Lock").status == 21)
        let silent = try await World(.unanswered)
        #expect(try await silent.ble("pair", "Lock", "--pairing-timeout", "1").status == 124)
        #expect(await silent.lock.isConnected == false)
    }

    @Test func `an interrupt ends the pairing and leaves no link`() async throws {
        let world = try await World(.unanswered)
        let tool = Tool(["pair", "Lock", "--bus", world.bus.address, "--timeout", "5"])
        let result = try await tool.run(meanwhile: { process in
            while await !world.lock.isPairing { await Task.yield() }
            kill(process.processIdentifier, SIGINT)
        })
        #expect(result.status == 130)
        #expect(await world.lock.isConnected == false)
        #expect(await world.lock.isPaired == false)
    }

    @Test func `unpair removes the bond, and finds none to be no error`() async throws {
        let world = try await World(.justWorks)
        #expect(try await world.ble("pair", "Lock").status == 0)
        let removed = try await world.ble("unpair", "Lock", "--json")
        #expect(removed.status == 0)
        #expect(try removed.objects.first?["wasPaired"] as? Bool == true)
        #expect(await world.lock.isPaired == false)
        let again = try await world.ble("unpair", "Lock", "--json")
        #expect(again.status == 0)
        #expect(try again.objects.first?["wasPaired"] as? Bool == false)
    }

    @Test(arguments: [
        ["pair", "X", "--capability", "psychic"], ["pair", "X", "--pairing-timeout", "0"], ["pair"], ["unpair"],
    ])
    func `a command line that makes no sense ends with 64`(_ arguments: [String]) async throws {
        #expect(try await Tool(arguments).run().status == 64)
    }
}
