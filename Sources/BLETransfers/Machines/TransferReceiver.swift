/// Decides what the receiver of a file stores and sends next.
///
/// It grants a window of bytes after what is stored. Bytes after the next one that is missing are discarded, and what
/// is missing is asked for once. Bytes that are there are discarded, and nothing is asked for.
struct TransferReceiver: Sendable {
    /// What the receiver does next.
    enum Action: Hashable, Sendable {
        /// Sends a message.
        case send(TransferMessage)
        /// Stores bytes; ``TransferReceiver/didStore()`` or ``TransferReceiver/didFail(_:)`` follows.
        case store([UInt8], at: Int)
        /// Completes the file; ``TransferReceiver/didFinish()`` or ``TransferReceiver/didFail(_:)`` follows.
        case finish
        /// Discards what was stored, whose checksum is wrong. The transfer has ended.
        case discard
        /// Waits for a message, or for ``TransferReceiver/didTimeOut()``.
        case wait
        /// The transfer has ended.
        case end(TransferEnd)
    }

    private enum Phase: Hashable {
        case receiving
        case finishing
        case discarding
        case ended(TransferEnd)
    }

    /// How often the sender is asked, how often bytes are asked for again, and how often the sender may ask, without
    /// progress.
    static let maximumProbes = 3, maximumStalls = 8, maximumQuestions = 16

    /// The maximum window, in bytes.
    static let maximumWindow = 1 << 24
    /// The number of bytes that count as progress, unless the window is smaller. Fewer of them in the time of all
    /// questions end a transfer, so that a trickle does not hold it.
    static let minimumProgress = 1024

    private let length: Int
    private let expectedChecksum: UInt32
    private let window: Int
    private var phase = Phase.receiving
    private var checksum: TransferChecksum
    private var pending: [UInt8] = []
    /// Whether these bytes are being stored.
    private var isStoring = false
    /// The bytes up to which data was granted.
    private var limit: Int
    /// What was stored when the sender was last told.
    private var announced: Int
    private var outgoing: [TransferMessage]
    private var hasReceived = false
    private var isAskingForData = false
    /// The number of bytes that were discarded, without progress, and since bytes were last asked for.
    private var discarded = 0, discardedSinceAsking = 0
    private var probes = 0, stalls = 0, questions = 0
    /// The number of bytes that are stored.
    private(set) var stored: Int
    /// The number of bytes that were stored before.
    let beginning: Int
    /// Changes whenever the transfer advances.
    private(set) var progress = 0
    /// The next byte that was missing when the transfer last advanced.
    private var advanced: Int

    /// Creates a receiver that accepts a file.
    ///
    /// - Parameters:
    ///   - stored: the number of bytes that are there, at most the length.
    ///   - checksum: their checksum.
    ///   - window: the maximum number of bytes that are on their way or not stored, at least 1.
    init(file: TransferFile, stored: Int, checksum: UInt32, window: Int) {
        length = file.length
        expectedChecksum = file.checksum
        self.window = min(max(1, window), Self.maximumWindow)
        self.checksum = TransferChecksum(checksum)
        (self.stored, beginning, announced, advanced) = (stored, stored, stored, stored)
        limit = stored + min(self.window, file.length - stored)
        outgoing = [.accept(version: TransferOpening.version, offset: stored, checksum: checksum, limit: limit)]
    }

    /// The next byte that is missing.
    private var next: Int { stored + pending.count }

    /// The bytes that have arrived, and that are neither stored nor being stored. Nil if there are none.
    var unstored: (bytes: [UInt8], offset: Int)? { pending.isEmpty || isStoring ? nil : (pending, stored) }

    /// Returns what to do now.
    mutating func action() -> Action {
        if !outgoing.isEmpty { return .send(outgoing.removeFirst()) }
        // Also if the sender has ended the transfer after it has sent them.
        guard pending.isEmpty else {
            isStoring = true
            return .store(pending, at: stored)
        }
        switch phase {
        case .finishing: return .finish
        case .discarding:
            phase = .ended(.failed(.wrongChecksum))
            return .discard
        case .ended(let end): return .end(end)
        case .receiving:
            guard stored == length else { return .wait }
            phase = checksum.value == expectedChecksum ? .finishing : .discarding
            return action()
        }
    }

