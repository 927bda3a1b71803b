/// The state and the events of a peripheral's connection, for observers.
extension Central {
    func connectionState(_ id: Peripheral.ID) -> ConnectionState {
        connections[id]?.machine.state ?? .disconnected
    }

    func connectionStates(_ id: Peripheral.ID) -> BoundedStream<ConnectionState> {
        let token = token()
        let (stream, producer) = BoundedStream.make(of: ConnectionState.self, policy: .dropOldest(capacity: 16)) {
            [weak self] in
            Task { await self?.removeObserver(token, of: id) }
        }
        guard !isShutDown else {
            producer.finish(throwing: .shutDown)
            return stream
        }
        connections[id, default: Connection()].observers[token] = producer
        producer.yield(connectionState(id))
        return stream
    }

    func connectionEvents(_ id: Peripheral.ID) -> BoundedStream<ConnectionEvent> {
        let token = token()
        let (stream, producer) = BoundedStream.make(of: ConnectionEvent.self, policy: .dropOldest(capacity: 64)) {
            [weak self] in
            Task { await self?.removeObserver(token, of: id) }
        }
        guard !isShutDown else {
            producer.finish(throwing: .shutDown)
            return stream
        }
        connections[id, default: Connection()].eventObservers[token] = producer
        return stream
    }

    private func removeObserver(_ token: Int, of id: Peripheral.ID) {
        connections[id]?.observers[token] = nil
        connections[id]?.eventObservers[token] = nil
        removeConnectionIfUnused(id)
    }

    func report(_ event: ConnectionEvent, of id: Peripheral.ID) {
        for observer in (connections[id]?.eventObservers ?? [:]).values { observer.yield(event) }
    }

    /// Removes a connection that is no longer used.
    func removeConnectionIfUnused(_ id: Peripheral.ID) {
        if connections[id]?.isDisposable == true { connections[id] = nil }
    }
}
