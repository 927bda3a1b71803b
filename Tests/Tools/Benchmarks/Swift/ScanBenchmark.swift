internal import BLE
internal import Glibc

/// Scans on the bus at `DBUS_SYSTEM_BUS_ADDRESS`, whose fake bluetoothd announces devices and changes them as described
/// in `scan.h`.
enum ScanBenchmark {
    /// The way in which the scan is read.
    enum Way: String {
        /// All devices, in `withCentral`.
        case scope
        /// Only devices with the Heart Rate service, in `withCentral`.
        case matching
        /// All devices, on the global executor.
        case stream
    }

    /// Reads the scan with code as users write it, up to the marker. `devices` is the number of devices in range.
    @concurrent
    static func run(_ way: Way, _ devices: Int) async throws {
        try await Benchmarks.withCentral(way == .stream ? .stream : .scope) { central in
            if way == .matching {
                let heartRate = DiscoveryCriteria.service(BluetoothUUID(0x180D))
                try await receive(central, heartRate, ScanMeasurement(devices: devices, stride: 10))
            } else {
                try await receive(central, .any, ScanMeasurement(devices: devices))
            }
        }
    }

    /// Reads `count` scans of 1000 devices at the same time.
    @concurrent
    static func runScanners(_ count: Int) async throws {
        try await Benchmarks.withCentral(.scope) { central in
            try await withThrowingTaskGroup { group in
                for number in 0..<count {
                    // One of them measures the process.
                    group.addTask {
                        var measurement = ScanMeasurement(devices: 1000)
                        measurement.isSilent = number > 0
                        try await receive(central, .any, measurement)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// The last two bytes of an address such as `F0:F1:F2:F3:F4:F5`.
    static func number(of id: Peripheral.ID) -> Int {
        id.rawValue.utf8.suffix(5).reduce(0) { number, digit in
            guard digit != UInt8(ascii: ":") else { return number }
            return number << 4 | Int(digit & 0xF) + (digit > UInt8(ascii: "9") ? 9 : 0)
        }
    }

    /// Reads a scan that keeps all unread events: those of a flood.
    nonisolated static func receiveAll(_ central: Central, devices: Int) async throws {
        try await receive(central, .any, ScanMeasurement(devices: devices), .fail(capacity: 1 << 20))
    }

    private nonisolated static func receive(
        _ central: Central, _ criteria: DiscoveryCriteria, _ measurement: ScanMeasurement,
        _ overflow: OverflowPolicy = .dropOldest(capacity: 1024)
    ) async throws {
        var measurement = measurement
        for try await event in central.discoveryEvents(matching: criteria, duplicates: true, overflow: overflow) {
            switch event {
            case .found(let discovery), .updated(let discovery): if measurement.take(discovery) { return }
            case .lost, .waiting: measurement.miss()
            }
        }
    }
}

/// Checks that every announcement and change arrives, in order, and measures the changes.
private struct ScanMeasurement {
    private static let company: UInt16 = 0x0499

    private let devices: Int
    /// The matching devices are every `stride`-th one.
    private let stride: Int
    /// The number of the next report: a round of announcements comes before the changes.
    private var next = 0
    private var measurement = Measurement()
    /// Whether another scan of the process prints the result.
    var isSilent = false

    init(devices: Int, stride: Int = 1) {
        (self.devices, self.stride) = (devices, stride)
    }

    /// Counts a report. Prints the result and returns true at the marker.
    mutating func take(_ discovery: Discovery) -> Bool {
        guard let data = discovery.advertisement.manufacturerData[Self.company], data.count >= 8 else {
            miss()
            return false
        }
        let dataRound = Measurement.uint32(data, at: 0)
        if dataRound == .max {
            measurement.count = UInt32(max(0, next - devices))
            let total = Measurement.uint32(data, at: 4)
            if !isSilent {
                measurement.report(total: total)
            } else if !measurement.isInOrder || measurement.count != total {
                print("a scan has missed changes")
                exit(70)
            }
            return true
        }
        if next == devices { measurement.start() }
        let (round, number) = next.quotientAndRemainder(dividingBy: devices)
        if ScanBenchmark.number(of: discovery.peripheral.id) != number
            || discovery.advertisement.rssi != -40 - round % 50
            || Int(dataRound) != max(0, round - (number + round) % 4)
        {
            miss()
        }
        next += stride
        return false
    }

    mutating func miss() { measurement.isInOrder = false }
}
