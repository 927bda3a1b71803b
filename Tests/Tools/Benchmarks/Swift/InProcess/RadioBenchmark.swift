internal import BLE
internal import BLESimulation
internal import Glibc
internal import Logging
internal import Synchronization

/// The cost of an event of the simulated radio, up to the user's loop, in nanoseconds of processor time.
enum RadioBenchmark {
    private static let output = BluetoothUUID(0xFF01)
    private static let advertisers = 10_000
    private static let interval = Duration.milliseconds(100)

    /// - Parameters:
    ///   - values: the number of values of one peripheral.
    ///   - rounds: the number of advertisements of each of many peripherals.
    @concurrent
    static func run(values: Int = 500_000, rounds: Int = 20) async throws {
        if values > 0 { try await measure(values: values) }
        if rounds > 0 { try await measure(rounds: rounds) }
    }

    /// The virtual seconds for each second of processor time, while 10,000 peripherals advertise every second.
    ///
    /// - Parameter seconds: the virtual time.
    @concurrent
    static func runCrowd(seconds: Int = 30) async throws {
        for seed in [nil, 1] as [UInt64?] {
            let clock = ManualClock()
            let radio = try await crowd(clock, interval: .seconds(1))
            await radio.setAdvertisingDelays(seed: seed)
            try await withCentral(backend: .simulated(radio), configuration: configuration(clock)) { central in
                let count = Counter()
                await radio.run {
                    async let scan: Void = {
                        let events = central.discoveryEvents(duplicates: true, overflow: .fail(capacity: 1 << 20))
                        for try await _ in events { count.number.withLock { $0 += 1 } }
                    }()
                    await clock.run(for: .milliseconds(500))
                    let (start, before) = (Measurement.cpuTime, count.number.withLock { $0 })
                    await clock.run(for: .seconds(seconds))
                    let cpu = Measurement.cpuTime - start
                    let received = count.number.withLock { $0 } - before
                    // The random delays make each interval 5 ms longer.
                    guard received > seconds * advertisers * 98 / 100 else {
                        print("\(received) advertisements are too few")
                        exit(70)
                    }
                    let name = seed == nil ? "aligned" : "delayed"
                    print("crowd", name, (cpu / 1000 / Double(seconds) * 100).rounded() / 100)
                    await central.shutDown()
                    try? await scan
                }
            }
        }
    }

    private final class Counter: Sendable {
        let number = Mutex(0)
    }

    private static func crowd(_ clock: ManualClock, interval: Duration) async throws -> SimulatedRadio {
        let radio = SimulatedRadio(clock: clock)
        for number in 0..<advertisers {
            _ = await radio.add(
                PeripheralDefinition(
                    advertisement: Advertisement(localName: "Beacon \(number)", rssi: -50),
                    advertisingInterval: interval, services: []))
        }
        return radio
    }

    private static func configuration(_ clock: any Clock<Duration>) -> Central.Configuration {
        Central.Configuration(clock: clock, logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Values of one peripheral.
    private static func measure(values: Int) async throws {
        let radio = SimulatedRadio()
        let device = await radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFF00), characteristics: [CharacteristicDefinition(output, .notify)])
                ]))
        try await withCentral(backend: .simulated(radio), configuration: configuration(ContinuousClock())) { central in
            for try await _ in central.discoveries() { break }
            let stream = try await central.peripheral(device.id).notifications(
                Characteristic<[UInt8]>(output), overflow: .fail(capacity: values))
            let start = Measurement.cpuTime
            for _ in 0..<values { await device.notify([1, 2, 3, 4], from: output) }
            var received = 0
            for try await _ in stream {
                received += 1
                if received == values { break }
            }
            report("events", start, values)
        }
    }

    /// Advertisements of 10,000 peripherals, in virtual time.
    private static func measure(rounds: Int) async throws {
        let clock = ManualClock()
        let radio = try await crowd(clock, interval: interval)
        try await withCentral(backend: .simulated(radio), configuration: configuration(clock)) { central in
            let events = central.discoveryEvents(duplicates: true, overflow: .fail(capacity: 1 << 20))
            var iterator = events.makeAsyncIterator()
            // A new scan discovers all of them at once. From then on, time passes.
            for _ in 0..<advertisers { _ = try await iterator.next() }
            let start = Measurement.cpuTime
            for _ in 0..<rounds {
                clock.advance(by: interval)
                for _ in 0..<advertisers { _ = try await iterator.next() }
            }
            report("advertisers", start, rounds * advertisers)
        }
    }

    private static func report(_ name: String, _ start: Double, _ count: Int) {
        let cost = (Measurement.cpuTime - start) * 1000 / Double(count)
        print("radio", name, (cost * 10).rounded() / 10)
    }
}
