internal import BLE

/// Which centrals have sessions on a subscription that the system does not tell apart from others, as BlueZ before 5.80.
///
/// There, a request does not tell whether its central is subscribed, so anybody in range could take the session. The
/// rules keep it for the central that it belongs to:
///
/// - Without a subscription, there is no session, and a request claims nothing.
/// - One central at a time holds the session. In `bound` mode, it is the one that has proved an exchange of keys: until
///   then, the requests of up to ``maximumGuests`` centrals, its guests, are handled side by side. Otherwise, nothing
///   can be proved, and it is the first to send a request.
/// - While the holder's last request is younger than ``idleTime`` or is being handled, others are refused. Later, they
///   may send requests again, and the next that claims the session takes it. The holder keeps it until then.
/// - A guest can be replaced when its last request is older than that, even if it is being handled. A central that
///   resumes a known pairing replaces the guest with the oldest last request at any time.
/// - A link that ends takes its central's claim and session with it.
///
/// Time is that of the host's clock, since the subscription began.
struct SessionClaims {
    /// The outcome of a request.
    enum Admission: Hashable {
        /// It is handled. The session of another central ends, if there is one in its place.
        case admitted(ending: Peripheral.ID?)
        /// It is rejected.
        case refused
    }

    private struct Member {
        var requests = 0
        var lastUse: Duration
    }

    /// The time after its last request from which a holder, or a guest among too many, can be replaced.
    static let idleTime = Duration.seconds(30)
    /// The number of centrals without a claim that have sessions.
    static let maximumGuests = 8

    private let needsProof: Bool
    /// The central that the session belongs to.
    private(set) var holder: Peripheral.ID?
    private var members: [Peripheral.ID: Member] = [:]

    /// - Parameter needsProof: whether only a proved exchange of keys claims the session.
    init(needsProof: Bool) { self.needsProof = needsProof }

    /// A central has sent a request. If it is admitted, ``finish(_:at:)`` follows, or ``remove(_:)``.
    ///
    /// - Parameter isKnown: whether the request resumes a known pairing.
    mutating func admit(_ central: Peripheral.ID, at now: Duration, isKnown: Bool = false) -> Admission {
        var ended: Peripheral.ID?
        if central != holder {
            if let holder, !isIdle(holder, at: now) { return .refused }
            if !needsProof {
                (ended, holder) = (holder, central)
            } else if members[central] == nil {
                let guests = members.filter { $0.key != holder }
                if guests.count >= Self.maximumGuests {
                    guard let oldest = guests.min(by: { $0.value.lastUse < $1.value.lastUse }),
                        isKnown || now - oldest.value.lastUse >= Self.idleTime
                    else { return .refused }
                    ended = oldest.key
                }
            }
        }
        if let ended { members[ended] = nil }
        members[central, default: Member(lastUse: now)].requests += 1
        members[central]?.lastUse = now
        return .admitted(ending: ended)
    }

    /// A request has been handled.
    mutating func finish(_ central: Peripheral.ID, at now: Duration) {
        members[central]?.requests -= 1
        members[central]?.lastUse = now
    }

    /// A central has proved that it has the keys of an exchange: the session is its own, and that of the central that
    /// held it before ends. Refused while that one is not idle, because its own proof came first.
    mutating func prove(_ central: Peripheral.ID, at now: Duration) -> Admission {
        guard let former = holder, former != central else {
            holder = central
            return .admitted(ending: nil)
        }
        guard isIdle(former, at: now) else { return .refused }
        members[former] = nil
        holder = central
        return .admitted(ending: former)
    }

    /// The session of a central has ended.
    mutating func remove(_ central: Peripheral.ID) {
        members[central] = nil
        if holder == central { holder = nil }
    }

    private func isIdle(_ central: Peripheral.ID, at now: Duration) -> Bool {
        guard let member = members[central] else { return true }
        return member.requests == 0 && now - member.lastUse >= Self.idleTime
    }
}
