internal import BLE
internal import Synchronization

/// The subscriptions to a reply characteristic.
///
/// A subscription is added in the first step of its handler, which a host runs before the central's next request.
/// Therefore, the subscription of a request's central is already in this list, if there is one.
final class ReplySubscribers: Sendable {
    /// A subscription.
    struct Subscriber: Sendable {
        /// A unique number, higher than those of earlier subscriptions.
        let number: Int
        let notifier: Notifier
    }

    private struct State {
        /// The subscriptions, by central. Nil for centrals that the system does not distinguish.
        var subscribers: [DeviceID?: Subscriber] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())

    /// Adds a subscription, in place of the central's earlier one.
    func add(_ notifier: Notifier) -> Subscriber {
        state.withLock { state in
            state.lastNumber += 1
            let subscriber = Subscriber(number: state.lastNumber, notifier: notifier)
            state.subscribers[notifier.central] = subscriber
            return subscriber
        }
    }

    /// Returns the subscription over which a central receives replies.
    func find(_ central: DeviceID) -> Subscriber? {
        state.withLock { $0.subscribers[central] ?? $0.subscribers[.none] }
    }

    /// Removes a subscription, unless a later one has replaced it.
    func remove(_ subscriber: Subscriber) {
        let central = subscriber.notifier.central
        state.withLock {
            if $0.subscribers[central]?.number == subscriber.number { $0.subscribers[central] = nil }
        }
    }
}
