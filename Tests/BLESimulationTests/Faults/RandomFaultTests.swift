import BLE
import BLESimulation
import BLETestSupport
import Testing

/// The random plan: `disturb(_:seed:)`.
@Suite(.hangLimit) struct RandomFaultTests {
    private static let level = Characteristic<UInt8>(BluetoothUUID(0xFF01), service: BluetoothUUID(0xFF00))

    private static let definition = PeripheralDefinition(
        address: "C0:00:00:00:00:77", advertisement: Advertisement(localName: "Tank", rssi: -50),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFF00),
                characteristics: [CharacteristicDefinition(level.uuid, .read, value: [7])])
        ])

    /// What a hundred reads meet with.
    private struct Course: Equatable {
        /// The effects of the faults, in their order.
        var effects: [String] = []
        /// How each read ends.
        var reads: [String] = []
        var faultCount = 0
    }

    private func course(_ probability: Double, seed: UInt64) async throws -> Course {
        let log = LogRecords()
        let world = try await SimulatedWorld(log: log)
        let (peripheral, device) = try await world.add(Self.definition)
        let faults = await device.disturb([.read: probability], seed: seed)
        var course = Course()
        course.reads = try await world.run {
            var reads: [String] = []
            for _ in 0..<100 {
                try await peripheral.connect()
                async let read = Result { try await peripheral.read(Self.level) }
                await world.clock.run(for: .seconds(6))
                let result = await read
                reads.append((result.failure as? BLEError).map { "\($0.code)" } ?? "read")
            }
            return reads
        }
        course.effects = log.metadata(of: "simulated disturbance").compactMap { $0["effect"] }
        course.faultCount = try #require(await faults[.read]?.count)
        await world.central.shutDown()
        return course
    }

    @Test func `events are delayed, fail, and lose their links before and after, as often as was asked`() async throws {
        let course = try await course(0.5, seed: 7)
        #expect((35...65).contains(course.effects.count))
        #expect(course.faultCount == course.effects.count)
        let kinds = Set(course.effects.map { $0.hasPrefix("delay") ? "delay" : $0 })
        #expect(kinds == ["delay", "fail(attributeError)", "dropLink(before)", "dropLink(after)"])
        let delays = Set(course.effects.filter { $0.hasPrefix("delay") })
        #expect(delays.count > 5)
        let losses = course.effects.count { $0.hasPrefix("dropLink") }
        #expect(course.reads.count { $0 == "disconnected" } == losses)
        #expect(course.reads.count { $0 == "attributeError" } == course.effects.count { $0.hasPrefix("fail") })
        #expect(course.reads.count { $0 == "read" } == 100 - losses - course.effects.count { $0.hasPrefix("fail") })
    }

    @Test func `the same seed has the same faults, and another one has others`() async throws {
        let first = try await course(0.3, seed: 1)
        #expect(try await course(0.3, seed: 1) == first)
        #expect(try await course(0.3, seed: 2).effects != first.effects)
    }

    @Test func `with a probability of nothing, nothing is disturbed, and with 1, everything is`() async throws {
        #expect(try await course(0, seed: 1).effects == [])
        #expect(try await course(1, seed: 1).effects.count == 100)
    }
}
