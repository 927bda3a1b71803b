internal import Waiting

/// An operation of any value, as the queues see it.
protocol AnyPendingOperation: AnyObject, Sendable {
    var token: Int { get }
    var resource: Operations.Resource? { get }
    /// Whether the operation has no outcome yet.
    var isAwaited: Bool { get }
    func fail(_ error: BLEError)
}

/// An operation of the central, from its beginning to its outcome: its result, its deadline, the caller's cancellation,
/// or the end of the link, whichever comes first.
final class PendingOperation<Value: Sendable>: Sendable, AnyPendingOperation {
    let token: Int
    /// The peripheral whose link's end fails the operation. Nil if none does.
    let peripheral: Peripheral.ID?
    let resource: Operations.Resource?
    let outcome = Outcome<Value>()
    let deadline: Expiry
    /// Nil for an operation that is not observed.
    let observation: Observation?
    /// The maximum time for a backend to end work whose caller has the outcome. Nil if the caller does not wait for it.
    private let lingering: Duration?
    /// Delivered when the backend's work has ended.
    let end: Outcome<Void>?
    private let central: Central

    var isAwaited: Bool { outcome.isOpen }

    init(
        _ name: String, on peripheral: Peripheral.ID?, using resource: Operations.Resource?, _ token: Int,
        in central: Central, timeout: Duration, of total: Duration?, lingering: Duration?, _ observation: Observation?
    ) {
        (self.peripheral, self.resource, self.token, self.central) = (peripheral, resource, token, central)
        self.observation = observation
        self.lingering = lingering
        end = lingering == nil ? nil : Outcome()
        deadline = central.deadline(timeout, of: total, name, outcome)
    }

    func fail(_ error: BLEError) { outcome.deliver(.failure(error)) }

    /// Waits for the outcome.
    func value() async throws(BLEError) -> Value {
        do throws(BLEError) {
            return try await outcome.wait()
        } catch {
            // After an error of the backend, the operation is complete.
            let isRunning = await central.abandon(self, error.code)
            // After the end of the central, nothing can be done with its result.
            if isRunning, let end, let lingering, error.code != .shutDown {
                let expiry = Expiry(after: lingering, clock: central.deadlineClock) { end.deliver(.success(())) }
                // In a separate task, because this one may be cancelled.
                await Task { try? await end.wait() }.value
                expiry.cancel()
            }
            throw await central.explained(error)
        }
    }
}

extension Central {
    /// The operations on a peripheral, or on none.
    private subscript(operationsOn peripheral: Peripheral.ID?) -> Operations {
        get { peripheral.map { link($0).operations } ?? operations }
        _modify { if let peripheral { yield &link(peripheral).operations } else { yield &operations } }
    }

    /// Begins an operation, in the task of its caller. The caller must wait for its value.
    ///
    /// - Parameters:
    ///   - kind: what it is observed as. Nil if it is not observed.
    ///   - start: starts the operation when its turn has come. The backend's work ends with ``complete(_:_:at:)``, also
    ///     after a cancellation. Returns what cancels it.
    func begin<Value: Sendable>(
        _ name: String, as kind: OperationKind?, on peripheral: Peripheral.ID?,
        about characteristic: BluetoothUUID? = nil, using resource: Operations.Resource?, timeout: Duration,
        of total: Duration? = nil, lingering: Duration? = nil,
        start: @escaping @Sendable (isolated Central, PendingOperation<Value>) -> (@Sendable () -> Void)
    ) -> PendingOperation<Value> {
        let pending = PendingOperation<Value>(
            name, on: peripheral, using: resource, token(), in: self, timeout: timeout, of: total,
            lingering: lingering, kind.map { observe($0, on: peripheral ?? resource?.paired, characteristic) })
        let run: Operations.Start = { central in
            central[operationsOn: peripheral].willStart(pending)
            let cancel = start(central, pending)
            // It may be over already, and with it the use of the link.
            guard !pending.isAwaited else {
                return central[operationsOn: peripheral].didStart(pending, cancel: cancel)
            }
            cancel()
            if let peripheral { central.removeLinkIfUnused(peripheral) }
        }
        if self[operationsOn: peripheral].begin(pending, start: run) { run(self) }
        return pending
    }

