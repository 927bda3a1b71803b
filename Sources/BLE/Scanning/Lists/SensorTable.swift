/// The readings of the sensors in range, and how old each is.
///
/// A sensor may send its readings in turns, some of them once an hour, and rests between. The table keeps the last of
/// each reading, also of sensors that a scan has lost. A scan with duplicates tells of readings that have not changed,
/// whose ages would grow otherwise.
///
/// ```swift
/// var table = SensorTable(formats: AdvertisementFormats([.beacons, .bthome]))
/// for try await event in central.discoveryEvents(duplicates: true) {
///     guard table.apply(event) else { continue }
///     for sensor in table.sensors {
///         print(sensor.name ?? "\(sensor.peripheral.id)", sensor.readings.map { "\($0.reading), \($0.age) ago" })
///     }
/// }
/// ```
public struct SensorTable: Sendable {
    /// A reading, and its age.
    public struct AgedReading: Sendable {
        /// The reading.
        public let reading: SensorReading
        /// The time since an advertisement that contained it was last received.
        ///
        /// A backend may report what a peripheral has sent in several packets as one advertisement, as bluetoothd does:
        /// then any packet of the peripheral counts, also one without this reading.
        public let age: Duration
    }

    /// A sensor.
    public struct Sensor: Sendable {
        /// The peripheral.
        public let peripheral: Peripheral
        /// The advertised name. Nil if none was received.
        public let name: String?
        /// The names of the formats in which it has sent readings, in the order of their arrival.
        public let formats: [String]
        /// The signal strength in dBm that was received last. Nil if none was received.
        public let rssi: Int?
        /// The time since readings were last received.
        public let age: Duration
        /// The last of each reading, in the order in which they first arrived. At most 64.
        public let readings: [AgedReading]
    }

    private struct Entry {
        let peripheral: Peripheral
        /// The position among all that were ever added.
        let number: Int
        var name: String?
        var formats: [String] = []
        var rssi: Int?
        var heard: Duration
        var readings: [(reading: SensorReading, heard: Duration)] = []
        var indices: [Source: Int] = [:]

        /// Adds a reading. One with the name of another format's reading gets a number, which it keeps.
        mutating func add(_ reading: SensorReading, from source: Source, _ now: Duration) {
            indices[source] = readings.count
            let names = readings.map(\.reading) + [reading]
            readings.append((SensorReading.numbered(names).last ?? reading, now))
        }

        /// Replaces the content of a reading.
        mutating func update(_ index: Int, _ reading: SensorReading, _ now: Duration) {
            let name = readings[index].reading.name
            readings[index] = (SensorReading(name: name, value: reading.value, unit: reading.unit), now)
        }
    }

    /// What distinguishes a reading from the others of a sensor. Formats may have readings of the same name, of which a
    /// packet may contain only one.
    private struct Source: Hashable {
        let format: String
        let id: String
    }

    /// The number of different readings of a sensor that are kept.
    private static let maximumReadings = 64

    private let formats: AdvertisementFormats
    private let maximumCount: Int
    private let now: @Sendable () -> Duration
    private var entries: [Peripheral.ID: Entry] = [:]
    private var lastNumber = 0

    /// Creates an empty table.
    ///
    /// - Parameters:
    ///   - formats: the formats of the sensors.
    ///   - maximumCount: the number of sensors that are kept, at least 1. The table may grow by a quarter more before
    ///     those that were not heard for longest are removed.
    ///   - clock: the clock of the ages.
    public init(
        formats: AdvertisementFormats, maximumCount: Int = 1000, clock: some Clock<Duration> = ContinuousClock()
    ) {
        self.formats = formats
        self.maximumCount = max(1, maximumCount)
        let start = clock.now
        now = { start.duration(to: clock.now) }
    }

    /// The number of sensors.
    public var count: Int { entries.count }

    /// Takes a scan's event. Returns whether readings were received. A lost peripheral stays in the table.
    ///
    /// A discovery without a signal strength was not received: a scan reports a peripheral with a link that way, with
    /// what is known of it. It changes nothing. Nor does a simulated peripheral whose `Advertisement` has no `rssi`.
    @discardableResult
    public mutating func apply(_ event: DiscoveryEvent) -> Bool {
        switch event {
        case .found(let discovery), .updated(let discovery):
            discovery.advertisement.rssi != nil && update(discovery)
        case .lost, .waiting: false
        }
    }

    /// Takes the advertisement of a peripheral, which was received now. Returns whether it contains readings.
    @discardableResult
    public mutating func update(_ discovery: Discovery) -> Bool {
        let known = formats.all(in: discovery.advertisement, from: discovery.id).filter { !$0.readings.isEmpty }
        guard !known.isEmpty else { return false }
        let (id, now) = (discovery.peripheral.id, now())
        var entry = entries.removeValue(forKey: id) ?? add(discovery.peripheral, now)
        entry.heard = now
        entry.name = discovery.advertisement.localName ?? entry.name
        entry.rssi = discovery.advertisement.rssi ?? entry.rssi
        for part in known {
            let format = part.format.name
            if !entry.formats.contains(format) { entry.formats.append(format) }
            for reading in SensorReading.numbered(part.readings) {
                let source = Source(format: format, id: reading.id)
                if let index = entry.indices[source] {
                    entry.update(index, reading, now)
                } else if entry.readings.count < Self.maximumReadings {
                    entry.add(reading, from: source, now)
                }
            }
        }
        entries[id] = entry
        if entries.count - maximumCount > maximumCount / 4 { removeOldest() }
        return true
    }

    private mutating func add(_ peripheral: Peripheral, _ now: Duration) -> Entry {
        lastNumber += 1
        return Entry(peripheral: peripheral, number: lastNumber, heard: now)
    }

    /// Done for many at once, so that an update takes constant time, amortized. The first after a copy of the table was
    /// made copies the entries.
    private mutating func removeOldest() {
        let old = entries.sorted { $0.value.heard < $1.value.heard }.prefix(entries.count - maximumCount)
        for (id, _) in old { entries[id] = nil }
    }

    /// Removes a peripheral.
    public mutating func remove(_ id: Peripheral.ID) { entries[id] = nil }

    /// Returns a peripheral's readings. Nil if it has sent none.
    public func sensor(_ id: Peripheral.ID) -> Sensor? { entries[id].map { sensor($0, now()) } }

    /// All sensors, in the order in which they were found.
    public var sensors: [Sensor] {
        let now = now()
        return entries.values.sorted { $0.number < $1.number }.map { sensor($0, now) }
    }

    private func sensor(_ entry: Entry, _ now: Duration) -> Sensor {
        Sensor(
            peripheral: entry.peripheral, name: entry.name, formats: entry.formats, rssi: entry.rssi,
            age: now - entry.heard,
            readings: entry.readings.map { AgedReading(reading: $0.reading, age: now - $0.heard) })
    }
}
