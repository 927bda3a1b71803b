internal import BLE
internal import Logging
internal import Loop
internal import Waiting

/// Scans through the kernel's management socket, on the stack's executor: takes part in the kernel's discovery
/// (`ManagementDiscovery`), and receives its advertisements.
///
/// The kernel sends what it receives to every such socket of a program with the capability `CAP_NET_ADMIN`, whichever
/// program has started the discovery.
actor ManagementScanner: BlueZRole {
    enum Event: Sendable {
        /// An advertisement was received.
        case received(Peripheral.ID, Advertisement)
        /// Too many peripherals have been heard, and this one not for long.
        case forgotten(Peripheral.ID)
        /// The scan has ended: the socket has, or the kernel has taken the permission away.
        case ended(BLEError)
    }

    nonisolated let stack: BlueZStack
    private let source: ManagementSocket
    private let clock: any Clock<Duration>
    /// The time, by that clock.
    private let elapsed: @Sendable () -> Duration
    private let report: @Sendable (Event) -> Void
    private var socket: PacketSocket?
    /// The central's number with the stack.
    private var role = 0
    /// The number of the adapter whose advertisements are reported.
    private var adapter: UInt16 = 0
    private(set) var discovery = ManagementDiscovery()
    /// Succeeds when the discovery runs for the first time.
    private var beginning = Outcome<Void>()
    /// Ends the state of the discovery with that number.
    private var limit: (turn: Int, timer: Expiry)?
    /// A socket that is closed when the kernel has answered a start, which then is stopped.
    private var leaving: (socket: PacketSocket, timer: Expiry)?
    /// How much later than it is received an advertisement may be reported.
    private var tolerance = Duration.zero
    /// Ends a pause, in which advertisements wait in the socket.
    private var pause: LoopTimer?

    nonisolated var unownedExecutor: UnownedSerialExecutor { stack.unownedExecutor }

    /// - Parameters:
    ///   - source: opens the socket.
    ///   - report: receives events, on the stack's executor.
    init(
        _ stack: BlueZStack, _ source: ManagementSocket, clock: any Clock<Duration>,
        report: @escaping @Sendable (Event) -> Void
    ) {
        (self.stack, self.source, self.clock, self.report) = (stack, source, clock, report)
        elapsed = Central.stopwatch(clock)
    }

    deinit {
        // A central that is released without a shutdown.
        limit?.timer.cancel()
        guard let socket else { return }
        for case .send(let command) in discovery.end() { _ = try? socket.send(command.packet(adapter: adapter)) }
        stack.loop.perform { socket.close() }
    }

    /// The maximum length of a pause, in which the socket's buffer has to hold what arrives.
    private static let longestPause = Duration.milliseconds(100)
    /// The maximum number of advertisements to handle before the loop does its other work.
    private static let packetsPerTurn = 256
    /// The same before the end, of about twice as many as the socket holds.
    private static let packetsPerStop = 4096

    // MARK: Starting and stopping

    /// Whether a discovery has begun, and the socket has not ended since.
    nonisolated var isOn: Bool { assumeIsolated { $0.socket != nil && !$0.beginning.isOpen } }

    /// Opens the socket, unless it is open. Returns when a discovery runs. An earlier call must have returned.
    ///
    /// Throws `unauthorized`, `notSupported`, `poweredOff`, `adapterNotFound`, `scanFailed` and `timedOut`, and
    /// `failed` also if it is stopped meanwhile.
    ///
    /// - Parameter role: the central's number with the stack.
    func start(for role: Int) async throws(BLEError) {
        guard socket == nil else { return }
        self.role = role
        let id = BlueZ.adapterID(adapterPath)
        guard id.hasPrefix("hci"), let number = UInt16(id.dropFirst(3)) else {
            throw BLEError(.notSupported, "the kernel has no adapter \(id)", isRetryable: false)
        }
        adapter = number
        let descriptor = try source.open().get()
        if let error = ManagementFilter(adapter: number).attach(to: descriptor) {
            onStack {
                $0.logger.debug("the kernel does not filter advertisements", metadata: ["error": "\(error)"])
            }
        }
        let socket = PacketSocket(descriptor, on: stack.loop)
        self.socket = socket
        let beginning = Outcome<Void>()
        self.beginning = beginning
        socket.open { [weak self, unowned socket] packet in
            self?.assumeIsolated { $0.receive(packet, from: socket) } ?? true
        } onEnd: { [weak self, unowned socket] in
            self?.assumeIsolated { $0.ended(socket) }
        }
        do throws(BLEError) {
            discovery.neighborChanged(isScanning: objects.adapters[adapterPath]?.isDiscovering == true)
            apply(discovery.begin())
            try await beginning.wait()
        } catch {
            // It may have been stopped, and started again, since.
            if self.socket === socket { stop() }
            throw error
        }
        guard self.socket === socket else { throw Self.hasEnded }
        onStack { $0.setPacketAdapter(number, of: role) }
    }

    /// Ends the discovery, unless it is that of another program, and closes the socket. Does nothing if it is closed.
    func stop() {
        guard let socket else { return }
        // Another program may have taken the discovery over, which waits to be read.
        socket.drain(atMost: Self.packetsPerStop)
        guard self.socket === socket else { return }
        let isStarting = discovery.isStarting
        for case .send(let command) in discovery.end() { _ = try? socket.send(command.packet(adapter: adapter)) }
        updateLimit()
        close()
        if isStarting { leave(socket) } else { socket.close() }
    }

    /// Has nothing more to do with the socket.
    private func close() {
        socket = nil
        pause = nil
        onStack { [role] stack in
            stack.setPacketAdapter(nil, of: role)
            stack.endReception()
        }
        beginning.deliver(.failure(Self.hasEnded))
    }

    /// Closes a socket when the kernel has answered its start.
    private func leave(_ socket: PacketSocket) {
        leave()
        // The scanner exists until then.
        let timer = Expiry(after: BlueZStack.promptly, clock: clock) { [self] in
            stack.loop.perform { self.assumeIsolated { if $0.leaving?.socket === socket { $0.leave() } } }
        }
        leaving = (socket, timer)
        socket.resume()
    }

    private func leave() {
        leaving?.timer.cancel()
        leaving?.socket.close()
        leaving = nil
    }

    /// Sets how much later than they are received advertisements may be reported.
    func tolerate(_ delay: Duration) {
        let isLess = delay < tolerance
        tolerance = delay
        if isLess, pause != nil { endPause() }
    }

    static let hasEnded = BLEError(
        .failed, "the kernel's management socket has ended", isRetryable: true, remedy: "Scan again.")

    private func ended(_ socket: PacketSocket) {
        if leaving?.socket === socket { return leave() }
        guard self.socket === socket else { return }
        fail(Self.hasEnded)
    }

    /// Ends the scan for a reason of the kernel's.
    private func fail(_ error: BLEError) {
        // The scan that is starting ends with it, if there is one.
        let isStarting = beginning.deliver(.failure(error))
        let socket = socket
        _ = discovery.end()
        updateLimit()
        close()
        socket?.close()
        if !isStarting { report(.ended(error)) }
    }

    // MARK: The discovery

    /// Handles a change of what bluetoothd says of its own scan.
    func neighborChanged() {
        guard socket != nil else { return }
        discovery.neighborChanged(isScanning: objects.adapters[adapterPath]?.isDiscovering == true)
        updateLimit()
    }

    private func apply(_ effects: [ManagementDiscovery.Effect]) {
        updateLimit()
        for effect in effects {
            guard let socket else { return }
            switch effect {
            case .send(let command):
                // What was not sent has no answer, and is sent again.
                if (try? socket.send(command.packet(adapter: adapter))) == nil { fail(Self.hasEnded) }
            case .begun: beginning.deliver(.success(()))
            case .failed(let status): fail(BLEError(managementStatus: status))
            }
        }
    }

    private func updateLimit() {
        let turn = discovery.turn
        guard turn != limit?.turn else { return }
        limit?.timer.cancel()
        limit = discovery.limit.map { duration in
            let timer = Expiry(after: duration, clock: clock) { [weak self] in
                guard let self else { return }
                stack.loop.perform { self.assumeIsolated { $0.apply($0.discovery.expired(turn)) } }
            }
            return (turn: turn, timer: timer)
        }
    }

    // MARK: Receiving

    /// Handles a packet. Returns false if the next ones are to wait.
    private func receive(_ bytes: [UInt8], from socket: PacketSocket) -> Bool {
        guard socket === self.socket else {
            receiveLast(bytes, from: socket)
            return true
        }
        // A kernel that does not filter sends the events of all adapters.
        guard ManagementPacket.adapter(of: bytes) == adapter else { return pause == nil }
        switch ManagementPacket(bytes) {
        case .advertisement(let received):
            let (heard, forgotten) = onStack { $0.receive(received) }
            if let heard { report(.received(heard.id, heard.advertisement)) }
            for id in forgotten { report(.forgotten(id)) }
            guard pause == nil else { break }
            return !beginPause()
        case .answer(.startServiceDiscovery, let status):
            if status != .success, status != .busy {
                onStack {
                    $0.logger.debug(
                        "the kernel did not start the scan", metadata: ["status": "\(status.rawValue)"])
                }
            }
            apply(discovery.answered(status, at: elapsed()))
        case .discovering(let isOn): apply(discovery.changed(isOn: isOn, at: elapsed()))
        case .linkChanged:
            discovery.linkChanged()
            updateLimit()
        case .answer, .other: break
        }
        return pause == nil
    }

    /// Handles a packet of a socket that is about to be closed. A discovery that was started is stopped.
    private func receiveLast(_ bytes: [UInt8], from socket: PacketSocket) {
        guard leaving?.socket === socket, case .answer(.startServiceDiscovery, let status) = ManagementPacket(bytes),
            let adapter = ManagementPacket.adapter(of: bytes)
        else { return }
        if status == .success { _ = try? socket.send(ManagementCommand.stopDiscovery.packet(adapter: adapter)) }
        leave()
    }

    // MARK: Pauses

    /// Lets advertisements wait to be handled together, if the scan tolerates it. Returns whether it does.
    private func beginPause() -> Bool {
        guard tolerance > .zero, socket != nil else { return false }
        pause = stack.loop.schedule(after: min(tolerance, Self.longestPause)) { [weak self] in
            self?.assumeIsolated { $0.endPause() }
        }
        return true
    }

    private func endPause() {
        guard let socket else { return }
        // Until everything is read, so that the pause does not begin again.
        let isEmpty = socket.drain(atMost: Self.packetsPerTurn)
        guard self.socket === socket else { return }
        if isEmpty {
            pause = nil
            socket.resume()
        } else {
            pause = stack.loop.schedule(after: .zero) { [weak self] in self?.assumeIsolated { $0.endPause() } }
        }
    }
}
