internal import BLE
internal import BLESimulation
internal import Glibc
internal import Logging

/// The cost of an event of the simulated radio, up to the user's loop, in nanoseconds of processor time.
enum RadioBenchmark {
    private static let output = BluetoothUUID(0xFF01)
    private static let values = 500_000
    private static let advertisers = 10_000
    private static let interval = Duration.milliseconds(100)
    private static let rounds = 20

    @concurrent
    static func run() async throws {
        try await measureValues()
        try await measureAdvertisers()
    }

    private static func configuration(_ clock: any Clock<Duration>) -> Central.Configuration {
        Central.Configuration(clock: clock, logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Values of one peripheral.
    private static func measureValues() async throws {
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
    private static func measureAdvertisers() async throws {
        let clock = ManualClock()
        let radio = SimulatedRadio(clock: clock)
        for number in 0..<advertisers {
            _ = await radio.add(
                PeripheralDefinition(
                    advertisement: Advertisement(localName: "Beacon \(number)", rssi: -50),
                    advertisingInterval: interval, services: []))
        }
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
