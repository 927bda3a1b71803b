internal import BLE
internal import Synchronization

/// The centrals that manage a device, and what has arrived of their requests.
///
/// Each subscription has a session, to which the frames of its central belong. If the system does not distinguish
/// subscribers, there is one session, which one central holds at a time: responses go to all subscribers, which could
/// not tell those of others from their own.
final class ManagementSessions: Sendable {
    /// What a session does next.
    enum Work: Sendable {
        /// Handles a request.
        case request(SMPFrame, central: DeviceID, clock: any Clock<Duration>)
        /// Refuses a request.
        case refusal(SMPHeader, SMPFailure)
    }

    /// A subscription.
    struct Session: Sendable {
        let number: Int
        let central: DeviceID?
        let work: AsyncStream<Work>
    }

    private struct Entry {
        let number: Int
        let continuation: AsyncStream<Work>.Continuation
        var reassembler: SMPReassembler
        /// The number of frames that wait, or are being handled.
        var waiting = 0
        /// The central that holds the session, if it is shared.
        var holder: DeviceID?
        var lastPacket: Stopwatch?
        var attMTU = 23
    }

    private struct State {
        var entries: [DeviceID?: Entry] = [:]
        var last = 0
    }

    private let state = Mutex(State())
    private let bufferSize: Int
    private let bufferCount: Int

    /// How long an incomplete frame waits for its rest.
    static let partTimeout = Duration.seconds(10)
    /// How long a central without requests holds the session that several share, or an upload.
    static let holdTimeout = Duration.seconds(30)

    init(bufferSize: Int, bufferCount: Int) {
        self.bufferSize = bufferSize
        self.bufferCount = bufferCount
    }

    /// Opens the session of a subscription, in place of the central's earlier one.
    func open(_ central: DeviceID?) -> Session {
        let (work, continuation) = AsyncStream.makeStream(of: Work.self)
        let (session, earlier) = state.withLock { state in
            state.last += 1
            let earlier = state.entries[central]?.continuation
            state.entries[central] = Entry(
                number: state.last, continuation: continuation,
                reassembler: SMPReassembler(maximumLength: bufferSize))
            return (Session(number: state.last, central: central, work: work), earlier)
        }
        earlier?.finish()
        return session
    }

    /// Closes a session, unless a later one has replaced it.
    func close(_ session: Session) {
        let closed = state.withLock { state -> Entry? in
            guard state.entries[session.central]?.number == session.number else { return nil }
            return state.entries.removeValue(forKey: session.central)
        }
        closed?.continuation.finish()
    }

    /// Releases the shared session if the central holds it.
    func release(_ central: DeviceID) {
        state.withLock { state in
            guard state.entries[.none]?.holder == central else { return }
            state.entries[.none]?.holder = nil
            state.entries[.none]?.reassembler.reset()
        }
    }

    /// Records that a frame was handled.
    func finished(_ session: Session) {
        state.withLock { state in
            if state.entries[session.central]?.number == session.number {
                state.entries[session.central]?.waiting -= 1
            }
        }
    }

    /// The maximum length of a packet to the central of a session, in bytes.
    func packetLength(_ session: Session) -> Int {
        // A value has at most 512 bytes.
        state.withLock { min(512, max(20, ($0.entries[session.central]?.attMTU ?? 23) - 3)) }
    }

    /// Takes a packet of a central. Throws if it is not subscribed, or if another one holds the shared session.
    func take(_ packet: [UInt8], _ request: AttributeRequest) throws(ATTError) {
        let refusal = state.withLock { state -> ATTError? in
            let key: DeviceID? = state.entries[request.central] == nil ? nil : request.central
            guard var entry = state.entries[key] else { return .improperlyConfigured }
            let elapsed = entry.lastPacket?.elapsed ?? .zero
            if key == nil, entry.holder != request.central {
                guard entry.holder == nil || elapsed > Self.holdTimeout, entry.waiting == 0 else {
                    return .insufficientResources
                }
                entry.holder = request.central
                entry.reassembler.reset()
            }
            if elapsed > Self.partTimeout { entry.reassembler.reset() }
            entry.lastPacket = Stopwatch(request.clock)
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
        // Who sends more than that without waiting for responses receives none.
        guard entry.waiting < 2 * bufferCount else { return }
        entry.waiting += 1
        entry.continuation.yield(work)
    }
}
