public import BLE

/// How a ``TransactionSession`` talks.
public struct TransactionConfiguration: Sendable {
    /// What becomes of a request that does not fit one packet of the link.
    public enum LongFrames: Hashable, Sendable {
        /// It is written in parts that the peripheral puts together (a long write, with response), up to 512 bytes.
        case longWrite
        /// It throws `invalidLength`, for devices that do not know long writes.
        case refuse
    }

    /// The characteristic that requests are written to.
    public var request: AttributeKey
    /// The characteristic that notifies replies.
    public var reply: AttributeKey
    /// How requests are written.
    public var writeType: WriteType
    /// The longest that a request may take, from call to reply.
    public var replyTimeout: Duration
    /// How long the place of a request that was written and given up stays occupied by its reply. A reply that comes later
    /// than that is taken for the next one's, unless the codec can tell them apart, as with encrypted messages in `bound` mode.
    public var lateReplyGrace: Duration
    /// What becomes of long requests.
    public var longFrames: LongFrames
    /// How many notified packets may wait to be looked at. When there are more, the session ends with `overflow`.
    public var bufferedPackets: Int
    /// What waits to be written survives the end of the link: it is written on the next one, which is made for it. Otherwise the
    /// session ends with the link.
    public var outlastsLinks: Bool

    /// A configuration; by default with 10 s for a reply, written with response.
    public init(
        request: AttributeKey, reply: AttributeKey, writeType: WriteType = .withResponse,
        replyTimeout: Duration = .seconds(10), lateReplyGrace: Duration = .seconds(2),
        longFrames: LongFrames = .longWrite, bufferedPackets: Int = 1024, outlastsLinks: Bool = false
    ) {
        self.request = request
        self.reply = reply
        self.writeType = writeType
        self.replyTimeout = replyTimeout
        self.lateReplyGrace = lateReplyGrace
        self.longFrames = longFrames
        self.bufferedPackets = bufferedPackets
        self.outlastsLinks = outlastsLinks
    }
}

/// What a ``TransactionSession`` has seen.
public struct TransactionCounters: Hashable, Sendable {
    /// Requests that were written.
    public internal(set) var written = 0
    /// Packets that were notified.
    public internal(set) var packets = 0
    /// Replies that somebody waited for.
    public internal(set) var replies = 0
    /// What came unasked and was meant to.
    public internal(set) var notifications = 0
    /// Replies to requests that were given up.
    public internal(set) var late = 0
    /// Replies that nobody waited for.
    public internal(set) var unmatched = 0
    /// What means nothing, is of a wrong type, or could not be decrypted.
    public internal(set) var malformed = 0
}
