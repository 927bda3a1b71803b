internal import BLE

/// This program's part in the kernel's discovery, of which an adapter has one for all programs.
///
/// The kernel ends each discovery after 10.24 s. The advertisements of a discovery are sent to all programs, so that of
/// another program is used, and is left alone. After its end, and after an end that another program has caused, the
/// next start is left to the other program for a while: bluetoothd stops a discovery in order to start one with other
/// parameters, and its client waits, or fails, if another one runs by then.
struct ManagementDiscovery {
    private enum State: Equatable {
        /// No discovery is wanted.
        case idle
        /// The start has no answer yet.
        case starting
        /// The discovery that was started here runs, since a time.
        case own(since: Duration)
        /// That of another program runs.
        case foreign
        case pausing(Pause)
    }

    private enum Pause: Equatable {
        /// The other program's discovery has ended, and bluetoothd does not say that it scans.
        case free
        /// A discovery has ended, and bluetoothd says that it scans: it starts the next one.
        case taken
        /// The discovery that was started here was stopped, by another program or for a link, or could not be started.
        case stopped
    }

    enum Effect: Equatable {
        case send(ManagementCommand)
        /// A discovery runs for the first time.
        case begun
        /// No discovery is wanted any more, because of an answer; nil for one that has not come.
        case failed(ManagementStatus?)
    }

    private var state = State.idle
    private var hasBegun = false
    /// Whether bluetoothd says that it scans for a client.
    private var isNeighborScanning = false
    /// The number of the state. Each state has its own time limit.
    private(set) var turn = 0

    /// How long the kernel's discovery takes at least, if nobody stops it.
    static let shortest = Duration.seconds(10)
    /// How long it takes at most. Beyond that, its end was missed: a socket without room drops events.
    static let longest = Duration.seconds(15)
    /// How long another program may take for its next start.
    static let brief = Duration.milliseconds(500)
    /// How long bluetoothd may take for it, which pauses for 5 s between two scans of clients without filters.
    static let long = Duration.seconds(6)

    /// How long the state may last. Nil if it has no limit.
    var limit: Duration? {
        switch state {
        case .idle: nil
        case .starting: BlueZStack.promptly
        case .own, .foreign: Self.longest
        case .pausing(.free): Self.brief
        case .pausing(.taken), .pausing(.stopped): Self.long
        }
    }

    /// Whether the start has no answer yet.
    var isStarting: Bool { state == .starting }

    /// Whether the discovery that runs was started here.
    var isOwn: Bool { if case .own = state { true } else { false } }

    private mutating func enter(_ state: State) {
        turn += 1
        self.state = state
    }

    private mutating func start() -> [Effect] {
        enter(.starting)
        return [.send(.startServiceDiscovery)]
    }

    // MARK: What is wanted

    /// Begins to take part.
    mutating func begin() -> [Effect] {
        guard state == .idle else { return [] }
        hasBegun = false
        return start()
    }

    /// Ends to take part. Whether a start that has no answer yet has succeeded, is left to the caller.
    mutating func end() -> [Effect] {
        defer { enter(.idle) }
        return isOwn ? [.send(.stopDiscovery)] : []
    }

    // MARK: What happens

    /// Handles the answer to a start.
    ///
    /// - Parameter now: the time, by the clock that measures the limits.
    mutating func answered(_ status: ManagementStatus, at now: Duration) -> [Effect] {
        guard state == .starting else { return [] }
        switch status {
        case .success: enter(.own(since: now))
        case .busy: enter(.foreign)
        case _ where !hasBegun, .unknownCommand, .notSupported, .permissionDenied: return fail(status)
        default:
            // A link is being made, or the adapter is off, of which bluetoothd will tell.
            enter(.pausing(.stopped))
            return []
        }
        defer { hasBegun = true }
        return hasBegun ? [] : [.begun]
    }

    /// Handles the beginning or the end of a discovery, whoever has caused it.
    mutating func changed(isOn: Bool, at now: Duration) -> [Effect] {
        switch (state, isOn) {
        case (.pausing, true): enter(.foreign)
        case (.foreign, false): enter(.pausing(isNeighborScanning ? .taken : .free))
        case (.own(let start), false):
            guard now - start >= Self.shortest else {
                enter(.pausing(.stopped))
                break
            }
            // A client of bluetoothd's may wait for its answer until bluetoothd has started a discovery itself.
            if !isNeighborScanning { return self.start() }
            enter(.pausing(.taken))
        default: break
        }
        return []
    }

    /// Handles a link that was made, or could not be made, whichever program has asked for it. The kernel stops a
    /// discovery to make it, and nobody has to be given the first word.
    mutating func linkChanged() {
        if state == .pausing(.stopped) { enter(.pausing(.free)) }
    }

    /// Handles what bluetoothd says of its own scan.
    mutating func neighborChanged(isScanning: Bool) {
        isNeighborScanning = isScanning
        if !isScanning, state == .pausing(.taken) { enter(.pausing(.free)) }
    }

    /// Handles the end of a time limit, unless the state has changed since.
    mutating func expired(_ turn: Int) -> [Effect] {
        guard turn == self.turn else { return [] }
        switch state {
        case .idle: return []
        case .starting where !hasBegun: return fail(nil)
        // Whatever was missed, the answer tells whether a discovery runs.
        case .starting, .own, .foreign, .pausing: return start()
        }
    }

    private mutating func fail(_ status: ManagementStatus?) -> [Effect] {
        enter(.idle)
        return [.failed(status)]
    }
}

extension BLEError {
    /// The error for a discovery that the kernel does not start.
    ///
    /// - Parameter status: the answer; nil if there was none.
    init(managementStatus status: ManagementStatus?) {
        guard let status else {
            self.init(.timedOut, "the kernel's management socket did not answer")
            return
        }
        switch status {
        case .permissionDenied:
            self.init(
                .unauthorized, "this program may not receive advertisements from the kernel's management socket",
                isRetryable: false,
                remedy: "Give it the capability CAP_NET_ADMIN: AmbientCapabilities=CAP_NET_ADMIN in its unit, or "
                    + "setcap cap_net_admin+ep PROGRAM. Or let bluetoothd report the advertisements.")
        case .notPowered: self.init(.poweredOff, "the adapter is switched off", remedy: "Switch it on.")
        case .invalidIndex: self.init(.adapterNotFound, "the kernel does not have the adapter", remedy: "Plug it in.")
        case .unknownCommand, .notSupported:
            self.init(
                .notSupported, "the kernel's management socket answered with the status \(status.rawValue)",
                isRetryable: false, remedy: "Let bluetoothd report the advertisements.")
        default:
            self.init(
                .scanFailed, "the kernel did not start the scan: it answered with the status \(status.rawValue)",
                isRetryable: true, remedy: "Scan again.")
        }
    }
}
