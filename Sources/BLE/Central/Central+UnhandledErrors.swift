internal import Logging

/// Errors of what the central does by itself, for which no caller waits.
extension Central {
    /// The errors that no caller receives, from now on: failed attempts to reestablish a maintained or automatic link,
    /// subscriptions that could not be restored, declared values that could not be read, connection handlers that
    /// threw, and the loss of Bluetooth.
    ///
    /// The central deals with each of them, most often by trying again; they are for a log or a user interface. Keeps
    /// the newest 64 unread errors.
    public func unhandledErrors() -> BoundedStream<BLEError> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        return unhandled.add(capacity: 64) { [weak self] token in
            Task { await self?.removeErrorObserver(token) }
        }
    }

    private func removeErrorObserver(_ token: Int) { unhandled.remove(token) }

    /// Logs an error that no caller receives, and reports it.
    func report(unhandled error: BLEError, while activity: String, of id: Peripheral.ID? = nil) {
        let error = id.map { error.at($0) } ?? error
        logger.debug("\(activity) failed", metadata: ["error": "\(error)"])
        // Ends that were asked for are no errors.
        if ![.cancelled, .shutDown, .connectionCancelled].contains(error.code), error.disconnectReason != .local {
            unhandled.yield(error)
        }
    }
}
