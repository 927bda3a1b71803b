/// A link with its services: what declared values belong to.
struct LinkVersion: Hashable {
    let number: Int
    let serviceChanges: Int
}

/// The state and the events of a peripheral's connection, for observers.
extension Central {
    /// Returns what belongs to a peripheral, to add to it.
    func link(_ id: Peripheral.ID) -> Link {
        if let link = links[id] { return link }
        let link = Link(id)
        links[id] = link
        return link
    }

    func connectionState(_ id: Peripheral.ID) -> ConnectionState {
        links[id]?.state ?? .disconnected
    }

    func connectionStates(_ id: Peripheral.ID) -> BoundedStream<ConnectionState> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        return link(id).states {
            [weak self] token in
            Task { await self?.removeStateObserver(token, of: id) }
        }
    }

    func connectionEvents(_ id: Peripheral.ID) -> BoundedStream<ConnectionEvent> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        return link(id).events { [weak self] token in
            Task { await self?.removeEventObserver(token, of: id) }
        }
    }

    /// Returns the events that declared values follow, from now on.
    func connectionEvents(_ id: Peripheral.ID, for values: ValueStore) -> BoundedStream<ConnectionEvent> {
        if !isShutDown { link(id).add(values) }
        return connectionEvents(id)
    }

    /// The number of the link that is up. Nil if none is. While the events are observed, no number comes twice.
    func linkNumber(_ id: Peripheral.ID) -> Int? { links[id]?.number }

    /// Waits until the values of the link that is up are ready, or those of the next one if it is maintained. The link
    /// cannot end between the question for it and the wait.
    func untilReady(_ values: ValueStore, _ id: Peripheral.ID) async throws(BLEError) {
        guard let number = links[id]?.number ?? (isMaintained(id) ? links[id]?.nextNumber : nil) else {
            throw BLEError(.disconnected, "the link has ended", peripheral: id)
        }
        try await values.untilReady(values.beginWait(on: number))
    }

    /// The number of the link that is up, and how often services have changed: nil if none is. And the number of the
    /// last link after which none follows by itself: nil if one follows.
    func linkVersion(_ id: Peripheral.ID) -> (version: LinkVersion?, last: Int?) {
        let link = links[id]
        let version = link?.number.map { LinkVersion(number: $0, serviceChanges: link?.serviceChanges ?? 0) }
        if case .maintained = policy(id) { return (version, nil) }
        return (version, (link?.nextNumber ?? 1) - 1)
    }

    /// Performs work that must not wait for another link than that with the number. Throws `disconnected` if that link
    /// has ended.
    func onLink<Value: Sendable>(
        _ number: Int, of id: Peripheral.ID,
        _ work: @Sendable (isolated Central, Peripheral.ID) async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        guard linkNumber(id) == number else {
            throw BLEError(.disconnected, "the link has ended", peripheral: id, disconnectReason: .unknown)
        }
        return try await work(self, id)
    }

    private func removeStateObserver(_ token: Int, of id: Peripheral.ID) {
        links[id]?.removeStateObserver(token)
        removeLinkIfUnused(id)
    }

    private func removeEventObserver(_ token: Int, of id: Peripheral.ID) {
        links[id]?.removeEventObserver(token)
        // Declared values that want a link may have been the last.
        if links[id]?.hasServed == true, policy(id) == .manual { considerIdle(id) }
        removeLinkIfUnused(id)
    }

    func report(_ event: ConnectionEvent, of id: Peripheral.ID) { links[id]?.report(event) }

    /// Forgets a peripheral that is no longer used.
    func removeLinkIfUnused(_ id: Peripheral.ID) {
        if let link = links[id] { removeIfUnused(link) }
    }

    func removeIfUnused(_ link: Link) {
        if link.isDisposable, links[link.id] === link { links[link.id] = nil }
    }
}
