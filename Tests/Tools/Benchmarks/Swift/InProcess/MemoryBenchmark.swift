internal import BLE
internal import BLESimulation
internal import Glibc
internal import Logging

/// The resident memory at first and at the end of a long run, in KiB. At first is after its first tenth, or before it.
enum MemoryBenchmark {
    private static let output = BluetoothUUID(0xFF01)

    enum Way: String {
        /// Ten minutes of a thousand values a second, for a reader that does not read.
        case stalled
        /// 100,000 peripherals with random addresses that come into range, are discovered, and leave.
        case passing
        /// An hour in which 10,000 peripherals come into range and leave: before the first, and when the last is lost.
        case hour
    }

    @concurrent
    static func run(_ way: Way) async throws {
        switch way {
        case .stalled: try await runStalled()
        case .passing: try await runPassing()
        case .hour: try await runHour()
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

    private static func runHour() async throws {
        let clock = ManualClock()
        let radio = SimulatedRadio(clock: clock)
        try await withCentral(backend: .simulated(radio), configuration: configuration(clock)) { central in
            async let count = countLost(central)
            // What a central needs once.
            await pass(100, in: 60, radio, clock)
            Memory.trim()
            let start = Memory.resident
            await pass(10_000, in: 3600, radio, clock)
            Memory.trim()
            report(.hour, start)
            await central.shutDown()
            guard await count == 10_100 else {
                print("a peripheral was not lost")
                exit(70)
            }
        }
    }

    /// Lets peripherals come into range, each for 30 s, and time pass until all are lost.
    private static func pass(_ count: Int, in seconds: Int, _ radio: SimulatedRadio, _ clock: ManualClock) async {
        var present: [(peripheral: SimulatedPeripheral, end: Int)] = []
        var number = 0
        for second in 0..<seconds + 60 {
            while number < min(count, count * (second + 1) / seconds) {
                let definition = PeripheralDefinition(
                    advertisement: Advertisement(
                        localName: "Passing \(number)", rssi: -80, manufacturerData: [0x004C: [1, 2, 3, 4]]),
                    advertisingInterval: .seconds(1), services: [])
                present.append((await radio.add(definition), second + 30))
                number += 1
            }
            while let first = present.first, first.end <= second {
                present.removeFirst()
                await first.peripheral.remove()
            }
            await clock.run(for: .seconds(1))
        }
    }

    private static func countLost(_ central: Central) async -> Int {
        var count = 0
        do {
            for try await event in central.discoveryEvents(duplicates: true) {
                if case .lost = event { count += 1 }
            }
        } catch {
            // The central was shut down.
        }
        return count
    }

    private static func report(_ way: Way, _ start: Int) {
        print("memory", way.rawValue, start / 1024, Memory.resident / 1024)
    }
}
