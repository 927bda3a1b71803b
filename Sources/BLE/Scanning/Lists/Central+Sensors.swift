extension Central {
    /// The readings of all sensors in range, as a table that is kept up to date.
    ///
    /// ```swift
    /// for try await table in central.sensors(formats: AdvertisementFormats([.beacons, .bthome])) {
    ///     for sensor in table.sensors {
    ///         print(sensor.name ?? "\(sensor.peripheral.id)", sensor.readings.map { "\($0.reading), \($0.age) ago" })
    ///     }
    /// }
    /// ```
    ///
    /// While the reader holds a table, the next report copies it, in time proportional to the number of sensors: with
    /// many, read it a few times a second, as `ObservableSensors` does.
    ///
    /// Each report of a sensor, even of unchanged readings, produces a new table; a slow reader receives only the
    /// newest, which contains all readings. A sensor that is no longer in range stays in the table: the ages of its
    /// readings grow, on the clock of the central's configuration. Iterating starts the scan; leaving the loop stops
    /// it. It throws the same errors as ``discoveryEvents(matching:duplicates:staleAfter:overflow:tolerance:)``.
    ///
    /// A sensor without a signal strength is not in the table, because it was not received: give a simulated one an
    /// `rssi` in its `Advertisement`. For ages where bluetoothd merges packets, see ``SensorTable/AgedReading/age``.
    ///
    /// - Parameters:
    ///   - formats: the formats of the sensors.
    ///   - maximumCount: the number of sensors that are kept, at least 1; see
    ///     ``SensorTable/init(formats:maximumCount:clock:)``.
    public nonisolated func sensors(
        formats: AdvertisementFormats, matching criteria: DiscoveryCriteria = .any, maximumCount: Int = 1000
    ) -> SensorTables {
        SensorTables(
            scan: FollowedScan(
                central: self, criteria: criteria, staleAfter: .seconds(8),
                initial: SensorTable(formats: formats, maximumCount: maximumCount, clock: configuration.clock)
            ) { $0.apply($1) })
    }
}

/// The readings of sensors over time; see ``Central/sensors(formats:matching:maximumCount:)``.
public struct SensorTables: AsyncSequence, Sendable {
    /// The type of element: the table at that time.
    public typealias Element = SensorTable
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    fileprivate let scan: FollowedScan<SensorTable>

    /// Creates an iterator. Its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(base: scan.makeAsyncIterator()) }

    /// An iterator over the tables.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: FollowedScan<SensorTable>.Iterator

        /// Returns the next table.
        public mutating func next() async throws(BLEError) -> SensorTable? {
            try await next(isolation: #isolation)
        }

        /// Returns the next table, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> SensorTable? {
            try await base.next(isolation: actor)
        }
    }
}
