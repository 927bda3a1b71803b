public import BLE
public import Observation

/// The state of a central's adapter, as an observable property.
///
/// ```swift
/// let adapter = await ObservableAdapter(central)
/// let updates = Task { try await adapter.run() }
/// if await adapter.state == .poweredOff { print("switch Bluetooth on") }
/// ```
@MainActor @Observable public final class ObservableAdapter {
    /// The state. Nil while ``run()`` does not run.
    public private(set) var state: AdapterState?

    private let central: Central
    private let turns = RunTurns()

    /// Creates an object without a state yet.
    public init(_ central: Central) { self.central = central }

    /// Keeps the state up to date until the task is cancelled, which throws `cancelled`. Throws `shutDown` with the
    /// central.
    ///
    /// A call during another one waits for its end.
    public func run() async throws(BLEError) {
        try await turns.begin()
        defer {
            state = nil
            turns.end()
        }
        for try await present in await central.adapterStates() where present != state { state = present }
    }
}
