public import BLE
public import Observation

/// The peripherals nearby, as an observable list.
///
/// ```swift
/// let nearby = await ObservableNearby(central, matching: .service(.heartRate))
/// let scan = Task { try await nearby.run() }
/// ```
///
/// The list is up to date while ``run()`` runs.
@MainActor @Observable public final class ObservableNearby {
    /// The peripherals, each once, with its latest advertisement.
    public private(set) var discoveries: [Discovery] = []
    /// The error that has ended ``run()``. Nil before, while it runs, and after a cancellation.
    public private(set) var error: BLEError?

    private let nearby: Nearby
    private let turns = RunTurns()
    private let interval: Duration
    private let clock: any Clock<Duration>
    private let areInIncreasingOrder: ((Discovery, Discovery) -> Bool)?

    /// Creates an empty list.
    ///
    /// - Parameters:
    ///   - minimumRSSI: the weakest signal strength that counts as near, in dBm, inclusive. Nil to include all.
    ///   - staleAfter: how long a peripheral without a link may be silent before it leaves the list. At least 1 s.
    ///   - interval: the minimum time between two changes of the list, on the clock of the central's configuration.
    ///   - areInIncreasingOrder: whether the first of two discoveries precedes the second. Nil for the order of
    ///     discovery.
    public init(
        _ central: Central, matching criteria: DiscoveryCriteria = .any, minimumRSSI: Int? = -80,
        staleAfter: Duration = .seconds(8), interval: Duration = .milliseconds(500),
        sortedBy areInIncreasingOrder: ((Discovery, Discovery) -> Bool)? = nil
    ) {
        nearby = central.nearby(matching: criteria, minimumRSSI: minimumRSSI, staleAfter: staleAfter)
        clock = central.configuration.clock
        self.interval = interval
        self.areInIncreasingOrder = areInIncreasingOrder
    }

    /// Scans and keeps the list up to date until the task is cancelled, which throws `cancelled`. Afterwards, the list
    /// stays as it is.
    ///
    /// A call during another one waits for its end.
    ///
    /// Throws the same errors as `Central.nearby(matching:minimumRSSI:staleAfter:)`.
    public func run() async throws(BLEError) {
        try await turns.begin()
        defer { turns.end() }
        if error != nil { error = nil }
        do throws(BLEError) {
            for try await list in nearby {
                let found = areInIncreasingOrder.map { list.sorted(by: $0) } ?? list.discoveries
                if found != discoveries { discoveries = found }
                // Changes during the pause are in the next list. A cancellation is thrown there, too.
                try? await clock.sleep(for: interval)
            }
        } catch {
            if error.code != .cancelled { self.error = error }
            throw error
        }
    }
}
