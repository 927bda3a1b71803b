internal import Synchronization

/// The state of Bluetooth for a central, in one value: the first that applies.
///
/// A central that is not permitted to use Bluetooth does not exist: creating it throws `unauthorized`.
public enum CentralState: String, Hashable, Codable, Sendable {
    /// There is no adapter.
    case unavailable
    /// Bluetooth stopped, or the connection to it was interrupted. The central waits for its return.
    case resetting
    /// The adapter is powered off.
    case poweredOff
    /// This central has a link to at least one peripheral.
    case connected
    /// The radio scans for this central.
    case scanning
    /// The adapter is on, without a link or a scan.
    case disconnected
}

extension Central {
    /// The state of Bluetooth now. ``adapterState``, ``isScanning`` and ``Peripheral/connectionState`` have its parts.
    public var state: CentralState { stateWatch.state }

    /// The state of Bluetooth now, and every later change. Keeps the newest 16 unread states.
    ///
    /// ``adapterStates()``, ``scanningStates()`` and ``Peripheral/connectionStates()`` have its parts.
    public func states() -> BoundedStream<CentralState> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        return stateWatch.states()
    }
}

/// What the state of Bluetooth consists of, and its observers.
final class StateWatch: Sendable {
    private struct Parts {
        var adapter = AdapterState.resetting
        var isScanning = false
        var connected: Set<Peripheral.ID> = []
        var observers = Observers<CentralState>()

        var state: CentralState {
            switch adapter {
            case .unavailable: .unavailable
            case .resetting: .resetting
            case .poweredOff: .poweredOff
            case .poweredOn: !connected.isEmpty ? .connected : isScanning ? .scanning : .disconnected
            }
        }
    }

    private let parts = Mutex(Parts())

    var state: CentralState { parts.withLock(\.state) }

    /// The number of links that are up.
    var connectedCount: Int { parts.withLock(\.connected.count) }

    @discardableResult private func change<Value>(_ change: (inout Parts) -> Value) -> Value {
        parts.withLock { parts in
            let old = parts.state
            let value = change(&parts)
            if parts.state != old { parts.observers.yield(parts.state) }
            return value
        }
    }

    func set(_ adapter: AdapterState) { change { $0.adapter = adapter } }

    func set(isScanning: Bool) { change { $0.isScanning = isScanning } }

    /// Returns whether that is a change.
    func set(_ id: Peripheral.ID, isConnected: Bool) -> Bool {
        change { isConnected ? $0.connected.insert(id).inserted : $0.connected.remove(id) != nil }
    }

    func states() -> BoundedStream<CentralState> {
        parts.withLock { parts in
            parts.observers.add(capacity: 16, first: parts.state) { [weak self] token in
                // In a task, because the end of all streams is reported under the lock.
                Task { self?.remove(token) }
            }
        }
    }

    private func remove(_ token: Int) { parts.withLock { $0.observers.remove(token) } }

    /// Ends all streams. Returns the number of links that were up.
    func finish(_ error: BLEError) -> Int {
        var (observers, linkCount) = parts.withLock { parts in
            let ended = (parts.observers, parts.connected.count)
            // The links and the scan of a central end with it.
            (parts.isScanning, parts.connected, parts.observers) = (false, [], Observers())
            return ended
        }
        observers.finish(error)
        return linkCount
    }
}
