/// Connecting, and what is known of the link.
extension Peripheral {
    /// Connects and discovers the services. Returns immediately if the peripheral is already connected.
    ///
    /// Callers that connect at the same time share one attempt. Cancellation, or the deadline, ends this caller's wait.
    /// When no caller waits any longer, the attempt is cancelled, and no link remains, unless the link is maintained.
    ///
    /// - Parameter timeout: the maximum wait. Nil for the configuration's connect timeout.
    public func connect(timeout: Duration? = nil) async throws(BLEError) {
        try await central.connectToStay(id, timeout: timeout)
    }

    /// Ends the link, or the attempt to connect, and returns when the link is down. Does nothing if there is neither.
    ///
    /// A link that other programs use stays up for them: one that existed before this central connected, or one on
    /// which they have subscribed. For this central, it has ended as well. See Docs/Security.md for what bluetoothd
    /// does not report.
    ///
    /// A maintained link is no longer maintained. Throws `disconnectionFailed` or `timedOut` if the system cannot end
    /// the link.
    public func disconnect() async throws(BLEError) {
        try await central.disconnect(id)
    }

    /// The state of the connection.
    public var connectionState: ConnectionState {
        get async { await central.connectionState(id) }
    }

    /// The connection's current state and every later change. Keeps the newest 16 unread states.
    public func connectionStates() async -> BoundedStream<ConnectionState> {
        await central.connectionStates(id)
    }

    /// The services discovered on this connection. Nil if there is no link, or if they are not discovered yet.
    package var knownServices: GATTDatabase? {
        get async { await central.knownServices(id) }
    }

    /// Returns the services discovered on this connection, connecting if necessary.
    public func services() async throws(BLEError) -> GATTDatabase {
        try await central.services(id)
    }

    // MARK: Policy

    /// Sets how long the link stays and whether it is reestablished automatically; see ``ConnectionPolicy``.
    ///
    /// `.maintained` starts to connect and returns without waiting for it. Any other policy stops the maintenance; an
    /// existing link stays. Throws `shutDown`.
    public func setConnectionPolicy(_ policy: ConnectionPolicy) async throws(BLEError) {
        try await central.setPolicy(policy, of: id)
    }

    /// The policy that applies to this peripheral.
    public var connectionPolicy: ConnectionPolicy {
        get async { await central.policy(id) }
    }

    /// Sets a handler that runs on each new link, and immediately if there is a link.
    ///
    /// Before it runs, the services are discovered and the subscriptions that survived a gap are restored. Only one
    /// handler is kept; nil removes it. A handler that is still running when its link ends is cancelled. Its errors are
    /// logged.
    public func setConnectionHandler(_ handler: (@Sendable (Peripheral) async throws -> Void)?) async {
        await central.setConnectionHandler(handler, of: id)
    }

    /// The events of the connection from now on: attempts, their failures, links, their ends with the reasons, and
    /// changes of the services. Keeps the newest 64 unread events.
    public func connectionEvents() async -> BoundedStream<ConnectionEvent> {
        await central.connectionEvents(id)
    }

    /// Runs `body` with a link that is up when it starts and is not ended as idle while it runs.
    ///
    /// If there was no link, nor an attempt to make one, the link is ended afterward, unless ``connect(timeout:)`` was
    /// called meanwhile, or the policy says otherwise. If it is in use elsewhere, also for a ``PeripheralValues`` that
    /// exists, it ends a second after its last use. Of calls at the same time, the last one ends it. A link that was
    /// there before, or another in its place, stays, unless ``disconnect()`` was called meanwhile.
    public func withConnection<Value>(
        isolation: isolated (any Actor)? = #isolation, _ body: (Peripheral) async throws -> Value
    ) async throws -> Value {
        try await central.beginScope(id)
        do {
            let value = try await body(self)
            await central.endScope(id)
            return value
        } catch {
            await central.endScope(id)
            throw error
        }
    }

    // MARK: The link

    /// Returns the ATT MTU of the link, in bytes: the length of its longest Attribute Protocol packet, at least 23.
    ///
    /// The longest value in a notification is 3 bytes shorter. Connects if there is no link. Throws `notSupported` if
    /// bluetoothd does not report the MTU.
    public func attMTU() async throws(BLEError) -> Int {
        try await central.attMTU(id)
    }

    /// Returns the maximum number of bytes in a single write.
    ///
    /// With response, this is 512, the maximum length of an attribute. Without response, it is what fits one packet of
    /// the link; the call then connects if there is no link, and throws `notSupported` if bluetoothd does not report
    /// the MTU.
    public func maximumWriteLength(for type: WriteType) async throws(BLEError) -> Int {
        try await central.maximumWriteLength(id, for: type)
    }

    /// Returns the signal strength of the link, in dBm.
    ///
    /// Connects if there is no link. bluetoothd reports the strength of advertisements, not of links: throws
    /// `notSupported` unless the peripheral advertises while it is connected and a scan is running.
    public func signalStrength() async throws(BLEError) -> Int {
        try await central.signalStrength(id)
    }
}
