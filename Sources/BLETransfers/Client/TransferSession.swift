internal import BLE
internal import Waiting

/// Runs the transfers of a client, one at a time.
actor TransferSession {
    let peripheral: Peripheral
    private let carrier: TransferCarrier
    private let service: BluetoothUUID
    private let configuration: TransferClient.Configuration
    private var turns = Turns<Int, Outcome<Void>>()
    private var lastTicket = 0
    /// Orders the calls of storages for each name, which may go on after their attempt, and the transfers that use it.
    private var receiving: [String: (lease: TransferLease, count: Int)] = [:]
    /// Different in each process, so that what is left of a transfer of another one is not taken for its answer.
    private var lastToken = UInt16.random(in: 0...UInt16.max)

    nonisolated var unownedExecutor: UnownedSerialExecutor { peripheral.central.unownedExecutor }
    private nonisolated var clock: any Clock<Duration> { peripheral.central.configuration.clock }

    init(
        _ peripheral: Peripheral, _ carrier: TransferCarrier, _ service: BluetoothUUID,
        _ configuration: TransferClient.Configuration
    ) {
        self.peripheral = peripheral
        self.carrier = carrier
        self.service = service
        self.configuration = configuration
    }

    typealias Report = @Sendable (TransferProgress) -> Void

    /// Performs a transfer after those before.
    func inTurn(
        _ work: @Sendable (isolated TransferSession) async throws(BLEError) -> Void
    ) async throws(BLEError) {
        lastTicket += 1
        let ticket = lastTicket
        let (turn, _) = turns.wait(0, ticket)
        defer { turns.end(ticket) }
        try await turn.wait()
        try await work(self)
    }

    // MARK: Transfers

    func send(
        _ file: TransferFile, from source: any TransferSource, _ reconnects: Int, _ report: @escaping Report
    ) async throws(BLEError) {
        try Self.check(name: file.name)
        guard 0...TransferFile.maximumLength ~= file.length else {
            throw BLEError(
                .invalidLength, "a file has at most \(TransferFile.maximumLength) bytes, not \(file.length)",
                isRetryable: false)
        }
        try await attempt(TransferLease(file.name), reconnects, report) { exchange throws(BLEError) in
            try await exchange.send(file, from: source)
        }
    }

    func receive(
        _ name: String, into storage: any TransferStorage, _ maximumLength: Int, _ reconnects: Int,
        _ report: @escaping Report
    ) async throws(BLEError) {
        try Self.check(name: name)
        let peer = peripheral.id
        let lease = receiving[name]?.lease ?? TransferLease(name)
        receiving[name, default: (lease, 0)].count += 1
        defer { lease.perform { await self.didEnd(lease) } }
        try await attempt(lease, reconnects, report) { exchange throws(BLEError) in
            try await exchange.fetch(name, from: peer, into: storage, maximumLength)
        }
    }

    /// Forgets the right to receive a file when nothing uses it.
    private func didEnd(_ lease: TransferLease) {
        receiving[lease.name]?.count -= 1
        if receiving[lease.name]?.count == 0 { receiving[lease.name] = nil }
    }

    private static func check(name: String) throws(BLEError) {
        guard TransferFile.isValid(name: name) else {
            throw BLEError(
                .invalidArgument,
                "a name has 1 to \(TransferFile.maximumNameLength) bytes and no control characters",
                isRetryable: false)
        }
    }

    // MARK: Attempts

    /// Attempts a transfer until it succeeds, or until it has failed too often without progress.
    private func attempt(
        _ lease: TransferLease, _ reconnects: Int, _ report: @escaping Report,
        _ work: (TransferExchange) async throws(BLEError) -> TransferExchange.End
    ) async throws(BLEError) {
        let best = BestProgress()
        var failures = 0
        while true {
            do throws(BLEError) {
                return try await attemptOnce(
                    lease,
                    { progress in
                        best.take(progress.transferredBytes)
                        report(progress)
                    }, work)
            } catch {
                if Task.isCancelled { throw .cancelled }
                if best.hasAdvanced() { failures = 0 }
                guard error.isRetryable, failures < reconnects else { throw error.at(peripheral.id) }
                failures += 1
                guard (try? await clock.sleep(for: .seconds(1))) != nil else { throw .cancelled }
            }
        }
    }

    private func attemptOnce(
        _ lease: TransferLease, _ report: @escaping Report,
        _ work: (TransferExchange) async throws(BLEError) -> TransferExchange.End
    ) async throws(BLEError) {
        let link = try await open()
        lastToken &+= 1
        let exchange = TransferExchange(
            link: link, token: lastToken,
            timeouts: TransferTimeouts(
                opening: configuration.openingTimeout, progress: configuration.progressTimeout),
            lease: lease, report: report)
        let end: TransferExchange.End
        do throws(BLEError) {
            end = try await work(exchange)
        } catch {
            if Task.isCancelled {
                await link.sendLast(TransferPacket(exchange.token, .stop(.cancelled)))
            }
            await link.close()
            throw error
        }
        // The peripheral has offered a file in the transfer of another one.
        if case .interrupted = end { _ = await exchange.fail(.invalidMessage) }
        await link.close()
        switch end {
        case .finished: return
        case .refused(let refusal): throw BLEError(refusal)
        case .failed(let refusal, let cause):
            var error = BLEError(endedHere: refusal)
            error.cause = cause ?? error.cause
            throw error
        case .interrupted: throw BLEError(endedHere: .invalidMessage)
        }
    }

    private func open() async throws(BLEError) -> TransferLink {
        let psm: PSM
        switch carrier {
        case .characteristics:
            return try await .characteristics(of: service, peripheral, window: configuration.window)
        case .channel(let number): psm = number
        case .publishedChannel:
            psm = try await peripheral.read(
                Characteristic<PSM>(Characteristic.publishedPSM.uuid, service: service))
        }
        return .channel(try await peripheral.openChannel(psm), window: configuration.window, clock: clock)
    }
}
