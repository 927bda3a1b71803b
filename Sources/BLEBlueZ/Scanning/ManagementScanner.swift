internal import BLE
internal import Logging
internal import Loop
internal import Waiting

/// Receives the advertisements of an active scan from the kernel's management socket, on the stack's executor.
///
/// The kernel sends what it receives to every such socket of a program with the capability `CAP_NET_ADMIN`, whichever
/// program has started the scan. So the scan itself is bluetoothd's, as without the socket. An advertisement is
/// reported once bluetoothd has an object for its device, which the first one makes.
actor ManagementScanner: BlueZRole {
    enum Event: Sendable {
        /// An advertisement was received.
        case received(Peripheral.ID, Advertisement)
        /// The socket has ended.
        case ended(BLEError)
    }

    nonisolated let stack: BlueZStack
    private let source: ManagementSocket
    private let clock: any Clock<Duration>
    private let report: @Sendable (Event) -> Void
    private var socket: PacketSocket?
    /// The central's number with the stack.
    private var role = 0
    /// The number of the adapter whose advertisements are reported.
    private var adapter: UInt16 = 0
    /// Succeeds if the kernel sends advertisements to this program.
    private var isPermitted = Outcome<Void>()
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
    }

    deinit {
        if let socket { stack.loop.perform { socket.close() } }
    }

    /// The maximum length of a pause, in which the socket's buffer has to hold what arrives.
    private static let longestPause = Duration.milliseconds(100)
    /// The maximum number of advertisements to handle before the loop does its other work.
    private static let packetsPerTurn = 256

    // MARK: Starting and stopping

    /// Whether the socket is open, and the kernel has shown that it sends advertisements.
    nonisolated var isOpen: Bool { assumeIsolated { $0.socket != nil && !$0.isPermitted.isOpen } }

    /// Opens the socket, unless it is open. Returns when the kernel has shown that it sends advertisements. An earlier
    /// call must have returned.
    ///
    /// Throws `unauthorized`, `notSupported` and `timedOut`, and `failed` also if it is stopped meanwhile.
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
        let isPermitted = Outcome<Void>()
        self.isPermitted = isPermitted
        socket.open { [weak self] packet in
            self?.assumeIsolated { $0.receive(packet) } ?? true
        } onEnd: { [weak self] in
            self?.assumeIsolated { $0.socketEnded() }
        }
        do throws(BLEError) {
            // Without the capability, the kernel refuses it; with it, the kernel misses the adapter. It has no effect.
            guard (try? socket.send(ManagementCommand.getConnections.packet)) == true else { throw Self.hasEnded }
            let timer = isPermitted.expire(after: BlueZStack.promptly, clock: clock) {
                BLEError(.timedOut, "the kernel's management socket did not answer")
            }
            defer { timer.cancel() }
            try await isPermitted.wait()
        } catch {
            // It may have been stopped, and started again, since.
            if self.socket === socket { stop() }
            throw error
        }
        guard self.socket === socket else { throw Self.hasEnded }
        onStack { $0.setReceivesPackets(true, of: role) }
    }

    /// Closes the socket. Does nothing if it is closed.
    func stop() {
        guard let socket else { return }
        self.socket = nil
        pause = nil
        socket.close()
        onStack { [role] stack in
            stack.setReceivesPackets(false, of: role)
            stack.endReception()
        }
        isPermitted.deliver(.failure(Self.hasEnded))
    }

    /// Sets how much later than they are received advertisements may be reported.
    func tolerate(_ delay: Duration) {
        let isLess = delay < tolerance
        tolerance = delay
        if isLess, pause != nil { endPause() }
    }

    static let hasEnded = BLEError(
        .failed, "the kernel's management socket has ended", isRetryable: true, remedy: "Scan again.")

    private func socketEnded() {
        guard socket != nil else { return }
        // The scan that is starting ends with it, if there is one.
        let isStarting = isPermitted.deliver(.failure(Self.hasEnded))
        stop()
        if !isStarting { report(.ended(Self.hasEnded)) }
    }

    // MARK: Receiving

    /// Handles a packet. Returns false if the next ones are to wait.
    private func receive(_ packet: [UInt8]) -> Bool {
        switch ManagementPacket(packet) {
        case .advertisement(let received):
            guard received.adapter == adapter else { break }
            if let (id, advertisement) = onStack({ $0.receive(received) }) { report(.received(id, advertisement)) }
            guard pause == nil else { break }
            return !beginPause()
        case .refused(.getConnections, let status):
            switch status {
            case .invalidIndex: isPermitted.deliver(.success(()))
            case .permissionDenied: isPermitted.deliver(.failure(Self.notPermitted))
            default: isPermitted.deliver(.failure(Self.notSupported(status)))
            }
        case .other: break
        }
        return pause == nil
    }

    private static let notPermitted = BLEError(
        .unauthorized, "this program may not receive advertisements from the kernel's management socket",
        isRetryable: false,
        remedy: "Give it the capability CAP_NET_ADMIN: AmbientCapabilities=CAP_NET_ADMIN in its unit, or setcap "
            + "cap_net_admin+ep PROGRAM. Or let bluetoothd report the advertisements.")

    private static func notSupported(_ status: ManagementStatus) -> BLEError {
        BLEError(
            .notSupported, "the kernel's management socket answered with the status \(status.rawValue)",
            isRetryable: false, remedy: "Let bluetoothd report the advertisements.")
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
