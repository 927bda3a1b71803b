/// Decides what the sender of a file sends next.
///
/// The receiver says up to which byte it accepts data, and where to go on after a loss. What has been sent and not
/// acknowledged is never more than the receiver has granted.
struct TransferSender: Sendable {
    /// What the sender does next.
    enum Action: Hashable, Sendable {
        /// Offers the file. `isNew` has the receiver discard its part.
        case open(isNew: Bool)
        /// Compares the checksum of the first bytes; ``TransferSender/didVerify(isEqual:)`` follows.
        case verify(count: Int, checksum: UInt32)
        /// Sends a message.
        case send(TransferMessage)
        /// Sends bytes, or the first of them; ``TransferSender/didSend(_:)`` follows.
        case data(Range<Int>)
        /// Waits for a message, or for ``TransferSender/didTimeOut()``.
        case wait
        /// The transfer has ended.
        case end(TransferEnd)
    }

    private enum Phase: Hashable {
        case opening
        case offered
        case verifying(offset: Int, checksum: UInt32, limit: Int)
        case sending
        case ended(TransferEnd)
    }

    /// How often the receiver is asked, and how often it may ask for the same bytes, without progress.
    static let maximumProbes = 3, maximumStalls = 8

    private let length: Int
    private let chunkLength: Int
    private var phase = Phase.opening
    private var isNew = false
    private var next = 0
    /// The end of what was sent. The receiver may have more than ``next`` if it asked twice for the same bytes.
    private var sent = 0
    private var limit = 0
    /// The farthest byte that the receiver has asked to go on from.
    private var farthest = 0
    private var probes = 0
    private var stalls = 0
    private var isAsking = false
    private var mustAsk = false
    /// Whether the receiver has said that it is done, while its part is being verified.
    private var isDone = false
    /// The number of bytes that the receiver has stored. Nil before it has answered.
    private(set) var acknowledged: Int?
    /// The number of bytes that the receiver had when it accepted the file.
    private(set) var beginning = 0
    /// Changes whenever the transfer advances.
    private(set) var progress = 0
    /// What the receiver had acknowledged, asked for and granted when the transfer last advanced, in bytes.
    private var advanced = 0

    /// - Parameter chunkLength: the maximum number of bytes in a message, at least 1.
    init(length: Int, chunkLength: Int) {
        self.length = length
        self.chunkLength = max(1, chunkLength)
    }

    /// Whether the receiver has not answered the offer.
    var isOpening: Bool { phase == .opening || phase == .offered }

    /// Returns what to do now.
    mutating func action() -> Action {
        switch phase {
        case .opening:
            phase = .offered
            return .open(isNew: isNew)
        case .offered: return .wait
        case .verifying(let offset, let checksum, _): return .verify(count: offset, checksum: checksum)
        case .ended(let end): return .end(end)
        case .sending:
            if mustAsk {
                (mustAsk, isAsking) = (false, true)
                return .send(.status)
            }
            guard !isAsking, next < limit else { return .wait }
            return .data(next..<min(next + chunkLength, limit))
        }
    }

    /// Records that bytes were sent, from the beginning of the range.
    mutating func didSend(_ count: Int) {
        next += count
        sent = max(sent, next)
    }

    /// Records whether the receiver has the beginning of this file.
    mutating func didVerify(isEqual: Bool) {
        guard case .verifying(let offset, _, let limit) = phase else { return }
        if isEqual {
            begin(offset, limit)
            if isDone { didReceive(.done) }
        } else if isNew {
            phase = .ended(.failed(.invalidMessage))
        } else {
            (isNew, isDone, phase) = (true, false, .opening)
        }
    }

    private mutating func begin(_ offset: Int, _ limit: Int) {
        (next, sent, farthest, self.limit) = (offset, offset, offset, limit)
        (acknowledged, beginning) = (offset, offset)
        phase = .sending
        advanced = received
        progress += 1
    }

    /// Handles a message of the receiver. Other messages are ignored.
    ///
    /// - Parameter message: the message. Nil for one that is not valid, which ends the transfer.
    mutating func didReceive(_ message: TransferMessage?) {
        if case .ended = phase { return }
        guard let message else {
            phase = .ended(.failed(.invalidMessage))
            return
        }
        switch (message, phase) {
        case (.stop(let refusal), _): phase = .ended(.refused(refusal))
        case (.accept(let version, let offset, let checksum, let limit), .offered):
            guard version == TransferOpening.version else {
                phase = .ended(.failed(.version))
                return
            }
            guard offset <= length, offset <= limit, !isNew || offset == 0 else {
                phase = .ended(.failed(.invalidMessage))
                return
            }
            let limit = min(limit, length)
            if offset == 0 {
                begin(0, limit)
            } else {
                phase = .verifying(offset: offset, checksum: checksum, limit: limit)
            }
        case (.grant(let offset, let limit), .sending): didGrant(offset, limit)
        case (.resend(let offset, let limit), .sending):
            didAskForData(offset)
            extend(limit)
        case (.done, .verifying): isDone = true
        case (.done, .sending):
            guard sent == length else {
                phase = .ended(.failed(.invalidMessage))
                return
            }
            acknowledged = length
            phase = .ended(.finished)
        default: return
        }
    }

    private mutating func didGrant(_ offset: Int, _ limit: Int) {
        guard offset <= sent, offset <= limit else {
            phase = .ended(.failed(.invalidMessage))
            return
        }
        next = max(next, offset)
        // The receiver gets on, and asks for what it lacks.
        isAsking = false
        if offset > acknowledged ?? 0 {
            acknowledged = offset
            advance()
        }
        extend(limit)
    }

    private mutating func didAskForData(_ offset: Int) {
        // Bytes that were acknowledged are not sent again.
        guard offset >= acknowledged ?? 0, offset <= sent else {
            phase = .ended(.failed(.invalidMessage))
            return
        }
        if offset > farthest {
            farthest = offset
            advance()
        } else if offset < next {
            stalls += 1
        }
        guard stalls <= Self.maximumStalls else {
            phase = .ended(.failed(.timedOut))
            return
        }
        isAsking = false
        next = offset
    }

    private mutating func extend(_ limit: Int) {
        let limit = min(limit, length)
        guard limit > self.limit else { return }
        self.limit = limit
        advance()
    }

    /// What the receiver has acknowledged, asked for and granted. It never decreases.
    private var received: Int { (acknowledged ?? 0) + farthest + limit }

    private mutating func advance() {
        stalls = 0
        guard received - advanced >= TransferReceiver.minimumProgress else { return }
        (advanced, probes) = (received, 0)
        progress += 1
    }

    /// Records that the transfer has not advanced for the timeout.
    mutating func didTimeOut() {
        guard phase == .sending, probes < Self.maximumProbes else {
            if case .ended = phase { return }
            phase = .ended(.failed(.timedOut))
            return
        }
        probes += 1
        mustAsk = true
    }
}

/// How a transfer has ended.
enum TransferEnd: Hashable, Sendable {
    /// The receiver has the whole file.
    case finished
    /// The other side has ended it.
    case refused(TransferRefusal)
    /// This side has ended it, and tells the other one.
    case failed(TransferRefusal)
}
