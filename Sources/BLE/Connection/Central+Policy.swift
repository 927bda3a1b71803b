internal import Logging
internal import Waiting

/// Connection policies, idle links, and the handlers of new links.
extension Central {
    func policy(_ id: Peripheral.ID) -> ConnectionPolicy {
        links[id]?.policy ?? configuration.connectionPolicy
    }

    /// Whether the link is reestablished automatically. A policy of the configuration takes effect when the link is
    /// first requested.
    func isMaintained(_ id: Peripheral.ID) -> Bool {
        links[id]?.isMaintained == true
    }

    func setPolicy(_ policy: ConnectionPolicy, of id: Peripheral.ID) throws(BLEError) {
        if isShutDown { throw .shutDown }
        let link = link(id)
        // A link that is up stays, as far as no scope ends it, and is ended as the new policy says.
        if !link.isInScope { link.keep() }
        if policy != .manual { link.pairing.keepLink() }
        // The next link is the first of the new policy.
        _ = link.takeLossCause()
        step(id) { $0.setPolicy(policy) }
        endStranded(id)
        considerIdle(link)
    }

    /// Applies the configuration's policy before a link is established for a caller, in its task.
    func applyPolicy(_ id: Peripheral.ID) {
        guard case .maintained = policy(id), !isMaintained(id) else { return }
        step(link(id), isCall: true) { $0.setPolicy(configuration.connectionPolicy) }
    }

    /// Retries the maintained connections when the adapter is on again.
    func retryConnections() {
        for id in Array(links.keys) { step(id) { $0.retry() } }
    }

    // MARK: Idle links

    /// How long a link that was made for a scope stays after its last use, if others have used it longer than the
    /// scope. Not zero: there are pauses between the steps of one use.
    private static let linger = Duration.seconds(1)

    /// Restarts the idle timer of a link that ends unused, if nothing uses it any longer.
    func considerIdle(_ id: Peripheral.ID) {
        if let link = links[id] { considerIdle(link) }
    }

    func considerIdle(_ link: Link) {
        link.setIdleTimer(nil)
        let idle: Duration
        switch link.policy ?? configuration.connectionPolicy {
        case .onDemand(let time) where link.isUnused: idle = time
        case .manual where link.hasServed: idle = Self.linger
        case .onDemand, .manual, .maintained: return
        }
        link.setIdleTimer(
            .after(idle, clock: clock, on: self, executor: taskExecutor) { [id = link.id] in $0.releaseIfUnused(id) })
    }

    private func releaseIfUnused(_ id: Peripheral.ID) {
        guard let link = links[id], policy(id) == .manual ? link.hasServed : link.isUnused else { return }
        logger.debug("disconnecting idle link", metadata: ["peripheral": "\(id)"])
        step(id) { $0.release() }
    }

    /// Establishes the link, and keeps it from becoming idle until ``endScope(_:)``.
    func beginScope(_ id: Peripheral.ID) async throws(BLEError) {
        link(id).beginScope()
        do throws(BLEError) {
            try await establish(id, timeout: nil)
        } catch {
            await endScope(id)
            throw error
        }
    }

    /// Ends a scope. The last one ends the link that was made for scopes, unless it is in use.
    func endScope(_ id: Peripheral.ID) async {
        guard let link = links[id] else { return }
        link.endScope()
        // The policy says when the link ends.
        if policy(id) != .manual, !link.isInScope { link.keep() }
        if link.hasServed, policy(id) == .manual { try? await disconnect(id) }
        considerIdle(id)
        removeLinkIfUnused(id)
    }

    // MARK: The handler of new links

    func setConnectionHandler(_ handler: (@Sendable (Peripheral) async throws -> Void)?, of id: Peripheral.ID) {
        guard !isShutDown else { return }
        link(id).setHandler(handler)
        stopHandler(id)
        if connectionState(id) == .connected { runHandler(id) }
        considerIdle(id)
        removeLinkIfUnused(id)
    }

    func runHandler(_ id: Peripheral.ID) {
        guard let handler = links[id]?.handler, connectionState(id) == .connected else { return }
        let peripheral = peripheral(id)
        // Several steps: a link that ends, or has another handler, cancels this task.
        let task = Task { [weak self] in
            do {
                try await handler(peripheral)
            } catch {
                // The end of the link cancels its handler.
                if Task.isCancelled { return }
                let error =
                    error as? BLEError ?? BLEError(.failed, "a connection handler failed: \(error)", cause: error)
                await self?.report(unhandled: error, while: "a connection handler", of: id)
            }
            await self?.handlerEnded(id)
        }
        links[id]?.setHandlerTask(task)
    }

    func handlerEnded(_ id: Peripheral.ID) {
        // Cancelled only here, in the central: another handler may run by now.
        guard !Task.isCancelled else { return }
        links[id]?.setHandlerTask(nil)
        considerIdle(id)
    }

    func stopHandler(_ id: Peripheral.ID) {
        links[id]?.setHandlerTask(nil)
    }
}
