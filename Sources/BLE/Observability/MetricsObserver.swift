#if MetricsSupport
    internal import CoreMetrics
    internal import Synchronization

    /// Publishes operations and events as metrics.
    ///
    /// The dimensions are kinds, reasons and codes, never addresses, UUIDs or names. Each counter has at most 64
    /// reasons or codes, and `other`.
    final class MetricsObserver: ActivityObserver {
        private struct Timing: Hashable {
            let kind: OperationKind
            let code: BLEError.Code?
        }

        private let factory: any MetricsFactory
        private let prefix: String
        /// The handlers, each made when it is first used.
        private let counters = Mutex<[CountedEvent: any CounterHandler]>([:])
        private let timers = Mutex<[Timing: any TimerHandler]>([:])
        // Not in a table, because there are many.
        private let advertisements: any CounterHandler

        /// Nil if no metrics are collected in the current task.
        init?(_ role: ObservedRole) {
            factory = MetricsSystem.factory
            guard !(factory is NOOPMetricsHandler) else { return nil }
            prefix = "ble.\(role.rawValue)"
            advertisements =
                role == .central
                ? factory.makeCounter(label: "\(prefix).advertisements", dimensions: []) : NOOPMetricsHandler.instance
        }

        func began(_ operation: ObservedOperation) -> ObservedEnd? {
            { [self, kind = operation.kind] code, duration in
                timer(kind, code).recordNanoseconds(duration.nanoseconds)
            }
        }

        func counted(_ event: CountedEvent) {
            if event == .advertisementReceived {
                advertisements.increment(by: 1)
            } else {
                counter(event).increment(by: 1)
            }
        }

        // The handlers are used outside of the locks: they are the program's code, as is the factory, which makes each
        // once.
        private func timer(_ kind: OperationKind, _ code: BLEError.Code?) -> any TimerHandler {
            timers.withLock { timers in
                var timing = Timing(kind: kind, code: code)
                if let timer = timers[timing] { return timer }
                var error = code?.rawValue ?? "none"
                if timers.keys.count(where: { $0.kind == kind }) >= countedKeysLimit {
                    timing = Timing(kind: kind, code: BLEError.Code(rawValue: "other"))
                    error = "other"
                    if let timer = timers[timing] { return timer }
                }
                // The same names of dimensions each time, which some systems require.
                let timer = factory.makeTimer(
                    label: "\(prefix).operation.duration",
                    dimensions: [("operation", kind.rawValue), ("error", error)])
                timer.preferDisplayUnit(.seconds)
                timers[timing] = timer
                return timer
            }
        }

        private func counter(_ event: CountedEvent) -> any CounterHandler {
            counters.withLock { counters in
                if let counter = counters[event] { return counter }
                let (name, reason) = event.label
                var (counted, dimension) = (event, reason?.rawValue)
                if reason != nil, counters.keys.count(where: { $0.label.name == name }) >= countedKeysLimit {
                    dimension = "other"
                    counted = event.other
                    if let counter = counters[counted] { return counter }
                }
                let counter = factory.makeCounter(
                    label: "\(prefix).\(name)", dimensions: dimension.map { [("reason", $0)] } ?? [])
                counters[counted] = counter
                return counter
            }
        }
    }

    extension CountedEvent {
        /// The name of its counter, and its dimension.
        fileprivate var label: (name: String, reason: DisconnectReason?) {
            switch self {
            case .advertisementReceived: ("advertisements", nil)
            case .linkEstablished: ("links", nil)
            case .linkEnded(let reason): ("links.ended", reason)
            case .reconnected(let reason): ("reconnects", reason)
            case .valueDropped: ("values.dropped", nil)
            case .discoveryDropped: ("discoveries.dropped", nil)
            case .bluetoothLost: ("bluetooth.losses", nil)
            case .subscribed: ("subscriptions", nil)
            }
        }

        /// The event that stands for those with further reasons.
        fileprivate var other: Self {
            let other = DisconnectReason(rawValue: "other")
            return switch self {
            case .linkEnded: .linkEnded(other)
            case .reconnected: .reconnected(other)
            default: self
            }
        }
    }

    extension Duration {
        fileprivate var nanoseconds: Int64 {
            let (seconds, attoseconds) = components
            let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
            let (sum, isTooLong) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
            return overflow || isTooLong ? .max : sum
        }
    }
#endif
