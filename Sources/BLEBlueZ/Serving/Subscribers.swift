internal import BLE

/// The centrals that have subscribed to the served characteristics, each with a socket of its own (AcquireNotify).
///
/// bluetoothd closes a socket when its central unsubscribes or the central's link ends. There are two exceptions. When
/// the link of a subscriber without a bond ends, bluetoothd closes the socket of the oldest subscriber instead, even if
/// that is another one (`ccc_write_cb` without an operation in its `src/gatt-database.c`; BlueZ's issue 1452). A
/// central with a bond remains subscribed on its next link, for which bluetoothd requests no socket. The subscribers
/// that are left without a socket still receive the property `Value`, which is sent to all.
struct Subscribers<Socket: AnyObject & Sendable>: Sendable {
    fileprivate enum State: Sendable {
        case socket(Socket)
        /// bluetoothd has closed the socket: the central has unsubscribed, or the link of another one has ended.
        case undecided
        /// The central is subscribed, and has no socket.
        case signaled
        /// The central's link has ended. It is subscribed again on its next link.
        case away
    }

    fileprivate struct Subscriber: Sendable {
        /// The subscription's unique number, in the order of subscriptions.
        let number: Int
        var state: State
    }

    /// How a value reaches one central.
    enum Route: Sendable {
        case socket(Socket)
        /// As the property `Value`, because no other central receives it.
        case signal
        /// The central is not subscribed.
        case nobody
        /// It is not known yet whether the central is still subscribed.
        case undecided
        /// The central has no socket, and other centrals would receive the property, too.
        case unreachable
    }

    /// A subscriber whose socket bluetoothd has closed, or is about to close, because another central's link ended.
    private struct Victim: Sendable {
        let central: DeviceID
        let number: Int
    }

    private var subscribers: [ServedAttribute: [DeviceID: Subscriber]] = [:]
    private var victims: [ServedAttribute: [Victim]] = [:]
    private var last = 0

    // MARK: Subscriptions

    /// The number of a central's subscription; nil if there is none.
    func number(of central: DeviceID, _ attribute: ServedAttribute) -> Int? {
        subscribers[attribute]?[central]?.number
    }

    func socket(of central: DeviceID, _ attribute: ServedAttribute) -> Socket? {
        if case .socket(let socket)? = subscribers[attribute]?[central]?.state { return socket }
        return nil
    }

    /// Adds a subscriber. Returns the socket that its new socket replaces.
    mutating func subscribe(_ central: DeviceID, to attribute: ServedAttribute, _ socket: Socket) -> Socket? {
        let replaced = self.socket(of: central, attribute)
        last += 1
        subscribers[attribute, default: [:]][central] = Subscriber(number: last, state: .socket(socket))
        return replaced
    }

    /// Records that bluetoothd has closed a socket. Returns a number if ``decide(_:of:number:)`` must be called soon.
    mutating func socketEnded(_ socket: Socket, of central: DeviceID, _ attribute: ServedAttribute) -> Int? {
        guard let subscriber = subscribers[attribute]?[central], case .socket(let present) = subscriber.state,
            present === socket
        else { return nil }
        if victims[attribute]?.contains(where: { $0.number == subscriber.number }) == true {
            subscribers[attribute]?[central]?.state = .signaled
            return nil
        }
        subscribers[attribute]?[central]?.state = .undecided
        return subscriber.number
    }

    /// Returns whether a subscriber whose socket was closed has unsubscribed, because no other central's link has ended
    /// at about that time.
    mutating func decide(_ central: DeviceID, of attribute: ServedAttribute, number: Int) -> Bool {
        guard let subscriber = subscribers[attribute]?[central], subscriber.number == number,
            case .undecided = subscriber.state
        else { return false }
        remove(central, attribute)
        return true
    }

    /// Removes the subscribers without a socket after bluetoothd's `StopNotify`. Returns those that have a link.
    mutating func removeSignaled(_ attribute: ServedAttribute) -> [DeviceID] {
        var ended: [DeviceID] = []
        for (central, subscriber) in subscribers[attribute] ?? [:] {
            switch subscriber.state {
            case .socket, .undecided: continue
            case .signaled: ended.append(central)
            case .away: break
            }
            remove(central, attribute)
        }
        return ended
    }

