/// Something that is counted, besides operations.
enum CountedEvent: Hashable, Sendable {
    case advertisementReceived
    case linkEstablished
    case linkEnded(DisconnectReason)
    /// A maintained link has been reestablished, after it was lost for that reason.
    case reconnected(DisconnectReason)
    case valueDropped
    case discoveryDropped
    case bluetoothLost
    case subscribed
}

/// An operation that begins, for an observer.
struct ObservedOperation: Sendable {
    let kind: OperationKind
    /// The other device.
    let peer: DeviceID?
    let characteristic: BluetoothUUID?
}

/// Receives the operations and events of a central or a host, as they happen. The traits have the observers.
protocol ActivityObserver: Sendable {
    /// Reports the beginning of an operation, in the task of its caller. What is returned is called once, at its end,
    /// in any task.
    func began(_ operation: ObservedOperation) -> ObservedEnd?

    /// Reports an event, from any thread.
    func counted(_ event: CountedEvent)
}

/// Reports the end of an operation: the code of its error, nil if it has succeeded, and its duration.
typealias ObservedEnd = @Sendable (BLEError.Code?, Duration) -> Void

/// An operation that has begun.
struct Observation: Sendable {
    let kind: OperationKind
    /// When it began, on the clock of the central or the host.
    let begun: Duration
    /// Nil without an observer.
    let end: ObservedEnd?
}

/// The part of this machine that an observer belongs to.
enum ObservedRole: String {
    case central
    case host
}

/// The observers of the traits with which the package is built.
enum ActivityObservers {
    /// Returns an observer for a new central or host. Nil if nothing observes it.
    static func make(_ role: ObservedRole) -> (any ActivityObserver)? {
        #if MetricsSupport
            let metrics: (any ActivityObserver)? = MetricsObserver(role)
        #else
            let metrics: (any ActivityObserver)? = nil
        #endif
        #if DistributedTracingSupport
            let tracing: (any ActivityObserver)? = TracingObserver(role)
        #else
            let tracing: (any ActivityObserver)? = nil
        #endif
        guard let metrics, let tracing else { return metrics ?? tracing }
        return BothObservers(first: metrics, second: tracing)
    }
}

private struct BothObservers: ActivityObserver {
    let first: any ActivityObserver
    let second: any ActivityObserver

    func began(_ operation: ObservedOperation) -> ObservedEnd? {
        let ends = [first.began(operation), second.began(operation)].compactMap(\.self)
        guard !ends.isEmpty else { return nil }
        return { code, duration in for end in ends { end(code, duration) } }
    }

    func counted(_ event: CountedEvent) {
        first.counted(event)
        second.counted(event)
    }
}
