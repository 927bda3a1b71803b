internal import BLE
internal import Synchronization

/// The centrals that manage a device, and what has arrived of their requests.
///
/// Each subscription has a session, to which the frames of its central belong. If the system does not distinguish
/// subscribers, one central at a time holds a session of their subscription, because responses go to all subscribers,
/// which could not tell those of others from their own. The next central has a session of its own.
final class ManagementSessions: Sendable {
    /// What a session does next.
    enum Work: Sendable {
        /// Handles a request.
        case request(SMPFrame, central: DeviceID, clock: any Clock<Duration>)
        /// Refuses a request.
        case refusal(SMPHeader, SMPFailure)
    }

    /// A subscription, with its sessions.
    struct Subscription: Sendable {
        let number: Int
        let central: DeviceID?
        let sessions: AsyncStream<Session>
    }

    /// A central that sends requests.
    struct Session: Sendable {
        let number: Int
        let subscriber: DeviceID?
        let work: AsyncStream<Work>
    }

    private struct Entry {
        let subscription: Int
        let sessions: AsyncStream<Session>.Continuation
        var session: Int
        var work: AsyncStream<Work>.Continuation
        var reassembler: SMPReassembler
        /// The number of frames that wait, or are being handled.
        var waiting = 0
        var holder = Holder()
        /// The time since the last packet. Nil before the first one.
        var lastPacket: (@Sendable () -> Duration)?
        var attMTU = 23

        /// A stream of the frames that wait, of which there are at most twice as many as buffers.
        static func makeWork(_ bufferCount: Int) -> (AsyncStream<Work>, AsyncStream<Work>.Continuation) {
            AsyncStream.makeStream(of: Work.self, bufferingPolicy: .bufferingOldest(2 * bufferCount))
        }

        /// Ends the session, and begins the next one. What waits in it is not handled.
        mutating func renew(_ number: Int, _ bufferCount: Int) {
            work.finish()
            let (stream, continuation) = Self.makeWork(bufferCount)
            (session, work, waiting, attMTU) = (number, continuation, 0, 23)
            reassembler.reset()
            sessions.yield(Session(number: number, subscriber: nil, work: stream))
        }

        func end() {
            work.finish()
            sessions.finish()
        }
    }

    private struct State {
        var entries: [DeviceID?: Entry] = [:]
        var last = 0

        mutating func next() -> Int {
            last += 1
            return last
        }
    }

    private let state = Mutex(State())
    private let bufferSize: Int
    private let bufferCount: Int

    /// How long an incomplete frame waits for its rest.
    static let partTimeout = Duration.seconds(10)

    init(bufferSize: Int, bufferCount: Int) {
        self.bufferSize = bufferSize
        self.bufferCount = bufferCount
    }

    /// Opens a subscription with a session, in place of the central's earlier one.
    func open(_ central: DeviceID?) -> Subscription {
        // Sessions before the last one have ended.
        let (sessions, continuation) = AsyncStream.makeStream(of: Session.self, bufferingPolicy: .bufferingNewest(1))
        let (work, workContinuation) = Entry.makeWork(bufferCount)
        return state.withLock { state in
            state.entries[central]?.end()
            let entry = Entry(
                subscription: state.next(), sessions: continuation, session: state.next(), work: workContinuation,
                reassembler: SMPReassembler(maximumLength: bufferSize))
            continuation.yield(Session(number: entry.session, subscriber: central, work: work))
            state.entries[central] = entry
            return Subscription(number: entry.subscription, central: central, sessions: sessions)
        }
    }

    /// Closes a subscription, unless a later one has replaced it.
    func close(_ subscription: Subscription) {
        state.withLock { state in
            guard state.entries[subscription.central]?.subscription == subscription.number else { return }
            state.entries.removeValue(forKey: subscription.central)?.end()
        }
    }

    /// Ends the session of the shared subscription if the central holds it.
    func release(_ central: DeviceID) {
        state.withLock { state in
            guard var entry = state.entries[.none], entry.holder.central == central else { return }
            entry.holder.release(central)
            entry.renew(state.next(), bufferCount)
            state.entries[.none] = entry
        }
    }

    /// Whether a session has not ended.
    func isOpen(_ session: Session) -> Bool {
        state.withLock { $0.entries[session.subscriber]?.session == session.number }
    }

    /// Records that a frame was handled.
    func finished(_ session: Session) {
        state.withLock { state in
            guard state.entries[session.subscriber]?.session == session.number else { return }
            state.entries[session.subscriber]?.waiting -= 1
            state.entries[session.subscriber]?.holder.handlerReturned()
        }
    }

    /// The maximum length of a packet to the central of a session, in bytes. Nil if the session has ended.
    func packetLength(_ session: Session) -> Int? {
        state.withLock { state in
            guard let entry = state.entries[session.subscriber], entry.session == session.number else { return nil }
            // A value has at most 512 bytes.
            return min(512, max(20, entry.attMTU - 3))
        }
    }

    /// Takes a packet of a central. Throws if it is not subscribed, or if another one holds the shared session.
    func take(_ packet: [UInt8], _ request: AttributeRequest) throws(ATTError) {
        let refusal = state.withLock { state -> ATTError? in
            let key: DeviceID? = state.entries[request.central] == nil ? nil : request.central
            guard var entry = state.entries[key] else { return .improperlyConfigured }
            if key == nil, entry.holder.central != request.central {
                guard entry.holder.isAvailable(to: request.central, isBusy: entry.waiting > 0) else {
                    return .insufficientResources
                }
                entry.renew(state.next(), bufferCount)
            }
            if let elapsed = entry.lastPacket?(), elapsed > Self.partTimeout { entry.reassembler.reset() }
            entry.lastPacket = Central.stopwatch(request.clock)
            entry.holder.take(request.central, clock: request.clock)
            if let attMTU = request.attMTU { entry.attMTU = attMTU }
            for result in entry.reassembler.append(packet) { take(result, request, &entry) }
            state.entries[key] = entry
            return nil
        }
        if let refusal { throw refusal }
    }

    private func take(
        _ result: Result<SMPFrame, SMPFrameError>, _ request: AttributeRequest, _ entry: inout Entry
    ) {
        let work: Work
        switch result {
        case .success(let frame):
            guard frame.header.operation.response != nil else { return }
            work =
                entry.waiting < bufferCount
                ? .request(frame, central: request.central, clock: request.clock)
                : .refusal(frame.header, SMPFailure(.outOfMemory))
        case .failure(let error):
            guard let header = error.header, header.operation.response != nil else { return }
            if case .tooLong = error {
                work = .refusal(header, SMPFailure(.outOfMemory))
            } else {
                work = .refusal(header, SMPFailure(.invalidValue))
            }
        }
        // A central that sends more than that without waiting for responses receives none.
        guard entry.waiting < 2 * bufferCount else { return }
        entry.waiting += 1
        entry.work.yield(work)
    }
}
