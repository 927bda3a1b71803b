internal import BLE
internal import Waiting

/// The values that are on their way to each subscriber, and the callers that wait for what becomes of them. Subscribers
/// without sockets of their own, which bluetoothd does not distinguish, are one.
struct SubscriberValues {
    /// An indication on its way.
    private struct Indication {
        let outcome: Outcome<Void>
        /// The central that receives it. Nil for all subscribers.
        let central: DeviceID?
        /// The number of awaited confirmations, of which the last is for this indication.
        var remaining: Int
    }

    private struct Subscriber {
        /// The values that were sent over its socket and not confirmed.
        var unconfirmed = UnconfirmedValues()
        var indications: [Indication] = []
        /// The waits for a change: a confirmation, or the decision whether it is still subscribed.
        var waits: [Outcome<Void>] = []

        var isEmpty: Bool { !unconfirmed.isAny && indications.isEmpty && waits.isEmpty }
    }

    private var subscribers: [AttributeOfCentral: Subscriber] = [:]
    /// The values for centrals that confirm each of them, in the order in which they are sent.
    var turns = Turns<AttributeOfCentral, Outcome<Void>>()
    private var lastTicket = 0

    /// The subscribers whose change is awaited.
    var awaited: [AttributeOfCentral] { subscribers.filter { !$0.value.waits.isEmpty }.map(\.key) }

    /// Whether a subscriber has yet to confirm an indication, or a value of one of the given characteristics.
    mutating func isConfirming(_ key: AttributeOfCentral, each attributes: Set<ServedAttribute>, at now: Duration)
        -> Bool
    {
        guard key.central != nil, unconfirmedCount(of: key, at: now) > 0 else { return false }
        return attributes.contains(key.attribute) || subscribers[key]?.unconfirmed.hasIndication(at: now) == true
    }

    /// The subscribers to the characteristics of an application, or all.
    func keys(of application: Int? = nil) -> [AttributeOfCentral] {
        subscribers.keys.filter { $0.attribute.application == application ?? $0.attribute.application }
    }

    private mutating func change<Value>(_ key: AttributeOfCentral, _ body: (inout Subscriber) -> Value) -> Value {
        let value = body(&subscribers[key, default: Subscriber()])
        if subscribers[key]?.isEmpty == true { subscribers[key] = nil }
        return value
    }

    // MARK: Sending

    /// Joins the values for a subscriber. Returns the wait for its turn, and its number for ``Turns/end(_:)``.
    mutating func join(_ key: AttributeOfCentral) -> (turn: Outcome<Void>, ticket: Int) {
        lastTicket += 1
        return (turns.wait(key, lastTicket).turn, lastTicket)
    }

    /// The number of values that a subscriber has not confirmed.
    mutating func unconfirmedCount(of key: AttributeOfCentral, at now: Duration) -> Int {
        subscribers[key]?.unconfirmed.count(at: now) ?? 0
    }

    /// Counts a value that was sent over a socket.
    mutating func sent(to key: AttributeOfCentral, at now: Duration) { change(key) { $0.unconfirmed.add(at: now) } }

    /// Adds an indication that is about to be sent to a central, or to all.
    mutating func indicate(
        to central: DeviceID?, as key: AttributeOfCentral, at now: Duration, _ outcome: Outcome<Void>
    ) {
        change(key) { subscriber in
            let earlier = key.central == nil ? 0 : subscriber.unconfirmed.count(at: now)
            if key.central != nil { subscriber.unconfirmed.indicate(at: now) }
            subscriber.indications.append(Indication(outcome: outcome, central: central, remaining: earlier + 1))
        }
    }

    /// Removes an indication whose caller no longer waits.
    mutating func forget(_ outcome: Outcome<Void>, of key: AttributeOfCentral) {
        change(key) { $0.indications.removeAll { $0.outcome === outcome } }
    }

    // MARK: Waiting

    /// Adds a wait for the next change of a subscriber.
    mutating func wait(for key: AttributeOfCentral) -> Outcome<Void> {
        let outcome = Outcome<Void>()
        change(key) { $0.waits.append(outcome) }
        return outcome
    }

