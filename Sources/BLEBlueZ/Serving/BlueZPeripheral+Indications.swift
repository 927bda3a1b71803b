public import BLE
internal import Loop
internal import Waiting

/// An indication on its way.
struct Confirmation {
    let outcome: Outcome<Void>
    /// The central that receives the indication. Nil for all subscribers.
    let central: Peripheral.ID?
    /// The number of awaited confirmations, of which the last is for this indication.
    var remaining = 1
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
    /// Whether one of the values was sent with `indicate`, even if its caller has been cancelled.
    private(set) var hasIndication = false

    /// Records that the next value is sent with `indicate`.
    mutating func indicate() { hasIndication = true }

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
        if !isAny { hasIndication = false }
    }
}

/// Indications, and the confirmations of values that were sent over sockets: each central confirms its values in order,
/// independently of other centrals.
extension BlueZPeripheral {
    /// Sends the value, and waits until a central has confirmed it.
    public func indicate(
        _ value: [UInt8], from attribute: ServedAttribute, to central: Peripheral.ID?
    ) async throws(BLEError) {
        guard applications[attribute.application] != nil else { throw .lost("the characteristic is not served now") }
        var key = SubscriberKey(attribute: attribute)
        let outcome = Outcome<Void>()
        defer {
            confirmations[key]?.removeAll { $0.outcome === outcome }
            if confirmations[key]?.isEmpty == true { confirmations[key] = nil }
        }
        if let central {
            let isSent = try await send(value, from: attribute, to: central) { socket in
                var confirmation = Confirmation(outcome: outcome, central: central)
                if socket != nil {
                    key.central = central
                    confirmation.remaining = (unconfirmed[key]?.count(at: elapsed()) ?? 0) + 1
                    unconfirmed[key, default: UnconfirmedValues()].indicate()
                }
                confirmations[key, default: []].append(confirmation)
            }
            guard isSent else { throw Self.lastIsGone }
        } else {
            confirmations[key, default: []].append(Confirmation(outcome: outcome, central: nil))
            try await signal(value, from: attribute)
        }
        try await outcome.wait()
    }

    /// Counts a value that was sent over a socket. The central confirms it if it has requested indications.
    func countUnconfirmed(_ attribute: ServedAttribute, _ central: Peripheral.ID) {
        guard applications[attribute.application]?.indicating.contains(attribute) == true else { return }
        unconfirmed[SubscriberKey(attribute: attribute, central: central), default: UnconfirmedValues()]
            .add(at: elapsed())
    }

    /// Waits, if each value is confirmed, until the central has confirmed the one before, or can no longer. Returns
    /// whether it was necessary to wait.
    ///
    /// One value at a time is what the Attribute Protocol allows, and bluetoothd can tell of no more: of two
    /// confirmations, it reports one if the second arrives before it has reported the first (`sock_io_conf` in its
    /// `src/gatt-database.c`).
    func hasWaitedForConfirmation(
        by central: Peripheral.ID, _ attribute: ServedAttribute
    ) async throws(BLEError) -> Bool {
        let key = SubscriberKey(attribute: attribute, central: central)
        guard applications[attribute.application]?.onlyIndicating.contains(attribute) == true,
            let count = unconfirmed[key]?.count(at: elapsed()), count > 0
        else { return false }
        let confirmation = Outcome<Void>()
        decisions[key, default: []].append(confirmation)
        let expiry = confirmation.expire(after: UnconfirmedValues.limit, clock: clockOfLimits) {
            BLEError(.timedOut, "the value before was not confirmed")
        }
        defer {
            expiry.cancel()
            decisions[key]?.removeAll { $0 === confirmation }
            if decisions[key]?.isEmpty == true { decisions[key] = nil }
        }
        do throws(BLEError) {
            try await confirmation.wait()
        } catch {
            guard error.code == .timedOut else { throw error }
            // bluetoothd has ended the link by now, or the confirmation is lost. Nothing was sent meanwhile: this is
            // the turn of the value that waits.
            unconfirmed[key] = nil
        }
        return true
    }