    /// Handles a message of the sender. Other messages are ignored.
    ///
    /// - Parameter message: the message. Nil for one that is not valid, which ends the transfer.
    mutating func didReceive(_ message: TransferMessage?) {
        guard let message else { return fail(.invalidMessage) }
        switch message {
        case .stop(let refusal): if !isEnded { phase = .ended(.refused(refusal)) }
        case .data(let offset, let bytes): if phase == .receiving { didReceive(bytes, at: offset) }
        case .status:
            questions += 1
            guard questions <= Self.maximumQuestions else { return fail(.timedOut) }
            // Another message that waits is no answer.
            guard phase == .receiving, !outgoing.contains(where: \.isResend) else { return }
            outgoing.append(.resend(offset: next, limit: limit))
        default: return
        }
    }

    private mutating func didReceive(_ bytes: ArraySlice<UInt8>, at offset: Int) {
        guard offset <= next else { return didMiss(bytes.count) }
        // The sender has gone back farther than to the next byte. It comes to it unasked, and would go back again if it
        // was asked.
        let missing = bytes.dropFirst(next - offset)
        guard !missing.isEmpty else { return discard(bytes.count) }
        guard missing.count <= limit - next else { return fail(.invalidMessage) }
        pending += missing
        checksum.append(missing)
        (hasReceived, isAskingForData) = (true, false)
        (discarded, stalls, questions) = (0, 0, 0)
        guard next - advanced >= min(Self.minimumProgress, window) else { return }
        (advanced, probes) = (next, 0)
        progress += 1
    }

    /// Discards bytes, of which a sender sends a bounded number without progress.
    private mutating func discard(_ count: Int) {
        discarded += count + TransferPacket.dataHeaderLength
        guard discarded <= 16 * window + 4096 else { return fail(.invalidMessage) }
    }

    /// Discards bytes after the next one. A sender that has sent them before it was asked sends at most a window.
    private mutating func didMiss(_ count: Int) {
        discard(count)
        discardedSinceAsking += count
        guard phase == .receiving else { return }
        // After a window of them, the sender has gone back, and the first bytes were lost again.
        guard !isAskingForData || discardedSinceAsking > window else { return }
        (isAskingForData, discardedSinceAsking) = (true, 0)
        stalls += 1
        guard stalls <= Self.maximumStalls else { return fail(.invalidMessage) }
        outgoing.append(.resend(offset: next, limit: limit))
    }

    /// Records that the bytes of the last `store` are stored.
    mutating func didStore() {
        stored += pending.count
        (pending, isStoring) = ([], false)
        guard phase == .receiving else { return }
        // A quarter of the window, so that the sender does not wait for the rest.
        guard stored - announced >= max(1, window / 4), stored < length else { return }
        announced = stored
        limit = stored + min(window, length - stored)
        outgoing.append(.grant(offset: stored, limit: limit))
    }

    /// Records that the file is complete.
    mutating func didFinish() {
        guard phase == .finishing else { return }
        phase = .ended(.finished)
        outgoing.append(.done)
    }

    /// Records that the storage has refused.
    mutating func didFail(_ refusal: TransferRefusal) { fail(refusal) }

    private var isEnded: Bool { if case .ended = phase { true } else { false } }

    private mutating func fail(_ refusal: TransferRefusal) {
        guard !isEnded else { return }
        (phase, outgoing, pending) = (.ended(.failed(refusal)), [], [])
    }

    /// Records that the transfer has not advanced for the timeout.
    mutating func didTimeOut() {
        guard phase == .receiving else { return }
        probes += 1
        guard probes <= Self.maximumProbes else { return fail(.timedOut) }
        // The sender may have missed the last message.
        outgoing.append(
            hasReceived
                ? .resend(offset: next, limit: limit)
                : .accept(
                    version: TransferOpening.version, offset: stored, checksum: checksum.value, limit: limit))
        isAskingForData = hasReceived
    }
}

extension TransferMessage {
    fileprivate var isResend: Bool { if case .resend = self { true } else { false } }
}