    /// Removes a wait that has ended otherwise.
    mutating func endWait(_ outcome: Outcome<Void>, for key: AttributeOfCentral) {
        change(key) { $0.waits.removeAll { $0 === outcome } }
    }

    /// Ends the waits for a change of a subscriber, which look again.
    mutating func settle(_ key: AttributeOfCentral) {
        let waits = change(key) { subscriber in
            defer { subscriber.waits = [] }
            return subscriber.waits
        }
        for wait in waits { wait.deliver(.success(())) }
    }

    // MARK: Confirmations

    /// Records a confirmation. Without a central, it contains neither the value nor the central, but bluetoothd sends
    /// the values in order.
    mutating func confirmed(_ key: AttributeOfCentral) {
        let confirmed = change(key) { subscriber in
            guard key.central != nil else {
                return subscriber.indications.isEmpty ? [] : [subscriber.indications.removeFirst()]
            }
            subscriber.unconfirmed.remove()
            for index in subscriber.indications.indices { subscriber.indications[index].remaining -= 1 }
            return subscriber.indications.filter { $0.remaining <= 0 }
        }
        settle(key)
        for indication in confirmed { indication.outcome.deliver(.success(())) }
    }

    /// Forgets the values that a central has not confirmed.
    mutating func forgetUnconfirmed(_ key: AttributeOfCentral) { change(key) { $0.unconfirmed = UnconfirmedValues() } }

    /// Fails the indications to a subscriber.
    mutating func fail(_ key: AttributeOfCentral, _ error: BLEError) { fail(key, error) { _ in true } }

    /// Fails the indications to a central, or all of them, among those to the subscribers without sockets.
    mutating func failSignaled(_ attribute: ServedAttribute, to central: DeviceID, all: Bool, _ error: BLEError) {
        fail(AttributeOfCentral(attribute: attribute), error) { all || $0 == central }
    }

    private mutating func fail(
        _ key: AttributeOfCentral, _ error: BLEError, where isIncluded: (DeviceID?) -> Bool
    ) {
        let failed = change(key) { subscriber in
            defer { subscriber.indications.removeAll { isIncluded($0.central) } }
            return subscriber.indications.filter { isIncluded($0.central) }
        }
        for indication in failed { indication.outcome.deliver(.failure(error)) }
    }
}

/// The values that were sent over a socket, and that its central may still confirm.
///
/// Whether it has asked for indications or notifications, and which it asks for later, bluetoothd does not tell. Values
/// that were sent with `notify` to a central that takes longer to confirm them all are therefore forgotten while they
/// are queued: a later indication then returns with the confirmation of one of them.
struct UnconfirmedValues {
    /// The time limit of the Attribute Protocol for a confirmation (Core Specification 5.4, volume 3, part F, section
    /// 3.3.3): a value that is not confirmed by then was a notification. Values are dropped after one to two such
    /// periods.
    static let limit = Duration.seconds(30)

    /// The numbers of values of the present period, which lasts for ``limit``, and of the period before.
    private var (present, former) = (0, 0)
    private var start = Duration.zero
    /// Until when a value that was sent with `indicate` may be confirmed, even if its caller has been cancelled.
    private var indicationLimit = Duration.zero

    /// Records that the next value is sent with `indicate`.
    mutating func indicate(at now: Duration) { indicationLimit = now + Self.limit }

    /// Whether one of the values was sent with `indicate`, and may still be confirmed.
    func hasIndication(at now: Duration) -> Bool { isAny && now < indicationLimit }

    /// Returns the number of values.
    mutating func count(at now: Duration) -> Int {
        let age = now - start
        if age >= Self.limit {
            (present, former) = (0, age < Self.limit * 2 ? present : 0)
            start = age < Self.limit * 2 ? start + Self.limit : now
        }
        return present + former
    }

    /// Whether there was one when they were last counted.
    var isAny: Bool { present + former > 0 }

    mutating func add(at now: Duration) {
        _ = count(at: now)
        present += 1
    }

    /// Removes a value that was confirmed.
    mutating func remove() {
        if former > 0 { former -= 1 } else { present = max(0, present - 1) }
        if !isAny { indicationLimit = .zero }
    }
}
