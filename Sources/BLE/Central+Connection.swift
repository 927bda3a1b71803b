internal import Logging

/// One peripheral's connection in the central: the machine, who waits for it, and what its attempt found.
struct Connection {
    var machine = ConnectionMachine()
    var waiters: [Int: Outcome<Void>] = [:]
    var attempt: Task<Void, Never>?
    /// Why the last attempt failed.
    var error: BLEError?
    /// Why the link has ended while its services were being discovered.
    var lostInAttempt: BLEError?
    /// The services; nil before they are discovered and after they have changed.
    var database: GATTDatabase?
    var observers: [Int: BoundedStream<ConnectionState>.Producer] = [:]

    var isDisposable: Bool { machine.isIdle && waiters.isEmpty && observers.isEmpty }
}

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

    private func removeObserver(_ token: Int, of id: Peripheral.ID) {
        connections[id]?.observers[token] = nil
        tidy(id)
    }

    /// Forgets a connection that nobody has anything to do with.
    private func tidy(_ id: Peripheral.ID) {
        if connections[id]?.isDisposable == true { connections[id] = nil }
    }

    // MARK: Connecting and disconnecting

    func connect(_ id: Peripheral.ID, timeout: Duration?) async throws(BLEError) {
        try checkRunning()
        if connectionState(id) == .connected { return }
        let outcome = Outcome<Void>()
        let waiter = token()
        let deadline = deadline(timeout ?? configuration.connectTimeout, "connecting") { outcome.deliver(.failure($0)) }
        defer { deadline.cancel() }
        try await wait(on: id, waiter, outcome) {
            $0.connect(waiter)
        } abandon: {
            $0.abandon(waiter)
        }
    }

    func disconnect(_ id: Peripheral.ID) async throws(BLEError) {
        // (a cancelled task does not wait, but its link goes down all the same)
        if isShutDown { throw .shutDown }
        let outcome = Outcome<Void>()
        let waiter = token()
        let deadline = deadline(configuration.operationTimeout, "disconnecting") { outcome.deliver(.failure($0)) }
        defer { deadline.cancel() }
        // The link goes down whether or not anybody waits for it.
        try await wait(on: id, waiter, outcome) {
            $0.disconnect(waiter)
        } abandon: { _ in
            []
        }
    }

    private func wait(
        on id: Peripheral.ID, _ waiter: Int, _ outcome: Outcome<Void>,
        _ event: (inout ConnectionMachine) -> [ConnectionMachine.Action],
        abandon: (inout ConnectionMachine) -> [ConnectionMachine.Action]
    ) async throws(BLEError) {
        connections[id, default: Connection()].waiters[waiter] = outcome
        step(id, event)
        do throws(BLEError) {
            try await outcome.wait()
            connections[id]?.waiters[waiter] = nil
            tidy(id)
        } catch {
            connections[id]?.waiters[waiter] = nil
            step(id, abandon)
            tidy(id)
            throw error.at(id)
        }
    }

    /// Feeds the machine an event and carries out what it answers.
    private func step(_ id: Peripheral.ID, _ event: (inout ConnectionMachine) -> [ConnectionMachine.Action]) {
        guard var connection = connections[id] else { return }
        let actions = event(&connection.machine)
        connections[id] = connection
        for action in actions { carryOut(action, for: id) }
    }

    private func carryOut(_ action: ConnectionMachine.Action, for id: Peripheral.ID) {
        switch action {
        case .publish(let state):
            logger.debug("connection", metadata: ["peripheral": "\(id)", "state": "\(state)"])
            for observer in (connections[id]?.observers ?? [:]).values { observer.yield(state) }
        case .succeed(let waiters):
            for waiter in waiters { connections[id]?.waiters[waiter]?.deliver(.success(())) }
        case .fail(let waiters, let failure):
            let error: BLEError =
                switch failure {
                case .attempt: connections[id]?.error ?? BLEError(.connectionFailed, "the link could not be made")
                case .cancelledByDisconnect:
                    BLEError(.connectionCancelled, "a disconnect ended the attempt to connect")
                }
            for waiter in waiters { connections[id]?.waiters[waiter]?.deliver(.failure(error)) }
        case .startAttempt(let number):
            connections[id]?.attempt = Task { await self.attempt(number, on: id) }
        case .cancelAttempt:
            let attempt = connections[id]?.attempt
            attempt?.cancel()
            Task {
                await attempt?.value
                await self.takeDown(id)
            }
        case .startDisconnect:
            operations.fail(
                BLEError(.disconnected, "the link was ended by a disconnect", peripheral: id)
            ) { $0 == id }
            Task { await self.takeDown(id) }
        }
    }

    private func attempt(_ number: Int, on id: Peripheral.ID) async {
        do throws(BLEError) {
            try await backend.connect(id)
            connections[id]?.lostInAttempt = nil
            let database = try await backend.discoverServices(id)
            // The link may have ended between the backend's answer and this line.
            if let lost = connections[id]?.lostInAttempt { throw lost }
            connections[id]?.database = database
            step(id) { $0.attemptSucceeded(number) }
        } catch {
            logger.debug("connect failed", metadata: ["peripheral": "\(id)", "error": "\(error)"])
            // A link whose services cannot be had is of no use to anybody. (A cancelled attempt is taken down by whoever
            // cancelled it.)
            if !Task.isCancelled { try? await backend.disconnect(id) }
            connections[id]?.error = error
            step(id) { $0.attemptFailed(number) }
        }
        tidy(id)
    }

    private func takeDown(_ id: Peripheral.ID) async {
        do throws(BLEError) {
            try await backend.disconnect(id)
        } catch {
            logger.debug("disconnect failed", metadata: ["peripheral": "\(id)", "error": "\(error)"])
        }
        let error = BLEError(.disconnected, "the link was ended by a disconnect", peripheral: id)
        endSubscriptions(error) { $0.peripheral == id }
        connections[id]?.database = nil
        step(id) { $0.disconnectFinished() }
        tidy(id)
    }

    /// The link has ended by itself.
    func connectionLost(_ id: Peripheral.ID, _ error: BLEError) {
        seeAgain(id)
        connections[id]?.lostInAttempt = error
        guard connectionState(id) == .connected else { return }
        connections[id]?.database = nil
        step(id) { $0.linkLost() }
        tidy(id)
    }

    func endConnections(_ error: BLEError) {
        for connection in connections.values {
            connection.attempt?.cancel()
            for waiter in connection.waiters.values { waiter.deliver(.failure(error)) }
            for observer in connection.observers.values { observer.finish(throwing: error) }
        }
        connections = [:]
    }
}
