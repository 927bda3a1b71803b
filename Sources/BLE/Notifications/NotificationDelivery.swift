internal import Logging

/// How the values that a peripheral notifies reach this process.
///
/// All streams of a characteristic share one registration, whose delivery is what the first of them asked for.
public enum NotificationDelivery: Hashable, Sendable {
    /// As signals on the bus. No early value is lost, and it works with every peripheral.
    case standard
    /// Over a socket of its own from bluetoothd (AcquireNotify), which costs a fraction: for many values a second.
    ///
    /// A stream that is full is not written to: the values wait in the socket until its reader has caught up, so that the
    /// overflow policy's capacity counts, but nothing is dropped here. bluetoothd drops what the socket does not hold, which is
    /// some 200 short values.
    ///
    /// Where there is no socket to be had (the characteristic only indicates; another program has its notifications on) the
    /// values come the standard way, and so they do when another program takes the socket away: the stream goes on after a
    /// gap.
    case socket
}

extension Central {
    func wantsChannel(_ attribute: AttributeID) -> Bool {
        guard let subscription = subscriptions[attribute] else { return false }
        return subscription.delivery == .socket && !subscription.hasLostChannel
    }

    /// True when the values come over a channel from now on, false when there is none to be had.
    func acquire(
        _ attribute: AttributeID, _ fanout: NotificationFanout, _ backend: any CentralBackend
    ) async throws(BLEError) -> Bool {
        do throws(BLEError) {
            try await backend.acquireNotifications(of: attribute) { fanout.offer($0) }
            return true
        } catch {
            guard [.notSupported, .busy].contains(error.code) else { throw error }
            logger.debug("no channel", metadata: ["attribute": "\(attribute.handle)", "error": "\(error)"])
            return false
        }
    }

    /// A reader has caught up, or has gone.
    func resume(_ fanout: NotificationFanout) async {
        guard fanout.hasRoom,
            let attribute = subscriptions.first(where: { $0.value.fanout === fanout })?.key,
            subscriptions[attribute]?.delivery == .socket
        else { return }
        await backend.resumeNotifications(of: attribute)
    }
}