    /// Ends an operation with its result. Its caller may have left.
    ///
    /// - Parameter now: the time, if it is known.
    func complete<Value>(
        _ pending: PendingOperation<Value>, _ result: Result<Value, BLEError>, at now: Duration? = nil
    ) {
        pending.deadline.cancel()
        startNext(self[operationsOn: pending.peripheral].complete(pending))
        if let peripheral = pending.peripheral { operationEnded(on: peripheral) }
        // The caller reports errors, and those that have come first.
        if pending.outcome.deliver(result), case .success = result { ended(pending.observation, nil, at: now) }
        pending.end?.deliver(.success(()))
    }

    /// Starts the operation that has waited for the one that has completed. If the backend completes it at once, the
    /// next one is not started within its start: there may be thousands.
    private func startNext(_ next: Operations.Start?) {
        guard let next else { return }
        starts.append(next)
        guard !isStarting else { return }
        isStarting = true
        while let start = starts.popFirst() { start(self) }
        isStarting = false
    }

    /// Cancels an operation whose caller has an error. Returns whether its work has begun and not ended.
    fileprivate func abandon<Value>(_ pending: PendingOperation<Value>, _ code: BLEError.Code) -> Bool {
        pending.deadline.cancel()
        ended(pending.observation, code)
        let cancel = self[operationsOn: pending.peripheral].abandon(pending)
        cancel?()
        // Nobody needs the answers any longer, even while the backend is ending the pairing.
        if cancel != nil, case .pairing(let id) = pending.resource { endPrompts(of: id) }
        if let peripheral = pending.peripheral { operationEnded(on: peripheral) }
        return cancel != nil
    }

    private func operationEnded(on peripheral: Peripheral.ID) {
        guard let link = links[peripheral] else { return }
        considerIdle(link)
        removeIfUnused(link)
    }

    /// Runs `body` in a task as an operation, and waits for its outcome.
    ///
    /// The caller never waits for a body that is slow to notice its cancellation, but the next operation on the same
    /// resource does.
    ///
    /// - Parameters:
    ///   - kind: what it is observed as. Nil if it is not observed.
    ///   - total: the time that the caller has given, of which `timeout` is the rest. Nil if it is `timeout`.
    ///   - lingering: how long a caller that has an error waits for a body that has begun to end. Nil if it does not
    ///     wait.
    func perform<Value: Sendable>(
        on peripheral: Peripheral.ID? = nil, timeout: Duration, of total: Duration? = nil, name: String,
        as kind: OperationKind? = nil, about characteristic: BluetoothUUID? = nil,
        using resource: Operations.Resource? = nil,
        lingering: Duration? = nil,
        _ body: @escaping @Sendable (any CentralBackend) async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        try await traced(name, on: peripheral, characteristic) { () throws(BLEError) in
            try await begin(
                name, as: kind, on: peripheral, about: characteristic, using: resource, timeout: timeout, of: total,
                lingering: lingering
            ) {
                $0.startTask($1, body)
            }.value()
        }
    }

    private func startTask<Value>(
        _ pending: PendingOperation<Value>,
        _ body: @escaping @Sendable (any CentralBackend) async throws(BLEError) -> Value
    ) -> @Sendable () -> Void {
        // A continuation resumes on the task's preferred executor, and not on the actor's that waits. Without the
        // preference, each wait would lead through another thread.
        let task = Task(executorPreference: backend.taskExecutor) { await self.run(pending, body) }
        return { task.cancel() }
    }

    private func run<Value>(
        _ pending: PendingOperation<Value>,
        _ body: @Sendable (any CentralBackend) async throws(BLEError) -> Value
    ) async {
        do throws(BLEError) {
            complete(pending, .success(try await body(backend)))
        } catch {
            complete(pending, .failure(error))
        }
    }
}
