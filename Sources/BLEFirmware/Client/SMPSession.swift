internal import BLE
internal import Waiting

/// Sends requests to a device, and receives its responses.
///
/// There is one subscription, and one frame is written at a time. Any number of requests may wait for their responses,
/// up to 256.
actor SMPSession {
    let peripheral: Peripheral
    let configuration: FirmwareClient.Configuration
    private let key = Characteristic<[UInt8]>.smp

    /// A request that was not answered yet, or whose result was not taken yet.
    private struct Pending {
        let sequence: UInt8
        let timer: Task<Void, Never>
        /// Holds a result that arrives before it is waited for.
        let outcome = Outcome<CBORMap>()
    }

    private var pending: [Int: Pending] = [:]
    private var table = RequestTable()
    private var outgoing: [(id: Int, frame: [UInt8])] = []
    private var writing: Task<Void, Never>?
    /// The number of links that have ended. On a maintained link, notifications outlast them.
    private var linkCount = 0
    /// Whether the requests that are not written yet wait for the link. The end of an earlier one is not theirs.
    private var isConnecting = false
    private var listening: (number: Int, stream: NotificationStream<[UInt8]>, task: Task<Void, Never>)?
    private var reassembler: SMPReassembler
    private var lastNumber = 0
    private var isClosed: Bool { closing != nil }
    private var closing: Task<Void, Never>?
    private(set) var version = SMPVersion.two
    private var knownParameters: ManagementParameters??

    nonisolated var unownedExecutor: UnownedSerialExecutor { peripheral.central.unownedExecutor }
    nonisolated var clock: any Clock<Duration> { peripheral.central.configuration.clock }

    init(_ peripheral: Peripheral, _ configuration: FirmwareClient.Configuration) {
        self.peripheral = peripheral
        self.configuration = configuration
        reassembler = SMPReassembler(maximumLength: configuration.maximumResponseLength)
    }

    private func number() -> Int {
        lastNumber += 1
        return lastNumber
    }

    // MARK: Requests

    /// Sends a request and returns the fields of its response.
    ///
    /// - Parameter isChecked: whether a response with an error throws `managementFailed`.
    func request(
        _ operation: SMPOperation, _ command: SMPCommand, _ fields: CBORMap = [:], timeout: Duration? = nil,
        isChecked: Bool = true
    ) async throws(BLEError) -> CBORMap {
        let used = version
        var response = try await response(to: submit(operation, command, fields, timeout: timeout))
        if used > .one, SMPFailure(in: response)?.isCode(.versionTooNew) == true {
            version = .one
            response = try await self.response(to: submit(operation, command, fields, timeout: timeout))
        }
        if isChecked { try check(response) }
        return response
    }

    /// Throws `managementFailed` if a response has an error.
    func check(_ response: CBORMap) throws(BLEError) {
        if let failure = SMPFailure(in: response) { throw place(BLEError(failure)) }
    }

    func place(_ error: BLEError) -> BLEError {
        error.at(peripheral.id, service: .smp, characteristic: key.uuid)
    }

    /// Sends a request. Its result is kept until ``response(to:)`` takes it.
    func submit(
        _ operation: SMPOperation, _ command: SMPCommand, _ fields: CBORMap, timeout: Duration? = nil
    ) throws(BLEError) -> Int {
        if isClosed { throw BLEError(.connectionCancelled, "the session was ended", isRetryable: false) }
        if Task.isCancelled { throw .cancelled }
        let id = number()
        guard let sequence = table.add(id, operation, command) else {
            throw place(BLEError(.busy, "256 requests wait for their responses"))
        }
        let frame = SMPFrame(operation, command, sequence: sequence, fields, version: version)
        guard frame.bytes.count <= SMPHeader.size + Int(UInt16.max) else {
            table.remove(sequence: sequence, id: id)
            throw place(BLEError(.invalidLength, "the request has more than 65535 bytes", isRetryable: false))
        }
        let timeout = timeout ?? configuration.requestTimeout
        let timer = Task {
            guard (try? await clock.sleep(for: timeout)) != nil else { return }
            expire(id, timeout)
        }
        pending[id] = Pending(sequence: sequence, timer: timer)
        outgoing.append((id, frame.bytes))
        startWriting()
        return id
    }

    /// Waits for the response to a request, and returns its fields.
    func response(to id: Int) async throws(BLEError) -> CBORMap {
        defer { abandon(id) }
        guard let request = pending[id] else { throw .cancelled }
        return try await request.outcome.wait()
    }

    private func expire(_ id: Int, _ timeout: Duration) {
        let error = BLEError(.timedOut, "no response within \(timeout)")
        settle(id, .failure(place(error)))
        // A later response must not complete an incomplete one.
        if !pending.values.contains(where: { $0.outcome.isOpen }) { reassembler.reset() }
    }

    private func settle(_ id: Int, _ result: Result<CBORMap, BLEError>) {
        guard let request = pending[id], request.outcome.deliver(result) else { return }
        request.timer.cancel()
        table.remove(sequence: request.sequence, id: id)
    }

    private func isAwaited(_ id: Int) -> Bool { pending[id]?.outcome.isOpen == true }

    /// Forgets a request. What was written of it is completed.
    func abandon(_ id: Int) {
        guard let request = pending.removeValue(forKey: id) else { return }
        request.timer.cancel()
        table.remove(sequence: request.sequence, id: id)
        // No request needs the link any longer.
        if pending.isEmpty, isConnecting { writing?.cancel() }
    }

    private func failAll(_ error: BLEError) {
        for id in pending.keys { settle(id, .failure(error)) }
    }

    /// Fails the requests of a link that has ended. Those that wait for a link go on.
    private func interrupt(_ error: BLEError) {
        linkCount += 1
        // Another firmware may run on the next link.
        knownParameters = nil
        version = .two
        let waiting = isConnecting ? Set(outgoing.map(\.id)) : []
        for id in pending.keys where !waiting.contains(id) { settle(id, .failure(error)) }
    }

    /// Ends the session: requests that wait throw `connectionCancelled`. The link stays.
    ///
    /// Returns when the device has the whole frame that is being written, and was asked to stop sending, so that the
    /// next session's frames and responses are its own: devices handle the requests of one subscription in order. A
    /// cancelled task does not wait.
    func close() async {
        let closing = closing ?? end()
        self.closing = closing
        let isOver = Outcome<Void>()
        Task {
            await closing.value
            isOver.deliver(.success(()))
        }
        try? await isOver.wait()
    }

    private func end() -> Task<Void, Never> {
        let (ended, unfinished) = (listening, writing)
        listening = nil
        if isConnecting { writing?.cancel() }
        outgoing = []
        failAll(BLEError(.connectionCancelled, "the session was ended", isRetryable: false))
        return Task {
            await unfinished?.value
            await ended?.stream.end()
        }
    }

    // MARK: Writing

    private func startWriting() {
        guard writing == nil else { return }
        isConnecting = true
        writing = Task { await write() }
    }

    private func write() async {
        while !Task.isCancelled, let (id, frame) = outgoing.first {
            // Its caller may have given up meanwhile.
            guard isAwaited(id) else {
                outgoing.removeFirst()
                continue
            }
            do throws(BLEError) {
                guard let length = try await connected() else { continue }
                guard isAwaited(id) else { continue }
                outgoing.removeFirst()
                let link = linkCount
                var rest = frame[...]
                while !rest.isEmpty {
                    // The rest of a frame belongs to no other link, and makes none.
                    guard linkCount == link else { throw BLEError(.disconnected, "the link has ended") }
                    try await peripheral.writeBytes(
                        Array(rest.prefix(length)), to: key.key, type: .withoutResponse, timeout: nil, connecting: false
                    )
                    rest = rest.dropFirst(length)
                }
            } catch {
                if outgoing.first?.id == id { outgoing.removeFirst() }
                settle(id, .failure(error))
            }
        }
        (writing, isConnecting) = (nil, false)
        if !outgoing.isEmpty { startWriting() }
    }

    /// Ensures that there is a link with a subscription. Returns the maximum length of a packet, or nil if the earlier
    /// subscription has ended meanwhile.
    private func connected() async throws(BLEError) -> Int? {
        isConnecting = true
        defer { isConnecting = false }
        if let number = listening?.number, await peripheral.connectionState != .connected {
            // Its end is about to be reported.
            end(number, BLEError(.disconnected, "the link has ended"))
        }
        let wasListening = listening != nil
        try await listen()
        let length = try await writeLength()
        if listening != nil || isClosed { return length }
        guard wasListening else { throw place(BLEError(.disconnected, "the link has ended")) }
        return nil
    }

    /// The maximum length of a packet, in bytes.
    private func writeLength() async throws(BLEError) -> Int {
        do throws(BLEError) {
            return max(1, try await peripheral.maximumWriteLength(for: .withoutResponse))
        } catch  where error.code == .notSupported {
            // If the system does not report a maximum, the shortest possible one is used.
            return 20
        }
    }

    // MARK: Receiving

    private func listen() async throws(BLEError) {
        guard listening == nil else { return }
        let stream = try await peripheral.notifications(key, overflow: .fail(capacity: 1024))
        guard !isClosed, listening == nil else { return await stream.end() }
        let number = number()
        reassembler.reset()
        let task = Task {
            do throws(BLEError) {
                for try await event in stream.events { take(event, number) }
                end(number, BLEError(.disconnected, "the notifications have ended"))
            } catch {
                end(number, error)
            }
        }
        listening = (number, stream, task)
    }

    private func take(_ event: NotificationEvent<[UInt8]>, _ number: Int) {
        guard listening?.number == number else { return }
        switch event {
        case .value(let packet):
            for result in reassembler.append(packet) {
                switch result {
                case .success(let frame):
                    guard let id = table.match(frame.header) else { continue }
                    settle(id, .success(frame.fields))
                case .failure(let error):
                    // Without a header, the request that it belongs to is unknown, and ends with its timeout.
                    guard let id = error.header.flatMap({ table.match($0) }) else { continue }
                    settle(id, .failure(place(BLEError(error))))
                }
            }
        case .gap(let error):
            reassembler.reset()
            interrupt(error)
        }
    }

    private func end(_ number: Int, _ error: BLEError) {
        guard listening?.number == number else { return }
        listening?.task.cancel()
        listening = nil
        interrupt(error)
    }

    // MARK: Parameters

    /// The device's parameters. Nil if it does not report them. Asked once for each link.
    func parameters() async throws(BLEError) -> ManagementParameters? {
        if let knownParameters { return knownParameters }
        let parameters: ManagementParameters?
        do throws(BLEError) {
            parameters = try ManagementParameters(try await request(.read, .parameters))
        } catch  where error.code == .managementFailed && !error.isRetryable {
            parameters = nil
        }
        knownParameters = .some(parameters)
        return parameters
    }

    /// The maximum length of a frame to the device, in bytes.
    ///
    /// If the device does not report it, a frame fills one packet, or the 128 bytes that the first one of an upload
    /// needs.
    func frameLength() async throws(BLEError) -> Int {
        let reported = try await parameters()?.bufferSize
        let length = if let reported { reported } else { max(128, try await writeLength()) }
        return min(configuration.maximumFrameLength ?? length, length, SMPHeader.size + Int(UInt16.max))
    }

    /// The number of requests of an upload that may wait at the same time. One of the device's buffers is for its
    /// response.
    func window() async throws(BLEError) -> Int {
        guard let count = try await parameters()?.bufferCount else { return 1 }
        return max(1, min(count - 1, configuration.maximumWindow))
    }
}
