extension PeripheralHost {
    /// What the host has done and met with since it was created, as one value. Also after the shutdown.
    ///
    /// The traits `MetricsSupport` and `DistributedTracingSupport` publish the same to other systems.
    public var statistics: HostStatistics {
        var statistics = counts
        statistics.connectedCount = isShutDown ? 0 : connectedCentrals.count
        return statistics
    }

    func count(_ event: CountedEvent) {
        counts.count(event)
        observer?.counted(event)
    }

    /// Begins to observe an operation.
    func observe(_ kind: OperationKind, _ attribute: ServedAttribute, _ central: DeviceID?) -> Observation {
        let end = observer?.began(
            ObservedOperation(kind: kind, peer: central, characteristic: place(of: attribute)?.characteristic))
        return Observation(kind: kind, begun: elapsed(), end: end)
    }

    /// Counts and reports an operation that has ended.
    ///
    /// - Parameter code: the code of its error. Nil if it has succeeded.
    func ended(_ observation: Observation, _ code: BLEError.Code?) {
        let duration = elapsed() - observation.begun
        counts.operations[observation.kind].ended(code, after: duration)
        observation.end?(code, duration)
    }
}
