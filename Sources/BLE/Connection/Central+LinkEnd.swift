internal import Logging
internal import Waiting

/// How links end: by this program, or by themselves. See also ``Link/end(_:keepsSubscriptions:)``.
extension Central {
    func disconnect(_ id: Peripheral.ID) async throws(BLEError) {
        // A cancelled task does not wait, but its link is still ended.
        if isShutDown { throw .shutDown }
        if let link = links[id], link.isInScope { link.leaveToUsers() }
        let outcome = Outcome<Void>()
        let waiter = token()
        let deadline = deadline(configuration.operationTimeout, "disconnecting", outcome)
        defer { deadline.cancel() }
        // The link is ended even if the caller stops waiting, and is not reestablished automatically.
        try await wait(on: id, waiter, outcome, limit: configuration.operationTimeout) {
            $0.disconnect(waiter)
        } abandon: { _ in
            []
        }
        endStranded(id)
    }

    /// Ends the streams and the waits for values that depend on the next link, if the link is no longer maintained.
    func endStranded(_ id: Peripheral.ID) {
        guard connectionState(id) == .disconnected, !isMaintained(id), let link = links[id] else { return }
        let error = BLEError(
            .disconnected, "this program no longer maintains the link", peripheral: id, disconnectReason: .local)
        finish(link.subscriptions.endAll(), error)
        link.endWaits(error)
    }

    func endedHere(_ id: Peripheral.ID) -> BLEError {
        BLEError(.disconnected, "this program has ended the link", peripheral: id, disconnectReason: .local)
    }

    /// Has the backend end the link that a failed attempt may have made. Returns whether it has done so.
    func isDown(_ id: Peripheral.ID) async -> Bool {
        do throws(BLEError) {
            try await backend.disconnect(id)
            return true
        } catch {
            logger.debug("disconnect failed", metadata: ["peripheral": "\(id)", "error": "\(error)"])
            return false
        }
    }

    func endLink(_ id: Peripheral.ID, _ reason: BLEError) async {
        var (reason, failure): (BLEError, BLEError?) = (reason, nil)
        // At the shutdown, the backend ends its links by itself.
        guard !isShutDown, let link = links[id] else { return }
        do throws(BLEError) {
            try await backend.disconnect(id)
        } catch {
            logger.debug("disconnect failed", metadata: ["peripheral": "\(id)", "error": "\(error)"])
            // A link that has ended by itself meanwhile is down all the same, for its own reason.
            if link.hasEnded { reason = link.loss ?? reason } else { failure = error }
        }
        endUses(of: link, endedHere(id), keepsSubscriptions: false)
        link.voidServices()
        link.fail(failure ?? reason)
        step(link) { $0.disconnectFinished(hasFailed: failure != nil) }
        removeLinkIfUnused(id)
    }

    /// Ends everything that uses a link.
    private func endUses(of link: Link, _ error: BLEError, keepsSubscriptions: Bool) {
        let ended = link.end(error, keepsSubscriptions: keepsSubscriptions)
        endPrompts(of: link.id)
        finish(ended, error)
    }

    /// Handles a link that ended without a call to disconnect.
    func linkEnded(_ id: Peripheral.ID, _ error: BLEError) {
        scanning.refreshLastSeen(id, now: elapsed())
        guard let link = links[id] else { return }
        let error = error.at(id)
        endUses(of: link, error, keepsSubscriptions: link.isMaintained)
        link.linkLost(error)
        if link.state == .disconnecting { step(link) { $0.linkLost() } }
        guard link.state == .connected || link.mayBeUp else { return }
        link.voidServices()
        link.fail(error)
        step(link) { $0.linkLost() }
        removeLinkIfUnused(id)
    }
}
