internal import BLE

/// A central's session with a device: its keys, and its waiting requests and messages.
///
/// It begins with the central's subscription, or with its first request if the system does not distinguish the
/// subscribers.
struct PeripheralSession {
    /// A waiting request, and its central.
    typealias Request = (frame: [UInt8], central: DeviceID)

    /// The maximum number of waiting requests, and of waiting messages to send.
    static let capacity = 64

    /// A unique number.
    let number: Int
    /// The number of the subscription over which replies are sent.
    let subscription: Int
    /// Whether all centrals of the subscription receive the replies, because the system does not distinguish them.
    let isShared: Bool
    /// The ATT MTU of the link, in bytes.
    private(set) var attMTU = 23
    /// The number of messages that wait to be sent.
    var frameCount = 0
    private var keys: PeripheralLinkKeys
    /// The keys for the reply of the running handler, if they were forgotten meanwhile.
    private var retired: PeripheralLinkKeys?
    private var isHandling = false
    private let requests: AsyncStream<Request>.Continuation
    /// Handles the requests.
    private var work: Task<Void, Never>?

    init(
        number: Int, subscription: Int, isShared: Bool, keys: PeripheralLinkKeys,
        work: (_ requests: AsyncStream<Request>) -> Task<Void, Never>
    ) {
        self.number = number
        self.subscription = subscription
        self.isShared = isShared
        self.keys = keys
        let requests: AsyncStream<Request>
        (requests, self.requests) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.capacity))
        self.work = work(requests)
    }

    /// Ends the session: cancels its handler, and drops waiting requests.
    func end() {
        work?.cancel()
        requests.finish()
    }

    // MARK: Queues

    /// Takes a request. Returns false if too many wait.
    mutating func take(_ frame: [UInt8], _ request: AttributeRequest) -> Bool {
        if let length = request.attMTU { attMTU = length }
        if case .enqueued = requests.yield((frame, request.central)) { return true }
        return false
    }

    /// Whether another message may wait to be sent.
    var hasRoom: Bool { frameCount < Self.capacity }

    // MARK: Keys

    /// Decodes a frame.
    mutating func decode(_ frame: [UInt8]) throws(MessageError) -> Message { try keys.decode(frame) }

    /// Encodes a message that is not a reply, or one of the key exchange.
    mutating func encode(_ message: Message) throws(MessageError) -> [UInt8] { try keys.encode(message) }

    /// The counter of the request that was decoded last, which may be one of the exchange in progress.
    func requestCounter(ofExchange isExchange: Bool) -> UInt64? {
        isExchange ? keys.candidateCounter : keys.requestCounter
    }

    /// Begins to handle the request that was decoded last.
    mutating func beginHandling() { isHandling = true }

    /// Ends the handling of a request.
    mutating func endHandling() { (isHandling, retired) = (false, nil) }

    /// Encodes the reply to the request that is being handled, or its rejection.
    mutating func encodeReply(_ message: Message, answering counter: UInt64?) throws(MessageError) -> [UInt8] {
        guard retired != nil else { return try keys.encode(message, answering: counter) }
        return try retired!.encode(message, answering: counter)
    }

    /// Forgets all keys. The reply of the running handler still uses them.
    mutating func forgetKeys() {
        if isHandling, retired == nil { retired = keys }
        keys.forget()
    }

    /// The pairing key of the exchange in progress.
    var candidateKey: MessageKey? { keys.candidateKey }

    /// Answers a key exchange. Returns the reply, and the keys to pass to ``use(_:)`` then.
    func exchange(
        _ payload: [UInt8], among pairings: [MessageKey], at now: Duration
    ) throws(MessageError) -> (reply: [UInt8], pairingKey: MessageKey?, keys: PeripheralLinkKeys) {
        var keys = keys
        let (reply, pairingKey) = try keys.exchange(payload, among: pairings, at: now)
        return (reply, pairingKey, keys)
    }

    mutating func use(_ keys: PeripheralLinkKeys) { self.keys = keys }

    /// Handles the central's confirmation of the keys of the exchange in progress.
    mutating func confirmed(at now: Duration) -> (key: MessageKey, isNew: Bool)? { keys.confirmed(at: now) }

    /// Ends the exchange in progress if it is for a new pairing and not confirmed.
    mutating func dropNewPairing() { keys.dropNewPairing() }

    /// Uses the keys of the exchange in progress, which have been stored.
    mutating func confirmKeys() { keys.confirm() }

    /// Ends the exchange in progress.
    mutating func dropCandidate() { keys.dropCandidate() }
}
