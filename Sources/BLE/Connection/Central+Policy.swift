internal import Logging

/// How long links stay, and what is done with each new one.
extension Central {
    func policy(_ id: Peripheral.ID) -> ConnectionPolicy {
        connections[id]?.policy ?? configuration.connectionPolicy
    }

    /// The link is made anew by itself. (With a policy of the configuration's: once it has been wanted.)
    func isMaintained(_ id: Peripheral.ID) -> Bool {
        connections[id]?.machine.upkeep != nil
    }

    func setPolicy(_ policy: ConnectionPolicy, of id: Peripheral.ID) throws(BLEError) {
        if isShutDown { throw .shutDown }
        connections[id, default: Connection()].policy = policy
        switch policy {
        case .maintained(let backoff): step(id) { $0.maintain(backoff) }
        case .manual, .onDemand: step(id) { $0.maintain(nil) }
        }
        considerIdle(id)
    }

    /// Before a link is made: the configuration's policy counts for it too.
    func applyPolicy(_ id: Peripheral.ID) {
        guard case .maintained(let backoff) = policy(id), !isMaintained(id) else { return }
        connections[id, default: Connection()].policy = policy(id)
        step(id) { $0.maintain(backoff) }
    }

    /// The adapter is on again.
    func retryConnections() {
        for id in Array(connections.keys) { step(id) { $0.retry() } }
    }

    // MARK: Idle links

    /// Something that uses the link has ended: when it was the last, the link's time runs.
    func considerIdle(_ id: Peripheral.ID) {
        connections[id]?.idle?.cancel()
        connections[id]?.idle = nil
        guard case .onDemand(let idle) = policy(id), isUnused(id) else { return }
        connections[id]?.idle = Task { [weak self, clock = configuration.clock] in
            guard (try? await clock.sleep(for: idle)) != nil else { return }
            await self?.releaseIfUnused(id)
        }
    }

    private func isUnused(_ id: Peripheral.ID) -> Bool {
        guard let connection = connections[id], connection.machine.state == .connected else { return false }
        return connection.scopes == 0 && connection.waiters.isEmpty && connection.handling == nil
            && !operations.isAny(on: id) && !subscriptions.keys.contains { $0.peripheral == id }
    }

    private func releaseIfUnused(_ id: Peripheral.ID) {
        guard !Task.isCancelled, isUnused(id) else { return }
        logger.debug("idle", metadata: ["peripheral": "\(id)"])
        step(id) { $0.release() }
    }

    /// Keeps the link from being idle until ``endScope(_:hadLink:)``. True when there was a link already.
    func beginScope(_ id: Peripheral.ID) -> Bool {
        connections[id, default: Connection()].scopes += 1
        return connectionState(id) == .connected
    }

    func endScope(_ id: Peripheral.ID, hadLink: Bool) async {
        connections[id]?.scopes -= 1
        if !hadLink, policy(id) == .manual, isUnused(id) { try? await disconnect(id) }
        considerIdle(id)
        tidy(id)
    }

    // MARK: The handler of new links

    func setConnectionHandler(_ handler: (@Sendable (Peripheral) async throws -> Void)?, of id: Peripheral.ID) {
        guard !isShutDown else { return }
        connections[id, default: Connection()].handler = handler
        stopHandler(id)
        if connectionState(id) == .connected { runHandler(id) }
        tidy(id)
    }

    func runHandler(_ id: Peripheral.ID) {
        guard let handler = connections[id]?.handler, connectionState(id) == .connected else { return }
        let peripheral = peripheral(id)
        connections[id]?.handling = Task { [weak self] in
            do {
                try await handler(peripheral)
            } catch {
                self?.configuration.logger.info(
                    "a connection handler failed", metadata: ["peripheral": "\(id)", "error": "\(error)"])
            }
            guard !Task.isCancelled else { return }
            await self?.handlerEnded(id)
        }
    }

    private func handlerEnded(_ id: Peripheral.ID) {
        connections[id]?.handling = nil
        considerIdle(id)
    }

    func stopHandler(_ id: Peripheral.ID) {
        connections[id]?.handling?.cancel()
        connections[id]?.handling = nil
    }
}

extension Peripheral {
    /// How long the link stays and whether it is made anew by itself; see ``ConnectionPolicy``.
    ///
    /// `.maintained` begins to connect at once and returns without waiting for it. Another policy ends the upkeep; a link that
    /// is up stays. Throws `shutDown`.
    public func setConnectionPolicy(_ policy: ConnectionPolicy) async throws(BLEError) {
        try await central.setPolicy(policy, of: id)
    }

    /// The policy that counts for this peripheral.
    public var connectionPolicy: ConnectionPolicy {
        get async { await central.policy(id) }
    }

    /// Runs `handler` each time there is a new link, and now if there is one.
    ///
    /// By then the services are known and the subscriptions that have outlasted a gap are on again. Only one handler is kept;
    /// nil removes it. One that still runs when its link ends is cancelled; what it throws is logged.
    public func setConnectionHandler(_ handler: (@Sendable (Peripheral) async throws -> Void)?) async {
        await central.setConnectionHandler(handler, of: id)
    }

    /// What happens to the connection from here on: attempts, their failures, links and their ends with the reasons, changes
    /// of the services. Keeps the newest 64 that are not read yet.
    public func connectionEvents() async -> BoundedStream<ConnectionEvent> {
        await central.connectionEvents(id)
    }

    /// Runs `body` with a link that is up at its start and is not ended as idle before its end.
    ///
    /// A link that was made for this is ended afterwards, unless others use it or the policy says otherwise.
    public func withConnection<Value>(
        isolation: isolated (any Actor)? = #isolation, _ body: (Peripheral) async throws -> Value
    ) async throws -> Value {
        let hadLink = await central.beginScope(id)
        do {
            try await connect()
            let value = try await body(self)
            await central.endScope(id, hadLink: hadLink)
            return value
        } catch {
            await central.endScope(id, hadLink: hadLink)
            throw error
        }
    }
}
