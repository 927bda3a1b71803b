public import BLE
internal import Loop
internal import Waiting

/// Indications, and the confirmations of values that were sent over sockets: each central confirms its values in order,
/// independently of other centrals.
extension BlueZPeripheral {
    /// Sends the value, and waits until a central has confirmed it.
    public func indicate(
        _ value: [UInt8], from attribute: ServedAttribute, to central: DeviceID?
    ) async throws(BLEError) {
        guard applications[attribute.application] != nil else { throw .lost("the characteristic is not served now") }
        var key = AttributeOfCentral(attribute: attribute)
        let outcome = Outcome<Void>()
        defer { values.forget(outcome, of: key) }
        if let central {
            let isSent = try await send(value, from: attribute, to: central) { socket in
                if socket != nil { key.central = central }
                values.indicate(to: central, as: key, at: elapsed(), outcome)
            }
            guard isSent else { throw Self.lastIsGone }
        } else {
            values.indicate(to: nil, as: key, at: elapsed(), outcome)
            try await signal(value, from: attribute)
        }
        try await outcome.wait()
    }

    /// Counts a value that was sent over a socket. The central confirms it if it has requested indications.
    func countUnconfirmed(_ attribute: ServedAttribute, _ central: DeviceID) {
        guard applications[attribute.application]?.indicating.contains(attribute) == true else { return }
        values.sent(to: AttributeOfCentral(attribute: attribute, central: central), at: elapsed())
    }

    /// Begins a wait, if each value is confirmed, until the central has confirmed the one before, or can no longer. Nil
    /// if there is none to confirm.
    ///
    /// One value at a time is what the Attribute Protocol allows, and bluetoothd can tell of no more: of two
    /// confirmations, it reports one if the second arrives before it has reported the first (`sock_io_conf` in its
    /// `src/gatt-database.c`).
    func nextConfirmation(by central: DeviceID, _ attribute: ServedAttribute) -> Outcome<Void>? {
        let key = AttributeOfCentral(attribute: attribute, central: central)
        guard applications[attribute.application]?.onlyIndicating.contains(attribute) == true,
            values.unconfirmedCount(of: key, at: elapsed()) > 0
        else { return nil }
        return values.wait(for: key)
    }

    /// Waits for a confirmation, with a wait that the caller has begun.
    func wait(
        forConfirmation confirmation: Outcome<Void>, by central: DeviceID, _ attribute: ServedAttribute
    ) async throws(BLEError) {
        let key = AttributeOfCentral(attribute: attribute, central: central)
        do throws(BLEError) {
            try await wait(for: confirmation, of: key, within: UnconfirmedValues.limit)
        } catch {
            guard error.code == .timedOut else { throw error }
            // bluetoothd has ended the link by now, or the confirmation is lost. Nothing was sent meanwhile: this is
            // the turn of the value that waits.
            values.forgetUnconfirmed(key)
        }
    }

    /// Handles a confirmation, which bluetoothd reports with the call `Confirm` or over the socket of the central.
    func confirmed(by central: DeviceID?, _ attribute: ServedAttribute) {
        values.confirmed(AttributeOfCentral(attribute: attribute, central: central))
    }

    /// Fails the indications to a central over its socket, which it can no longer confirm.
    func withdraw(_ central: DeviceID, from attribute: ServedAttribute) {
        let key = AttributeOfCentral(attribute: attribute, central: central)
        values.forgetUnconfirmed(key)
        values.fail(key, Self.lastIsGone)
        values.settle(key)
    }

    /// Handles the end of a central's subscription: no `Confirm` follows for values that were signaled to this central
    /// alone, nor, if it was the last subscriber, for values that were signaled to all.
    func withdrawSignaled(to central: DeviceID, from attribute: ServedAttribute) {
        let isLast = !subscribers.isAnyReached(by: attribute)
        values.failSignaled(attribute, to: central, all: isLast, Self.lastIsGone)
    }

    /// Waits for outstanding confirmations, for at most half a second: if the socket is closed before they arrive,
    /// bluetoothd uses it nevertheless (`sock_io_conf` in its `src/gatt-database.c`).
    func awaitConfirmations(of application: Int) async {
        let begun = elapsed()
        while let each = applications[application]?.onlyIndicating,
            let key = values.keys(of: application).first(where: { values.isConfirming($0, each: each, at: elapsed()) })
        {
            let left = max(.zero, .milliseconds(500) - (elapsed() - begun))
            guard (try? await wait(for: values.wait(for: key), of: key, within: left)) != nil else { return }
        }
    }

    /// Waits until the subscriber has confirmed a value, or is no longer subscribed.
    ///
    /// - Parameter change: a wait that the caller has begun, in the step in which it saw that it must wait.
    private func wait(
        for change: Outcome<Void>, of key: AttributeOfCentral, within limit: Duration
    ) async throws(BLEError) {
        let expiry = change.expire(after: limit, clock: clockOfLimits) {
            BLEError(.timedOut, "the value was not confirmed")
        }
        defer {
            expiry.cancel()
            values.endWait(change, for: key)
        }
        try await change.wait()
    }

    /// The clock of the limits that this role sets itself.
    var clockOfLimits: any Clock<Duration> { context?.clock ?? stack.loop.clock }

    static let lastIsGone = BLEError(.disconnected, "the last subscriber is gone")
}
