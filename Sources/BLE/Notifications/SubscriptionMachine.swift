/// The subscriptions of one peripheral: which characteristics have readers, and which of them the peripheral sends.
///
/// A subscription has an id of its own, because its attribute may move when the peripheral reconnects. All readers of a
/// characteristic share one subscription. Starting and stopping are operations that wait for their turn; each asks
/// here, when its turn comes, whether it is still needed.
struct SubscriptionMachine {
    typealias ID = Int

    /// What starts a subscription.
    struct Start {
        let attribute: AttributeID
        let fanout: NotificationFanout
        /// Whether to try a channel first.
        let usesSocket: Bool
    }

    /// A subscription that has ended.
    struct Ended {
        let attribute: AttributeID
        let fanout: NotificationFanout
        /// Whether the peripheral was asked to send.
        let wasOn: Bool
    }

    private struct Subscription {
        var attribute: AttributeID
        /// The key that the first reader requested. It is looked up again in the services of a new link.
        let key: CharacteristicKey
        /// The delivery that the first reader requested.
        let delivery: NotificationDelivery
        let fanout = NotificationFanout()
        /// Whether the peripheral was asked to send. False again when it was asked to stop, or has stopped on its own.
        var isOn = false
        /// Whether the channel was lost: on this link, values are delivered in the standard way.
        var hasLostSocket = false
        /// The number of consecutive links that failed to restore the subscription, for a reason that may be temporary.
        var failedRestores = 0
    }

    /// The number of consecutive links that may fail to restore a subscription, for a temporary reason, before it ends.
    private static let restoreLimit = 3

    private var subscriptions: [ID: Subscription] = [:]
    private var ids: [AttributeID: ID] = [:]

    // MARK: Readers

    /// Returns the subscription of an attribute, and creates it for the first reader.
    ///
    /// - Parameter newID: the id of a new subscription, which no earlier one has had.
    mutating func join(
        _ attribute: AttributeID, key: CharacteristicKey, delivery: NotificationDelivery, newID: ID
    ) -> (id: ID, fanout: NotificationFanout) {
        if let id = ids[attribute], let subscription = subscriptions[id] { return (id, subscription.fanout) }
        let subscription = Subscription(attribute: attribute, key: key, delivery: delivery)
        subscriptions[newID] = subscription
        ids[attribute] = newID
        return (newID, subscription.fanout)
    }

    /// Whether there are no subscriptions.
    var isEmpty: Bool { subscriptions.isEmpty && ids.isEmpty }

    /// Whether the peripheral was asked to send the values of the attribute.
    func isOn(_ attribute: AttributeID) -> Bool { ids[attribute].flatMap { subscriptions[$0]?.isOn } ?? false }

    /// The attribute of a subscription. Nil if the subscription has ended.
    func attribute(of id: ID) -> AttributeID? { subscriptions[id]?.attribute }

    /// The attribute of a subscription that has no readers. Nil if it has some, or has ended.
    func unread(_ id: ID) -> AttributeID? {
        subscriptions[id].flatMap { $0.fanout.isEmpty ? $0.attribute : nil }
    }

    /// The attribute whose channel can resume, because each of its readers has room.
    func socketWithRoom(_ id: ID) -> AttributeID? {
        guard let subscription = subscriptions[id], subscription.delivery == .socket, subscription.fanout.hasRoom else {
            return nil
        }
        return subscription.attribute
    }

    // MARK: Starting and stopping

    /// Marks the subscription as on. Returns what to do, or nil if it is on already or has ended.
    mutating func start(_ id: ID) -> Start? {
        guard let subscription = subscriptions[id], !subscription.isOn else { return nil }
        subscriptions[id]!.isOn = true
        return Start(
            attribute: subscription.attribute, fanout: subscription.fanout,
            usesSocket: subscription.delivery == .socket && !subscription.hasLostSocket)
    }

