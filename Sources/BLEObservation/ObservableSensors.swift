public import BLE
public import Observation

/// The readings of the sensors in range, as an observable table.
///
/// ```swift
/// let sensors = await ObservableSensors(central, formats: AdvertisementFormats([.beacons, .bthome]))
/// let scan = Task { try await sensors.run() }
/// for sensor in await sensors.table.sensors { print(sensor.name ?? "", sensor.readings.map(\.reading)) }
/// ```
///
/// The table is up to date while ``run()`` runs.
@MainActor @Observable public final class ObservableSensors {
    /// The latest readings. Ages are those of the time at which the table is asked for them.
    public private(set) var table: SensorTable
    /// The error that has ended ``run()``. Nil before, while it runs, and after a cancellation.
    public private(set) var error: BLEError?

    private let tables: SensorTables
    private let turns = RunTurns()
    private let interval: Duration
    private let clock: any Clock<Duration>

    /// Creates an empty table.
    ///
    /// - Parameters:
    ///   - formats: the formats of the sensors.
    ///   - maximumCount: the number of sensors that are kept, at least 1.
    ///   - interval: the minimum time between two changes of the table, on the clock of the central's configuration.
    public init(
        _ central: Central, formats: AdvertisementFormats, matching criteria: DiscoveryCriteria = .any,
        maximumCount: Int = 1000, interval: Duration = .milliseconds(500)
    ) {
        clock = central.configuration.clock
        tables = central.sensors(formats: formats, matching: criteria, maximumCount: maximumCount)
        table = SensorTable(formats: formats, maximumCount: maximumCount, clock: central.configuration.clock)
        self.interval = interval
    }

    /// Scans and keeps the table up to date until the task is cancelled, which throws `cancelled`. Afterwards, the
    /// table stays as it is; another run begins with an empty one.
    ///
    /// A call during another one waits for its end.
    ///
    /// Throws the same errors as `Central.sensors(formats:matching:maximumCount:)`.
    public func run() async throws(BLEError) {
        try await turns.begin()
        defer { turns.end() }
        if error != nil { error = nil }
        do throws(BLEError) {
            for try await latest in tables {
                table = latest
                // Changes during the pause are in the next table. A cancellation is thrown there, too.
                try? await clock.sleep(for: interval)
            }
        } catch {
            if error.code != .cancelled { self.error = error }
            throw error
        }
    }
}
