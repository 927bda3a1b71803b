/// The state and the events of a peripheral's connection, for observers.
extension Central {
    func connectionState(_ id: Peripheral.ID) -> ConnectionState {
        connections[id]?.state ?? .disconnected
    }

    func connectionStates(_ id: Peripheral.ID) -> BoundedStream<ConnectionState> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        return connections[id, default: Connection()].states {
            [weak self] token in
            Task { await self?.removeStateObserver(token, of: id) }
        }
    }

    func connectionEvents(_ id: Peripheral.ID) -> BoundedStream<ConnectionEvent> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        return connections[id, default: Connection()].events { [weak self] token in
            Task { await self?.removeEventObserver(token, of: id) }
        }
    }

    private func removeStateObserver(_ token: Int, of id: Peripheral.ID) {
        connections[id]?.removeStateObserver(token)
        removeConnectionIfUnused(id)
    }

    private func removeEventObserver(_ token: Int, of id: Peripheral.ID) {
        connections[id]?.removeEventObserver(token)
        removeConnectionIfUnused(id)
    }

    func report(_ event: ConnectionEvent, of id: Peripheral.ID) { connections[id]?.report(event) }

    /// Removes a connection that is no longer used.
    func removeConnectionIfUnused(_ id: Peripheral.ID) {
        if connections[id]?.isDisposable == true { connections[id] = nil }
    }
}
