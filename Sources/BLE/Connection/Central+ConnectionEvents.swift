/// The state and the events of a peripheral's connection, for observers.
extension Central {
    func connectionState(_ id: Peripheral.ID) -> ConnectionState {
        links[id]?.state ?? .disconnected
    }

    func connectionStates(_ id: Peripheral.ID) -> BoundedStream<ConnectionState> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        return links[id, default: Link()].states {
            [weak self] token in
            Task { await self?.removeStateObserver(token, of: id) }
        }
    }

    func connectionEvents(_ id: Peripheral.ID) -> BoundedStream<ConnectionEvent> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        return links[id, default: Link()].events { [weak self] token in
            Task { await self?.removeEventObserver(token, of: id) }
        }
    }

    private func removeStateObserver(_ token: Int, of id: Peripheral.ID) {
        links[id]?.removeStateObserver(token)
        removeLinkIfUnused(id)
    }

    private func removeEventObserver(_ token: Int, of id: Peripheral.ID) {
        links[id]?.removeEventObserver(token)
        removeLinkIfUnused(id)
    }

    func report(_ event: ConnectionEvent, of id: Peripheral.ID) { links[id]?.report(event) }

    /// Forgets a peripheral that is no longer used.
    func removeLinkIfUnused(_ id: Peripheral.ID) {
        if links[id]?.isDisposable == true { links[id] = nil }
    }
}