    /// Handles a confirmation, which bluetoothd reports with the call `Confirm` or over the socket of the central.
    func confirmed(by central: Peripheral.ID?, _ attribute: ServedAttribute) {
        let key = SubscriberKey(attribute: attribute, central: central)
        guard central != nil else {
            // `Confirm` contains neither the value nor the central, but bluetoothd sends the values in order.
            guard confirmations[key]?.isEmpty == false else { return }
            confirmations[key]?.removeFirst().outcome.deliver(.success(()))
            return
        }
        unconfirmed[key]?.remove()
        settle(key)
        for index in confirmations[key]?.indices ?? 0..<0 {
            confirmations[key]?[index].remaining -= 1
            if let confirmation = confirmations[key]?[index], confirmation.remaining <= 0 {
                confirmation.outcome.deliver(.success(()))
            }
        }
    }

    /// Fails the indications to a central over its socket, which it can no longer confirm.
    func withdraw(_ central: Peripheral.ID, from attribute: ServedAttribute) {
        let key = SubscriberKey(attribute: attribute, central: central)
        unconfirmed[key] = nil
        fail(key, Self.lastIsGone)
        settle(key)
    }

    /// Handles the end of a central's subscription: no `Confirm` follows for values that were signaled to this central
    /// alone, nor, if it was the last subscriber, for values that were signaled to all.
    func withdrawSignaled(to central: Peripheral.ID, from attribute: ServedAttribute) {
        let key = SubscriberKey(attribute: attribute)
        let isLast = !subscribers.isAnyReached(by: attribute)
        let withdrawn = confirmations[key, default: []].filter { $0.central == central || isLast }
        guard !withdrawn.isEmpty else { return }
        confirmations[key]?.removeAll { $0.central == central || isLast }
        for confirmation in withdrawn { confirmation.outcome.deliver(.failure(Self.lastIsGone)) }
    }

    /// Ends the indications that wait for one source of confirmations.
    func fail(_ key: SubscriberKey, _ error: BLEError) {
        for confirmation in confirmations.removeValue(forKey: key) ?? [] {
            confirmation.outcome.deliver(.failure(error))
        }
    }

    /// Ends the indications of characteristics that are no longer served.
    func failIndications(_ error: BLEError, where isIncluded: (ServedAttribute) -> Bool = { _ in true }) {
        for key in confirmations.keys where isIncluded(key.attribute) { fail(key, error) }
    }

    /// Waits for outstanding confirmations, for at most half a second: if the socket is closed before they arrive,
    /// bluetoothd uses it nevertheless (`sock_io_conf` in its `src/gatt-database.c`).
    func awaitConfirmations(of application: Int) async {
        let begun = elapsed()
        while let key = subscriberToConfirm(of: application) {
            let confirmation = Outcome<Void>()
            decisions[key, default: []].append(confirmation)
            let left = max(.zero, .milliseconds(500) - (elapsed() - begun))
            let expiry = confirmation.expire(after: left, clock: clockOfLimits) {
                BLEError(.timedOut, "the values were not confirmed")
            }
            defer { expiry.cancel() }
            guard (try? await confirmation.wait()) != nil else { return }
        }
    }

    /// Returns a subscriber whose confirmation is outstanding, even if the caller that waited for it is cancelled.
    private func subscriberToConfirm(of application: Int) -> SubscriberKey? {
        let onlyIndicating = applications[application]?.onlyIndicating ?? []
        return unconfirmed.first { key, values in
            key.attribute.application == application && values.isAny
                && (values.hasIndication || onlyIndicating.contains(key.attribute))
        }?.key
    }

    /// The clock of the limits that this role sets itself.
    var clockOfLimits: any Clock<Duration> { context?.clock ?? host.loop.clock }

    static let lastIsGone = BLEError(.disconnected, "the last subscriber is gone")
}
