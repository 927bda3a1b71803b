public import BLE

/// The configuration of a ``TransactionSession``.
public struct TransactionConfiguration: Sendable {
    /// The handling of a request that does not fit in one packet of the link.
    public enum LongFrames: Hashable, Sendable {
        /// Writes the request in parts that the peripheral reassembles (a long write, with response), up to 512 bytes.
        case longWrite
        /// Throws `invalidLength`, for devices that do not support long writes.
        case refuse
    }

    /// The characteristic that requests are written to.
    public var request: CharacteristicKey
    /// The characteristic that notifies replies.
    public var reply: CharacteristicKey
    /// The type of writing requests.
    public var writeType: WriteType
    /// The maximum time for a request, from the call to the reply.
    public var replyTimeout: Duration
    /// How long a request that was abandoned after it was written blocks requests with the same key, in case its reply
    /// is late. A reply that arrives even later is taken for the reply to the next request, unless the codec can
    /// distinguish the replies, as with encrypted messages in `bound` mode.
    public var lateReplyGrace: Duration
    /// The handling of requests that do not fit in one packet.
    public var longFrames: LongFrames
    /// The maximum number of unprocessed packets. If there are more, the requests in progress fail with `overflow`, and
    /// the session ends unless it outlasts links.
    public var bufferedPackets: Int
    /// Whether waiting requests outlast the link. If so, the session connects again and writes them on the new link.
    /// Otherwise, the session ends with the link.
    public var outlastsLinks: Bool

    /// Creates a configuration. By default, requests are written with response, and may take 10 s.
    public init(
        request: CharacteristicKey, reply: CharacteristicKey, writeType: WriteType = .withResponse,
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

/// The counts of requests, packets and errors of a ``TransactionSession``.
public struct TransactionCounters: Hashable, Sendable {
    /// The number of requests that were written.
    public internal(set) var written = 0
    /// The number of notified packets.
    public internal(set) var packets = 0
    /// The number of replies that a request was waiting for.
    public internal(set) var replies = 0
    /// The number of rejected requests.
    public internal(set) var rejections = 0
    /// The number of unsolicited messages.
    public internal(set) var notifications = 0
    /// The number of late replies, to abandoned requests.
    public internal(set) var late = 0
    /// The number of replies without a request.
    public internal(set) var unmatched = 0
    /// The number of inputs that were invalid, had a wrong type, or could not be decrypted.
    public internal(set) var malformed = 0
}
