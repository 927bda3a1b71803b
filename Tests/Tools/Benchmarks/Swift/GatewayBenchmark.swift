internal import BLE
internal import BLEBTHome
internal import BLEBlueZ

/// A gateway for the sensors of `fake-scan`: decodes every report to values, and checks these by the rules of `scan.h`.
enum GatewayBenchmark {
    @concurrent
    static func run(devices: Int) async throws {
        try await withCentral { central in
            var measurement = Measurement()
            var next = 0
            for try await event in central.discoveryEvents(duplicates: true) {
                guard let found = event.discovery, let report = try BTHome.decode(found.advertisement),
                    let objects = report.objects
                else { continue }
                var values: [UInt8: Double] = [:]
                for object in objects { values[object.kind.id] = object.value }
                if let total = values[0x3E] {
                    measurement.count = UInt32(next - devices)
                    return measurement.report(total: UInt32(total))
                }
                if next == devices { measurement.start() }
                let (round, number) = next.quotientAndRemainder(dividingBy: devices)
                if ScanBenchmark.number(of: found.peripheral.id) != number
                    || found.advertisement.rssi != -40 - round % 50
                    || values[0x01] != Double(100 - (number + round) % 101)
                    || values[0x02] != Double((number * 7 + round * 13) % 6000 - 2000) / 100
                    || values[0x03] != Double((number * 11 + round * 17) % 10001) / 100
                {
                    measurement.isInOrder = false
                }
                next += 1
            }
        }
    }
}

extension DiscoveryEvent {
    /// The discovery of a report or of an update.
    fileprivate var discovery: Discovery? {
        switch self {
        case .found(let discovery), .updated(let discovery): discovery
        case .lost, .waiting: nil
        }
    }
}
