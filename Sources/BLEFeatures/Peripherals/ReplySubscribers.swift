internal import BLE
internal import Synchronization

/// The subscriptions to a reply characteristic.
///
/// A subscription is added in the first step of its handler, which a host takes before the central's next request: a
/// request without a subscription has none that is about to be made.
final class ReplySubscribers: Sendable {
    /// A subscription.
    struct Subscriber: Sendable {
        /// A unique number, higher than those of earlier subscriptions.
        let number: Int
        let notifier: Notifier
    }

    private struct State {
        /// By central. Nil for those that the system does not tell apart.
        var subscribers: [Peripheral.ID?: Subscriber] = [:]
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
    func find(_ central: Peripheral.ID) -> Subscriber? {
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
