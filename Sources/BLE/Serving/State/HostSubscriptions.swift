internal import Synchronization

/// A subscription of one central, or of all centrals if the stack does not tell them apart.
struct ServedSubscription {
    let number: Int
    let attMTU: Int?
    /// Whether its values are still sent.
    let state = SubscriptionState()
    /// Runs the definition's handler.
    fileprivate var task: Task<Void, Never>?
    /// Whether the handler has returned.
    fileprivate(set) var hasEnded = false

    init(number: Int, attMTU: Int?) {
        self.number = number
        self.attMTU = attMTU
    }

    /// Cancels the handler, and drops what it sends.
    func end() {
        task?.cancel()
        state.end()
    }
}

/// Whether a subscription lasts, for code that sends its values from other threads.
final class SubscriptionState: Sendable {
    private let state = Atomic(true)

    private let hasSent = Atomic(false)
    private let isRefused = Atomic(false)
    private let error = Mutex<(any Error)?>(nil)

    var isOpen: Bool { state.load(ordering: .acquiring) }
    /// Whether this is the first value that is sent.
    func isFirst() -> Bool { !hasSent.exchange(true, ordering: .relaxed) }
    /// Whether this is the first value that the stack cannot send to this subscriber.
    func isFirstRefusal() -> Bool { !isRefused.exchange(true, ordering: .relaxed) }
    func end() { state.store(false, ordering: .releasing) }
    /// What the subscription's handler has thrown.
    var failure: (any Error)? { error.withLock { $0 } }
    func fail(_ error: any Error) { self.error.withLock { $0 = error } }
}

/// The subscriptions to what a host serves, and the turns of the values that are sent to them.
struct HostSubscriptions {
    typealias Place = (attribute: ServedAttribute, central: DeviceID?)

    private var subscriptions: [ServedAttribute: [DeviceID?: ServedSubscription]] = [:]
    /// One indication is on its way at a time, to one central and, under nil, to all.
    var indications = Turns<AttributeOfCentral, Outcome<Void>>()
    /// The stored values that are sent to all subscribers, in the order in which they were stored.
    var storedValues = Turns<ServedAttribute, Outcome<Void>>()

    /// The subscription of a central, or under nil that which stands for all.
    subscript(_ attribute: ServedAttribute, _ central: DeviceID?) -> ServedSubscription? {
        subscriptions[attribute]?[central]
    }

    /// The subscriptions to a characteristic.
    subscript(_ attribute: ServedAttribute) -> [DeviceID?: ServedSubscription] { subscriptions[attribute] ?? [:] }

    /// The subscriptions to the characteristics of a definition, or all of them.
    func all(of application: Int? = nil) -> [Place] {
        subscriptions.flatMap { attribute, centrals in
            attribute.application == application ?? attribute.application ? centrals.keys.map { (attribute, $0) } : []
        }
    }

    /// The subscriptions of a central.
    func all(of central: DeviceID) -> [Place] {
        subscriptions.compactMap { attribute, centrals in centrals[central].map { _ in (attribute, central) } }
    }

    /// Adds a subscription. Returns the one that it replaces.
    mutating func add(
        _ subscription: ServedSubscription, to attribute: ServedAttribute, _ central: DeviceID?
    ) -> ServedSubscription? {
        subscriptions[attribute, default: [:]].updateValue(subscription, forKey: central)
    }

    /// Sets the task of a subscription, unless the subscription has ended. Returns whether it has been set.
    mutating func setTask(
        _ task: Task<Void, Never>, of attribute: ServedAttribute, _ central: DeviceID?, number: Int
    ) -> Bool {
        guard self[attribute, central]?.number == number else { return false }
        subscriptions[attribute]?[central]?.task = task
        return true
    }

    /// Records that the handler of a subscription has returned.
    mutating func handlerEnded(_ attribute: ServedAttribute, _ central: DeviceID?) {
        subscriptions[attribute]?[central]?.hasEnded = true
    }

    /// Removes a subscription. Returns it, to be ended.
    mutating func remove(_ attribute: ServedAttribute, _ central: DeviceID?) -> ServedSubscription? {
        let removed = subscriptions[attribute]?.removeValue(forKey: central)
        if subscriptions[attribute]?.isEmpty == true { subscriptions[attribute] = nil }
        return removed
    }
}
