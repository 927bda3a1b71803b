import BLE
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// `ble pair` and `ble unpair`, with a fake bluetoothd and answers on standard input.
@Suite(.startsProcesses, .hangLimit)
struct PairCommandTests {
    /// A bus, and a lock behind its daemon.
    private func makeWorld(_ method: SimulatedPairing) async throws -> (world: BlueZWorld, lock: SimulatedPeripheral) {
        let world = try await BlueZWorld()
        return (world, await world.radio.add(.lock(), pairing: method))
    }

    @Test func `what just works asks nothing`() async throws {
        let (world, lock) = try await makeWorld(.justWorks)
        let result = try await world.ble("pair", "Lock", "--json").run()
        #expect(result.status == 0)
        let object = try #require(try result.objects.first)
        #expect(Set(object.keys) == ["id", "identity", "paired", "trusted"])
        #expect(object["paired"] as? Bool == true)
        #expect(object["trusted"] as? Bool == false)
        #expect(await lock.isPaired)
        #expect(await lock.isConnected == false)
        #expect(try await world.ble("read", "Lock", "ff01").run().output == "01\n")
    }

    @Test func `a number is asked for until it is one, and must be right`() async throws {
        let (world, lock) = try await makeWorld(.display(Passkey(42)!))
        let wrong = try await world.ble("pair", "Lock", input: "123456\n").run()
        #expect(wrong.status == 21)
        #expect(wrong.errors.contains("The number that \(lock.id) shows"))
        let right = try await world.ble("pair", "Lock", "--trust", "--json", input: "none\n000 042\n").run()
        #expect(right.status == 0)
        #expect(right.errors.contains("not a number"))
        #expect(try right.objects.first?["trusted"] as? Bool == true)
        #expect(await lock.isPaired)
    }

    @Test func `the end of the input refuses`() async throws {
        let (world, lock) = try await makeWorld(.comparison { _ in true })
        let ended = try await world.ble("pair", "Lock").run()
        #expect(ended.status == 21)
        #expect(ended.errors.contains("the input ended"))
        #expect(!ended.errors.contains("--capability"))
        #expect(try await world.ble("pair", "Lock", input: "n\n").run().status == 21)
        #expect(await lock.isPaired == false)
        let result = try await world.ble("pair", "Lock", input: "y\n").run()
        #expect(result.status == 0)
        #expect(result.errors.contains("Does \(lock.id) show"))
    }

    @Test func `yes answers what yes can answer`() async throws {
        let (comparison, _) = try await makeWorld(.comparison { _ in true })
        #expect(try await comparison.ble("pair", "Lock", "--yes").run().status == 0)
        let (display, _) = try await makeWorld(.display(Passkey(42)!))
        #expect(try await display.ble("pair", "Lock", "--yes").run().status == 21)
    }

    @Test func `a number to be entered there is shown`() async throws {
        let (world, lock) = try await makeWorld(.keyboard { $0 })
        let result = try await world.ble("pair", "Lock", "--capability", "display-only").run()
        #expect(result.status == 0)
        #expect(result.errors.contains("on \(lock.id)."))
    }

    @Test func `capability decides what happens`() async throws {
        let (world, _) = try await makeWorld(.comparison { _ in false })
        #expect(try await world.ble("pair", "Lock", "--yes").run().status == 21)
        #expect(try await world.ble("pair", "Lock", "--capability", "NoInputNoOutput").run().status == 0)
    }

    @Test func `a bond that is there ends with 22, a peripheral that refuses with 21, a silent one with 124`()
        async throws
    {
        let (world, _) = try await makeWorld(.justWorks)
        #expect(try await world.ble("pair", "Lock").run().status == 0)
        #expect(try await world.ble("pair", "Lock").run().status == 22)
        let (refusing, _) = try await makeWorld(.rejected)
        #expect(try await refusing.ble("pair", "Lock").run().status == 21)
        let (silent, lock) = try await makeWorld(.unanswered)
        let tool = silent.ble("pair", "Lock", "--pairing-timeout", "1.25", time: .virtual)
        let result = try await tool.run { program in
            try await program.until { await lock.isPairing }
            try await program.pass(.seconds(1.25))
        }
        #expect(result.status == 124)
        #expect(await lock.isConnected == false)
    }

    @Test func `an interrupt ends the pairing and leaves no link`() async throws {
        let (world, lock) = try await makeWorld(.unanswered)
        let tool = world.ble("pair", "Lock")
        let result = try await tool.run { program in
            try await program.until { await lock.isPairing }
            program.send(.interrupt)
        }
        #expect(result.status == 130)
        #expect(await lock.isConnected == false)
        #expect(await lock.isPaired == false)
    }

    @Test func `unpair removes the bond, and finds none to be no error`() async throws {
        let (world, lock) = try await makeWorld(.justWorks)
        #expect(try await world.ble("pair", "Lock").run().status == 0)
        let removed = try await world.ble("unpair", "Lock", "--json").run()
        #expect(removed.status == 0)
        #expect(try removed.objects.first?["wasPaired"] as? Bool == true)
        #expect(await lock.isPaired == false)
        let again = try await world.ble("unpair", "Lock", "--json").run()
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
