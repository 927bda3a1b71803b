internal import BLE

/// Who has subscribed to the characteristics that are served, each with a socket of its own (AcquireNotify).
///
/// bluetoothd closes a socket when its central unsubscribes or its link ends. When the link of a subscriber without a
/// bond ends, it closes the socket of the oldest subscriber, too, whichever that is (`ccc_write_cb` without an operation
/// in its `src/gatt-database.c`; BlueZ's issue 1452). And a central with a bond remains subscribed on its next link, for
/// which bluetoothd asks for no socket. Both still receive the property `Value`, which is sent to all.
struct Subscribers<Socket: AnyObject & Sendable>: Sendable {
    private enum State: Sendable {
        case socket(Socket)
        /// bluetoothd has closed the socket: the central has unsubscribed, or the link of another one has ended.
        case undecided
        /// It is subscribed, and has no socket.
        case signaled
        /// Its link has ended. It is subscribed again on the next one.
        case away
    }

    /// How a value reaches those that it is for.
    enum Route: Sendable {
        /// Over these sockets.
        case sockets([(central: Peripheral.ID, socket: Socket)])
        /// As the property `Value`.
        case signal
        /// There is nobody.
        case nobody
        /// It is about to be known whether the central is still subscribed.
        case undecided
        /// The central has no socket, and the property would be sent to others, too.
        case unreachable
    }

    private var states: [ServedAttribute: [Peripheral.ID: State]] = [:]
    /// The characteristics with subscribers that bluetoothd does not tell apart, after `StartNotify`.
    private var unnamed: Set<ServedAttribute> = []
    /// The links of subscribers without a bond that have just ended.
    private var departures: [ServedAttribute: Int] = [:]

    // MARK: Subscriptions

    /// Adds a subscriber. Returns the socket that its new one replaces.
    mutating func subscribe(_ central: Peripheral.ID, to attribute: ServedAttribute, _ socket: Socket) -> Socket? {
        let replaced = states[attribute, default: [:]].updateValue(.socket(socket), forKey: central)
        if case .socket(let socket)? = replaced { return socket }
        return nil
    }

    /// Records whether a characteristic has subscribers that bluetoothd does not tell apart.
    mutating func setUnnamed(_ hasUnnamed: Bool, of attribute: ServedAttribute) {
        if hasUnnamed { unnamed.insert(attribute) } else { unnamed.remove(attribute) }
    }

    /// Records that bluetoothd has closed a socket. Returns whether ``decide(_:of:)`` must be called soon.
    mutating func socketEnded(_ socket: Socket, of central: Peripheral.ID, _ attribute: ServedAttribute) -> Bool {
        guard case .socket(let present)? = states[attribute]?[central], present === socket else { return false }
        let hasDeparture = departures[attribute] != nil
        states[attribute]?[central] = hasDeparture ? .signaled : .undecided
        return !hasDeparture
    }

    /// Returns whether a subscriber whose socket was closed has unsubscribed: no other's link has ended about then.
    mutating func decide(_ central: Peripheral.ID, of attribute: ServedAttribute) -> Bool {
        guard case .undecided? = states[attribute]?[central] else { return false }
        remove(central, attribute)
        return true
    }

    private mutating func remove(_ central: Peripheral.ID, _ attribute: ServedAttribute) {
        states[attribute]?[central] = nil
        if states[attribute]?.isEmpty == true { states[attribute] = nil }
    }

    // MARK: Links

    /// Records the end of a central's link. Returns its subscriptions, each with its socket, to be closed.
    ///
    /// For each of those of a central without a bond, ``departureIsOver(_:)`` must be called a while later.
    mutating func linkEnded(_ central: Peripheral.ID, isBonded: Bool) -> [(attribute: ServedAttribute, socket: Socket?)]
    {
        var ended: [(ServedAttribute, Socket?)] = []
        for (attribute, centrals) in states {
            switch centrals[central] {
            case nil, .away?: continue
            case .socket(let socket)?: ended.append((attribute, socket))
            case .undecided?, .signaled?: ended.append((attribute, nil))
            }
            if isBonded {
                states[attribute]?[central] = .away
                continue
            }
            remove(central, attribute)
            departures[attribute, default: 0] += 1
            for (other, state) in states[attribute] ?? [:] {
                if case .undecided = state { states[attribute]?[other] = .signaled }
            }
        }
        return ended
    }

    mutating func departureIsOver(_ attribute: ServedAttribute) {
        guard let count = departures[attribute] else { return }
        departures[attribute] = count > 1 ? count - 1 : nil
    }

    /// Records that a central has a link again. Returns what it is still subscribed to.
    mutating func linkBegan(_ central: Peripheral.ID) -> [ServedAttribute] {
        let attributes = states.filter { if case .away? = $0.value[central] { true } else { false } }.map(\.key)
        for attribute in attributes { states[attribute]?[central] = .signaled }
        return attributes
    }

    /// Forgets a central that bluetoothd has forgotten.
    mutating func forget(_ central: Peripheral.ID) {
        for attribute in Array(states.keys) { remove(central, attribute) }
    }

    /// Removes everything of the characteristics for which `isIncluded` is true. Returns the sockets, to be closed.
    mutating func removeAll(where isIncluded: (ServedAttribute) -> Bool) -> [Socket] {
        var sockets: [Socket] = []
        for (attribute, centrals) in states where isIncluded(attribute) {
            for case .socket(let socket) in centrals.values { sockets.append(socket) }
            states[attribute] = nil
        }
        for attribute in unnamed where isIncluded(attribute) { unnamed.remove(attribute) }
        for attribute in departures.keys where isIncluded(attribute) { departures[attribute] = nil }
        return sockets
    }

    // MARK: Values

    /// Returns the way of a value to one subscriber, or to all.
    func route(_ attribute: ServedAttribute, to central: Peripheral.ID?) -> Route {
        var sockets: [(central: Peripheral.ID, socket: Socket)] = []
        // Those who receive the property.
        var count = unnamed.contains(attribute) ? 1 : 0
        var needsSignal = count > 0
        for (id, state) in states[attribute] ?? [:] {
            switch state {
            case .away: continue
            case .socket(let socket): if central == nil || id == central { sockets.append((id, socket)) }
            case .undecided where id == central: return .undecided
            case .undecided, .signaled: if central == nil || id == central { needsSignal = true }
            }
            count += 1
        }
        guard let central else { return needsSignal || sockets.isEmpty ? .signal : .sockets(sockets) }
        if !sockets.isEmpty { return .sockets(sockets) }
        switch states[attribute]?[central] {
        case nil, .away?: return .nobody
        default: return count == 1 ? .signal : .unreachable
        }
    }
}
