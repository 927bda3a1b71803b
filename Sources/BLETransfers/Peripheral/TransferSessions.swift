internal import BLE
internal import Synchronization

/// The subscribed centrals, and what has arrived of them.
///
/// Each subscription has a session. If the system does not distinguish subscribers, there is one session, which one
/// central holds at a time: notifications go to all subscribers.
final class TransferSessions: Sendable {
    /// A subscription.
    struct Session: Sendable {
        let number: Int
        let central: DeviceID?
    }

    private struct Entry {
        let number: Int
        var inbox: PacketInbox
        /// The central that holds the session, if it is shared.
        var holder: DeviceID?
        var lastPacket: Stopwatch?
        var attMTU = minimumATTMTU

        static let minimumATTMTU = 23
    }

    private struct State {
        var entries: [DeviceID?: Entry] = [:]
        var last = 0
    }

    private let state = Mutex(State())
    private let window: Int

    /// How long a silent central holds the session that several share.
    static let holdTimeout = Duration.seconds(60)
    private static let linkEnded = BLEError(.disconnected, "the link has ended")

    init(window: Int) { self.window = window }

    /// Opens the session of a subscription, in place of the central's earlier one.
    func open(_ central: DeviceID?) -> Session {
        let (session, earlier) = state.withLock { state in
            state.last += 1
            let earlier = state.entries[central]?.inbox
            state.entries[central] = Entry(number: state.last, inbox: PacketInbox(window: window))
            return (Session(number: state.last, central: central), earlier)
        }
        earlier?.finish(Self.linkEnded)
        return session
    }

    /// Closes a session, unless a later one has replaced it.
    func close(_ session: Session) {
        let closed = state.withLock { state -> Entry? in
            guard state.entries[session.central]?.number == session.number else { return nil }
            return state.entries.removeValue(forKey: session.central)
        }
        closed?.inbox.finish(Self.linkEnded)
    }

    /// The inbox of a session. Nil if it is closed.
    func inbox(of session: Session) -> PacketInbox? {
        state.withLock { state in
            state.entries[session.central].flatMap { $0.number == session.number ? $0.inbox : nil }
        }
    }

    /// The central that uses a session. Nil if there is none.
    func central(of session: Session) -> DeviceID? {
        session.central ?? state.withLock { $0.entries[.none]?.holder }
    }

    /// Releases the shared session if the central holds it.
    func release(_ central: DeviceID) {
        let ended = state.withLock { state -> PacketInbox? in
            guard state.entries[.none]?.holder == central else { return nil }
            return renew(&state)
        }
        ended?.finish(Self.linkEnded)
    }

    /// Releases the shared session, unless its holder has changed since the inbox was that of the session.
    func end(_ inbox: PacketInbox, of session: Session) {
        let ended = state.withLock { state -> PacketInbox? in
            guard session.central == nil, let entry = state.entries[.none], entry.number == session.number,
                entry.inbox === inbox
            else { return nil }
            return renew(&state)
        }
        ended?.finish(Self.linkEnded)
    }

    /// Takes the shared session from its holder. Returns the inbox that ends.
    private func renew(_ state: inout State) -> PacketInbox? {
        let inbox = state.entries[.none]?.inbox
        state.entries[.none]?.holder = nil
        state.entries[.none]?.inbox = PacketInbox(window: window)
        // That of the next holder's link is not known yet.
        state.entries[.none]?.attMTU = Entry.minimumATTMTU
        return inbox
    }

    /// The maximum length of a packet to the central of a session, in bytes.
    func packetLength(_ session: Session) -> Int {
        let attMTU = state.withLock { $0.entries[session.central]?.attMTU ?? Entry.minimumATTMTU }
        return min(TransferLink.maximumValueLength, max(TransferPacket.minimumLength, attMTU - 3))
    }

    /// The maximum number of packets that a central may have on their way, because a host rejects writes when 64 wait.
    private static let maximumPackets = 48

    /// The maximum number of bytes that the central of a session may send before they are stored.
    func window(_ session: Session) -> Int {
        min(window, Self.maximumPackets * (packetLength(session) - TransferPacket.dataHeaderLength))
    }

    /// Takes a packet of a central. Throws if it is not subscribed, if another one holds the shared session, and if
    /// more waits than it may send.
    func take(_ packet: [UInt8], _ request: AttributeRequest) throws(ATTError) {
        let (inbox, ended, refusal) = state.withLock { state -> (PacketInbox?, PacketInbox?, ATTError?) in
            let key: DeviceID? = state.entries[request.central] == nil ? nil : request.central
            guard let entry = state.entries[key] else { return (nil, nil, .improperlyConfigured) }
            var ended: PacketInbox?
            if key == nil, entry.holder != request.central {
                guard entry.holder == nil || entry.lastPacket?.elapsed ?? .zero > Self.holdTimeout else {
                    return (nil, nil, .insufficientResources)
                }
                ended = entry.holder == nil ? nil : renew(&state)
                state.entries[key]?.holder = request.central
            }
            state.entries[key]?.lastPacket = Stopwatch(request.clock)
            if let attMTU = request.attMTU { state.entries[key]?.attMTU = attMTU }
            return (state.entries[key]?.inbox, ended, nil)
        }
        ended?.finish(Self.linkEnded)
        if let refusal { throw refusal }
        guard inbox?.offer(packet) == true else { throw .insufficientResources }
    }
}
