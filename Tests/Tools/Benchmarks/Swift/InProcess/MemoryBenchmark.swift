internal import BLE
internal import BLESimulation
internal import Glibc
internal import Logging

/// The resident memory after the first tenth of a long run, and at its end, in KiB.
enum MemoryBenchmark {
    private static let output = BluetoothUUID(0xFF01)

    enum Way: String {
        /// Ten minutes of a thousand values a second, for a reader that does not read.
        case stalled
        /// 100,000 peripherals with random addresses that come into range, are discovered, and leave.
        case passing
    }

    @concurrent
    static func run(_ way: Way) async throws {
        switch way {
        case .stalled: try await runStalled()
        case .passing: try await runPassing()
        }
    }

    private static func configuration(_ clock: any Clock<Duration>) -> Central.Configuration {
        Central.Configuration(clock: clock, logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() })
    }

    private static func runStalled() async throws {
        let count = 600_000
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
            let stream = try await central.peripheral(device.id).notifications(Characteristic<[UInt8]>(output))
            var start = 0
            for number in 0..<count {
                if number == count / 10 { start = Memory.resident }
                await device.notify([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 20), from: output)
            }
            report(.stalled, start)
            // At the end, the newest values can still be read.
            for try await _ in stream { break }
        }
    }

    private static func runPassing() async throws {
        let count = 100_000
        let clock = ManualClock()
        let radio = SimulatedRadio(clock: clock)
        try await withCentral(backend: .simulated(radio), configuration: configuration(clock)) { central in
            var events = central.discoveryEvents(duplicates: true).makeAsyncIterator()
            var start = 0
            for number in 0..<count {
                if number == count / 10 { start = Memory.resident }
                let device = await radio.add(
                    PeripheralDefinition(
                        advertisement: Advertisement(
                            localName: "Passing \(number)", rssi: -80, manufacturerData: [0x004C: [1, 2, 3, 4]]),
                        services: []))
                while let event = try await events.next() { if case .found = event { break } }
                await device.remove()
                // Silent for longer than the scan's limit, which it checks every second.
                await clock.sleepers(for: .seconds(1))
                clock.advance(by: .seconds(9))
                while let event = try await events.next() { if case .lost = event { break } }
            }
            report(.passing, start)
        }
    }

    private static func report(_ way: Way, _ start: Int) {
        print("memory", way.rawValue, start / 1024, Memory.resident / 1024)
    }
}
