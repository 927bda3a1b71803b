extension Central {
    /// What the central has done and met with since it was created, as one value. Also after the shutdown.
    ///
    /// The traits `MetricsSupport` and `DistributedTracingSupport` publish the same to other systems.
    public var statistics: CentralStatistics {
        var statistics = counts
        statistics.connectedCount = stateWatch.connectedCount
        statistics.droppedValueCount = drops.values.count
        statistics.droppedDiscoveryCount = drops.discoveries.count
        return statistics
    }

    func count(_ event: CountedEvent) {
        counts.count(event)
        observer?.counted(event)
    }

    /// Begins to observe an operation, in the task of its caller.
    func observe(
        _ kind: OperationKind, on peripheral: Peripheral.ID?, _ characteristic: BluetoothUUID? = nil
    ) -> Observation {
        let end = observer?.began(
            ObservedOperation(kind: kind, peer: peripheral, characteristic: characteristic))
        return Observation(kind: kind, begun: elapsed(), end: end)
    }

    /// Counts and reports an operation that has ended.
    ///
    /// - Parameters:
    ///   - observation: the operation. Nil for one that is not observed.
    ///   - code: the code of its error. Nil if it has succeeded.
    ///   - now: the time, if it is known.
    func ended(_ observation: Observation?, _ code: BLEError.Code?, at now: Duration? = nil) {
        guard let observation else { return }
        let duration = (now ?? elapsed()) - observation.begun
        counts.operations[observation.kind].ended(code, after: duration)
        observation.end?(code, duration)
    }

    // MARK: Links

    /// Counts what a new state of a connection means.
    func count(_ state: ConnectionState, of link: Link) {
        guard stateWatch.set(link.id, isConnected: state == .connected) else { return }
        if state == .connected {
            count(.linkEstablished)
            if let cause = link.takeLossCause(), link.isMaintained { count(.reconnected(cause)) }
        } else {
            // A link that this program ends is being ended first.
            let loss = link.error?.code == .bluetoothLost ? DisconnectReason.bluetoothLost : .unknown
            let reason = state == .disconnecting ? .local : link.error?.disconnectReason ?? loss
            link.ended(reason)
            count(.linkEnded(reason))
        }
    }

    /// Reports the end of the attempt that the central has made by itself, if that is what has ended.
    func reconnectEnded(_ link: Link, _ code: BLEError.Code?) {
        ended(link.takeReconnect(), code)
    }
}
