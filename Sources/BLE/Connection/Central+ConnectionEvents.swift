/// The state and the events of a peripheral's connection, for observers.
extension Central {
    func connectionState(_ id: Peripheral.ID) -> ConnectionState {
        connections[id]?.machine.state ?? .disconnected
    }

    func connectionStates(_ id: Peripheral.ID) -> BoundedStream<ConnectionState> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        let state = connectionState(id)
        return connections[id, default: Connection()].stateObservers.add(capacity: 16, first: state) {
            [weak self] token in
            Task { await self?.removeStateObserver(token, of: id) }
        }
    }

    func connectionEvents(_ id: Peripheral.ID) -> BoundedStream<ConnectionEvent> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        return connections[id, default: Connection()].eventObservers.add(capacity: 64) { [weak self] token in
            Task { await self?.removeEventObserver(token, of: id) }
        }
    }

    private func removeStateObserver(_ token: Int, of id: Peripheral.ID) {
        connections[id]?.stateObservers.remove(token)
        removeConnectionIfUnused(id)
    }

    private func removeEventObserver(_ token: Int, of id: Peripheral.ID) {
        connections[id]?.eventObservers.remove(token)
        removeConnectionIfUnused(id)
    }

    func report(_ event: ConnectionEvent, of id: Peripheral.ID) { connections[id]?.eventObservers.yield(event) }

    /// Removes a connection that is no longer used.
    func removeConnectionIfUnused(_ id: Peripheral.ID) {
        if connections[id]?.isDisposable == true { connections[id] = nil }
    }
}