    private mutating func remove(_ central: DeviceID, _ attribute: ServedAttribute) {
        subscribers[attribute]?[central] = nil
        if subscribers[attribute]?.isEmpty == true { subscribers[attribute] = nil }
    }

    // MARK: Links

    /// Records the end of a central's link. Returns its subscriptions, each with its socket, to be closed.
    ///
    /// For each subscription of a central without a bond, ``departureIsOver(_:)`` must be called a while later.
    mutating func linkEnded(
        _ central: DeviceID, isBonded: Bool
    ) -> [(attribute: ServedAttribute, socket: Socket?)] {
        var ended: [(ServedAttribute, Socket?)] = []
        for (attribute, present) in subscribers {
            guard let subscriber = present[central] else { continue }
            if case .away = subscriber.state { continue }
            ended.append((attribute, socket(of: central, attribute)))
            if isBonded {
                subscribers[attribute]?[central]?.state = .away
                continue
            }
            // The oldest subscriber for which bluetoothd had a socket.
            let oldest = present.filter { $0.value.hasHadSocket }.min { $0.value.number < $1.value.number }
            remove(central, attribute)
            let victim = oldest.flatMap { $0.key == central ? nil : $0 }
            // There is an entry for each departure, even without a victim.
            victims[attribute, default: []].append(
                Victim(central: victim?.key ?? central, number: victim?.value.number ?? 0))
            if let victim, case .undecided = victim.value.state {
                subscribers[attribute]?[victim.key]?.state = .signaled
            }
        }
        return ended
    }

    /// Handles the passing of the time in which bluetoothd closes another central's socket. Ends the oldest departure.
    mutating func departureIsOver(_ attribute: ServedAttribute) {
        guard victims[attribute]?.isEmpty == false else { return }
        victims[attribute]?.removeFirst()
        if victims[attribute]?.isEmpty == true { victims[attribute] = nil }
    }

    /// Records that a central has a link again. Returns the characteristics to which it is still subscribed.
    mutating func linkBegan(_ central: DeviceID) -> [ServedAttribute] {
        let attributes = subscribers.filter { if case .away? = $0.value[central]?.state { true } else { false } }
            .map(\.key)
        for attribute in attributes { subscribers[attribute]?[central]?.state = .signaled }
        return attributes
    }

    /// Forgets a central that bluetoothd has forgotten.
    mutating func forget(_ central: DeviceID) {
        for attribute in Array(subscribers.keys) { remove(central, attribute) }
    }

    /// Removes all subscriptions of the characteristics for which `isIncluded` is true. Returns the sockets, to be
    /// closed.
    mutating func removeAll(where isIncluded: (ServedAttribute) -> Bool) -> [Socket] {
        var sockets: [Socket] = []
        for (attribute, present) in subscribers where isIncluded(attribute) {
            for central in present.keys { if let socket = socket(of: central, attribute) { sockets.append(socket) } }
            subscribers[attribute] = nil
        }
        for attribute in victims.keys where isIncluded(attribute) { victims[attribute] = nil }
        return sockets
    }

    // MARK: Values

    /// Returns how a value reaches one subscriber.
    func route(_ attribute: ServedAttribute, to central: DeviceID) -> Route {
        guard let present = subscribers[attribute], let subscriber = present[central] else { return .nobody }
        switch subscriber.state {
        case .socket(let socket): return .socket(socket)
        case .undecided: return .undecided
        case .away: return .nobody
        case .signaled:
            let isAlone = present.allSatisfy { id, other in
                if id == central { return true }
                if case .away = other.state { return true }
                return false
            }
            return isAlone ? .signal : .unreachable
        }
    }

    /// Whether a value for all subscribers reaches at least one.
    func isAnyReached(by attribute: ServedAttribute) -> Bool {
        (subscribers[attribute] ?? [:]).values.contains { if case .away = $0.state { false } else { true } }
    }

    /// The sockets of a characteristic.
    func sockets(_ attribute: ServedAttribute) -> [Socket] {
        (subscribers[attribute] ?? [:]).keys.compactMap { socket(of: $0, attribute) }
    }
}

extension Subscribers.Subscriber {
    /// Whether bluetoothd had a socket for the subscriber until now.
    fileprivate var hasHadSocket: Bool {
        switch state {
        case .socket, .undecided: true
        case .signaled, .away: false
        }
    }
}
