internal import BLE

/// Decides which centrals have sessions, if the system does not distinguish subscribers, like BlueZ before 5.80.
///
/// In this case, it is unknown whether the central of a request is subscribed, so any central in range could take the
/// session. These rules protect the session of its central:
///
/// - Without a subscription, there is no session, and a request claims nothing.
/// - One central at a time holds the session. In `bound` mode, the holder is the central that has proved an exchange of
///   keys; until then, the requests of up to ``maximumGuests`` centrals, the guests, are handled concurrently. In other
///   modes, nothing can be proved, and the holder is the first central to send a request.
/// - While the holder's last request is younger than ``idleTime`` or is being handled, other centrals are refused.
///   After that, they may send requests again, and the next one that claims the session replaces the holder.
/// - A guest can be replaced when its last request is older than ``idleTime``, even if that request is being handled. A
///   central that resumes a known pairing replaces the guest with the oldest last request at any time.
/// - When a link ends, its central's claim and session end.
///
/// Times are measured with the host's clock, since the subscription began.
struct SessionClaims {
    /// The outcome of a request.
    enum Admission: Hashable {
        /// The request is handled. The session of the given central ends, if its place is taken.
        case admitted(ending: DeviceID?)
        /// The request is rejected.
        case refused
    }

    private struct Member {
        var requests = 0
        var lastUse: Duration
    }

    /// The time after its last request when a holder, or a guest among too many, can be replaced.
    static let idleTime = Duration.seconds(30)
    /// The maximum number of centrals with a session and without a claim.
    static let maximumGuests = 8

    private let needsProof: Bool
    /// The central that holds the session.
    private(set) var holder: DeviceID?
    private var members: [DeviceID: Member] = [:]

    /// - Parameter needsProof: whether only a proved exchange of keys claims the session.
    init(needsProof: Bool) { self.needsProof = needsProof }

    /// Handles a request of a central. If it is admitted, ``finish(_:at:)`` or ``remove(_:)`` must follow.
    ///
    /// - Parameter isKnown: whether the request resumes a known pairing.
    mutating func admit(_ central: DeviceID, at now: Duration, isKnown: Bool = false) -> Admission {
        var ended: DeviceID?
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

    /// Records that a request has been handled.
    mutating func finish(_ central: DeviceID, at now: Duration) {
        members[central]?.requests -= 1
        members[central]?.lastUse = now
    }

    /// Gives the session to a central that has proved that it has the keys of an exchange. The session of the former
    /// holder ends. Refused if the holder is not idle, because its proof came first.
    mutating func prove(_ central: DeviceID, at now: Duration) -> Admission {
        guard let former = holder, former != central else {
            holder = central
            return .admitted(ending: nil)
        }
        guard isIdle(former, at: now) else { return .refused }
        members[former] = nil
        holder = central
        return .admitted(ending: former)
    }

    /// Records that the session of a central has ended.
    mutating func remove(_ central: DeviceID) {
        members[central] = nil
        if holder == central { holder = nil }
    }

    private func isIdle(_ central: DeviceID, at now: Duration) -> Bool {
        guard let member = members[central] else { return true }
        return member.requests == 0 && now - member.lastUse >= Self.idleTime
    }
}