    /// Marks the subscription as off after a start at `attribute` that failed. A failure that comes after the
    /// subscription has moved to another attribute does not count.
    mutating func startFailed(_ id: ID, at attribute: AttributeID) {
        if subscriptions[id]?.attribute == attribute { subscriptions[id]?.isOn = false }
    }

    /// Ends the subscription if it has no readers and is still at `attribute`. Returns whether the peripheral must be
    /// asked to stop.
    mutating func stopIfUnread(_ id: ID, at attribute: AttributeID) -> Bool {
        guard unread(id) == attribute, let subscription = subscriptions[id] else { return false }
        remove(id)
        return subscription.isOn
    }

    // MARK: Ends and gaps

    /// Ends all subscriptions.
    mutating func endAll() -> [Ended] { Array(subscriptions.keys).compactMap { end($0) } }

    /// Ends a subscription. Returns nil if it has ended already.
    mutating func end(_ id: ID) -> Ended? {
        guard let subscription = subscriptions[id] else { return nil }
        remove(id)
        return Ended(attribute: subscription.attribute, fanout: subscription.fanout, wasOn: subscription.isOn)
    }

    /// Handles the end of a link that will be reestablished. Returns the readers that have a gap.
    mutating func interrupt() -> [NotificationFanout] {
        Array(subscriptions.keys).compactMap { id in
            guard let subscription = subscriptions[id] else { return nil }
            // Nobody would stop it again.
            guard !subscription.fanout.isEmpty else {
                remove(id)
                return nil
            }
            subscriptions[id]!.hasLostSocket = false
            guard subscription.isOn else { return nil }
            subscriptions[id]!.isOn = false
            return subscription.fanout
        }
    }

    /// Handles notifications that ended while the link is up. Returns the subscription, whose readers have a gap. Nil
    /// if it was off.
    mutating func notificationsEnded(of attribute: AttributeID) -> (id: ID, fanout: NotificationFanout)? {
        guard let id = ids[attribute], let subscription = subscriptions[id], subscription.isOn else { return nil }
        subscriptions[id]!.isOn = false
        subscriptions[id]!.hasLostSocket = true
        return (id, subscription.fanout)
    }

    // MARK: Restoring

    /// The subscriptions that are off, with their keys.
    var interrupted: [(id: ID, key: CharacteristicKey)] {
        subscriptions.compactMap { id, subscription in
            subscription.isOn || subscription.fanout.isEmpty ? nil : (id, subscription.key)
        }
    }

    /// Moves subscriptions to the attributes that their keys have on a new link, all at once: one may move to where
    /// another one was. Returns those whose attribute is used by another subscription; they must be ended.
    mutating func move(_ moves: [(id: ID, attribute: AttributeID)]) -> [ID] {
        for (id, _) in moves {
            if let old = subscriptions[id]?.attribute, ids[old] == id { ids[old] = nil }
        }
        return moves.compactMap { id, attribute in
            guard subscriptions[id] != nil else { return nil }
            guard ids[attribute] == nil else { return id }
            ids[attribute] = id
            if subscriptions[id]!.attribute != attribute {
                subscriptions[id]!.attribute = attribute
                // A start at the former one may have no answer yet.
                subscriptions[id]!.isOn = false
            }
            return nil
        }
    }

    /// Records that a subscription was restored.
    mutating func restored(_ id: ID) { subscriptions[id]?.failedRestores = 0 }

    /// Records a failure to restore a subscription that may be temporary. Returns whether to try again on the next
    /// link.
    mutating func mayRestoreLater(_ id: ID) -> Bool {
        guard let failures = subscriptions[id]?.failedRestores, failures < Self.restoreLimit else { return false }
        subscriptions[id]!.failedRestores += 1
        return true
    }

    private mutating func remove(_ id: ID) {
        guard let attribute = subscriptions.removeValue(forKey: id)?.attribute else { return }
        if ids[attribute] == id { ids[attribute] = nil }
    }
}
