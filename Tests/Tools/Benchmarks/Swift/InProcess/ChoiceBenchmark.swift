internal import BLE
internal import BLESimulation
internal import Glibc
internal import Logging

/// The cost of an advertisement that one of several radios of a central receives, up to the user's loop, in nanoseconds
/// of processor time. The simulated radio is part of it.
enum ChoiceBenchmark {
    private static let interval = Duration.milliseconds(100)

    /// With a backend and with one radio, which are the same, and with five.
    @concurrent
    static func run() async throws {
        // What the first run does once does not count.
        _ = try await measure(radios: 5, peripherals: 10, rounds: 1000)
        for peripherals in [10, 1000] {
            for radios in [0, 1, 5] {
                let rounds = 400_000 / peripherals / max(1, radios)
                let cost = try await measure(radios: radios, peripherals: peripherals, rounds: rounds)
                print("choice", radios, peripherals, (cost * 10).rounded() / 10)
            }
        }
    }

    /// Without a result, for instructions.
    @concurrent
    static func run(radios: Int, peripherals: Int, rounds: Int) async throws {
        _ = try await measure(radios: radios, peripherals: peripherals, rounds: rounds)
        print("complete")
    }

    /// - Parameters:
    ///   - radios: the number of radios; 0 for a central that is created with a backend.
    ///   - rounds: the number of advertisements of each peripheral, each of which all radios receive.
    private static func measure(radios: Int, peripherals: Int, rounds: Int) async throws -> Double {
        let clock = ManualClock()
        let radio = SimulatedRadio(clock: clock)
        for number in 0..<peripherals {
            _ = await radio.add(
                PeripheralDefinition(
                    advertisement: Advertisement(localName: "Beacon \(number)", rssi: -50),
                    advertisingInterval: interval, services: []))
        }
        for number in 1..<max(2, radios) { await radio.addAdapter("hci\(number)") }
        let configuration = Central.Configuration(
            clock: clock, logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() })
        let central =
            if radios == 0 {
                try await Central(backend: .simulated(radio, adapter: "hci0"), configuration: configuration)
            } else {
                try await Central(
                    radios: (0..<radios).map { .simulated(radio, adapter: "hci\($0)") }, configuration: configuration)
            }
        let cost = try await withTaskExecutorPreference(SimulatedBackend.simulated(radio).taskExecutor) {
            try await receive(central, clock, radios: radios, peripherals: peripherals, rounds: rounds)
        }
        await central.shutDown()
        return cost
    }

    private nonisolated static func receive(
        _ central: Central, _ clock: ManualClock, radios: Int, peripherals: Int, rounds: Int
    ) async throws -> Double {
        let events = central.discoveryEvents(duplicates: true, overflow: .fail(capacity: 1 << 16))
        var iterator = events.makeAsyncIterator()
        // The scan discovers all of them at once. From then on, time passes.
        for _ in 0..<peripherals { _ = try await iterator.next() }
        let start = Measurement.cpuTime
        for _ in 0..<rounds {
            clock.advance(by: interval)
            for _ in 0..<peripherals { _ = try await iterator.next() }
        }
        return (Measurement.cpuTime - start) * 1000 / Double(max(1, radios) * peripherals * rounds)
    }
}
