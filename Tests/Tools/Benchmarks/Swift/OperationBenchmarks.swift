internal import BLE
internal import BLEBlueZ
internal import Synchronization

/// Writes packets without response to `fake-sockets`, over a socket of its own.
enum WriteBenchmark {
    @concurrent
    static func run(_ place: Benchmarks.Place, count: UInt32) async throws {
        try await Benchmarks.withCentral(place) { central in
            let peripheral = central.peripheral(Benchmarks.peripheral)
            let writer = try await peripheral.packetWriter(to: Characteristic<[UInt8]>(BluetoothUUID(0xFF02)))
            var measurement = Measurement()
            measurement.start()
            var packet = [UInt8](repeating: 0x5A, count: 20)
            for number in 0..<count {
                for index in 0..<4 { packet[index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
                try await writer.write(packet)
            }
            // The answer comes when all packets have arrived: the number of those that came in order.
            let arrived = try await peripheral.read(Characteristic<[UInt8]>(BluetoothUUID(0xFF03)))
            measurement.count = count
            measurement.report(total: Measurement.uint32(arrived, at: 0))
        }
    }
}

/// Reads characteristics of `fake-bluez`, each by one reader at a time.
enum ReadBenchmark {
    /// - Parameter parallel: how many reads are under way at a time.
    @concurrent
    static func run(_ place: Benchmarks.Place, _ count: Int, parallel: Int) async throws {
        try await Benchmarks.withCentral(place) { central in
            let peripheral = central.peripheral(Benchmarks.peripheral)
            _ = try await peripheral.services()
            var measurement = Measurement()
            measurement.start()
            try await withThrowingTaskGroup { group in
                for reader in 0..<parallel {
                    // 0xFF21 to 0xFF35.
                    let number = UInt32(0xFF20 + reader / 10 * 16 + reader % 10)
                    let characteristic = Characteristic<[UInt8]>(BluetoothUUID(reader == 0 ? 0x2A37 : number))
                    group.addTask {
                        for _ in 0..<count / parallel + (reader < count % parallel ? 1 : 0) {
                            guard try await peripheral.read(characteristic).count == 20 else {
                                throw CancellationError()
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            measurement.count = UInt32(count)
            measurement.report(total: UInt32(count))
        }
    }
}

/// Measures how long each read of a characteristic of `fake-busy` takes, while the same program scans or does not.
enum BesideBenchmark {
    /// - Parameter devices: how many devices the scan has to have found before the first read; 0 for no scan.
    @concurrent
    static func run(_ place: Benchmarks.Place, _ count: Int, devices: Int) async throws {
        try await Benchmarks.withCentral(place) { central in
            let peripheral = central.peripheral(Benchmarks.peripheral)
            _ = try await peripheral.services()
            let changes = Counter()
            try await withThrowingTaskGroup { group in
                if devices > 0 {
                    let (found, allFound) = AsyncStream.makeStream(of: Void.self)
                    group.addTask { try await scan(central, devices, changes) { allFound.finish() } }
                    for await _ in found {}
                }
                let before = changes.value
                var measurement = Measurement()
                measurement.latencies = []
                measurement.start()
                let characteristic = Characteristic<[UInt8]>(BluetoothUUID(0x2A37))
                for _ in 0..<count {
                    let start = ContinuousClock.now
                    guard try await peripheral.read(characteristic).count == 20 else { throw CancellationError() }
                    measurement.latencies?.append((ContinuousClock.now - start) / .microseconds(1))
                    measurement.count += 1
                }
                // Whether there was a scan beside them.
                measurement.isInOrder = devices == 0 || changes.value > before
                measurement.report(total: UInt32(count))
                group.cancelAll()
            }
        }
    }

    /// Counts the changes of a scan, and calls `allFound` when it has found that many devices.
    private nonisolated static func scan(
        _ central: Central, _ devices: Int, _ changes: Counter, allFound: @Sendable () -> Void
    ) async throws {
        var found = 0
        for try await event in central.discoveryEvents(duplicates: true) {
            switch event {
            case .found:
                found += 1
                if found == devices { allFound() }
            case .updated: changes.add()
            case .lost, .waiting: break
            }
        }
    }

    private final class Counter: Sendable {
        private let count = Atomic<Int>(0)

        var value: Int { count.load(ordering: .relaxed) }

        func add() { count.add(1, ordering: .relaxed) }
    }
}
