public import BLE

/// Messages to and from one device over one link: requests and replies, notifications, encryption.
///
/// The keys for encrypted messages are agreed on with the first of them, from the key of an earlier pairing
/// (``MessageEncryption``); ``pair()`` makes one.
public final class MessageSession: Sendable {
    /// Requests and replies.
    let transactions: TransactionSession<MessageCodec>
    /// How encrypted messages are; nil: there are none.
    public let encryption: MessageEncryption?
    private let keys: any PairingKeys
    private let agreement = AgreementInProgress()

    /// A session. Nothing happens before the first message.
    ///
    /// - Parameter keys: where the device's pairing key is kept.
    public init(
        _ peripheral: Peripheral, configuration: TransactionConfiguration, reassembles: Bool = false,
        encryption: MessageEncryption? = nil, keys: any PairingKeys = MemoryPairingKeys()
    ) {
        transactions = TransactionSession(
            peripheral, codec: MessageCodec(reassembles: reassembles), configuration: configuration)
        self.encryption = encryption
        self.keys = keys
    }

    /// Whom it talks to.
    public var peripheral: Peripheral { transactions.peripheral }

    /// What has gone right and wrong so far.
    public var counters: TransactionCounters { get async { await transactions.counters } }

    /// Connects when there is no link, and listens. Messages do it by themselves.
    public func start() async throws(BLEError) { try await transactions.start() }

    /// Ends the session; who still waits gets `error`.
    public func close(
        _ error: BLEError = BLEError(.connectionCancelled, "the session was ended", isRetryable: false)
    ) async {
        await transactions.close(error)
    }

    /// Why the session has ended; returns when it has.
    public func untilClosed() async throws(BLEError) -> BLEError { try await transactions.untilClosed() }

    // MARK: Messages

    /// Sends a request and returns the reply. One request of a command is under way at a time, others wait for their turn.
    ///
    /// An encrypted message is sealed here, and its reply is one that could be opened. Throws `commandTimedOut`,
    /// `invalidMessageType`, `invalidMessage`, `encryptionFailed`, `disconnected`, and what writing throws.
    ///
    /// - Parameter timeout: the longest wait for the reply; nil for the configuration's. Agreeing on keys, where that comes
    ///   first, has as long again.
    public func send(_ message: Message, timeout: Duration? = nil) async throws(BLEError) -> Message {
        try check(message)
        if message.isEncrypted { try await agree() }
        return try await transactions.send(message, timeout: timeout)
    }

    /// Sends a message that has no reply; returns when the device has taken it.
    public func post(_ message: Message, timeout: Duration? = nil) async throws(BLEError) {
        try check(message)
        if message.isEncrypted { try await agree() }
        try await transactions.post(message, timeout: timeout)
    }

    /// The notifications of a command from now on, for any number of listeners. Whether one came encrypted is said by its
    /// ``Message/isEncrypted``. Keeps the newest 256 that are not read yet.
    public func notifications(for command: MessageCommand) async -> BoundedStream<Message> {
        await transactions.notifications { $0.command == command }
    }

    /// Frames that were not taken, from now on, and why. Keeps the newest 64.
    public func problems() async -> BoundedStream<BLEError> { await transactions.problems() }

    private func check(_ message: Message) throws(BLEError) {
        let maximum = message.isEncrypted ? Message.maximumEncryptedPayload : Message.maximumPayload
        guard message.payload.count > maximum else { return }
        throw BLEError(MessageError.payloadTooLong(count: message.payload.count, maximum: maximum))
    }

    // MARK: Keys

    /// Makes a new pairing key with the device and keeps it; encrypted messages use it from here on, so that replies to those that
    /// are under way may be lost. The device may allow it only at certain times.
    public func pair() async throws(BLEError) {
        let encryption = try requireEncryption()
        let keys = try await exchange(encryption, nil)
        try await self.keys.setKey(keys.pairingKey)
        await transactions.use(MessageCipher(encryption.mode, role: .central, keys: keys))
    }

    /// Forgets the pairing key. Encrypted messages throw until there is another.
    public func unpair() async throws(BLEError) {
        try await keys.setKey(nil)
        await transactions.use(nil)
    }

    /// Sees to it that there are keys for this link.
    private func agree() async throws(BLEError) {
        let encryption = try requireEncryption()
        guard await transactions.needsCipher else { return }
        try await agreement.join { [self] () throws(BLEError) in
            guard await transactions.needsCipher else { return }
            guard let key = try await keys.key() else { throw BLEError(MessageError.missingKey) }
            switch encryption.mode {
            case .firmware: await transactions.use(MessageCipher(.firmware, role: .central, key: key))
            case .bound:
                let keys = try await exchange(encryption, key)
                await transactions.use(MessageCipher(.bound, role: .central, keys: keys))
            }
        }
    }

    private func exchange(_ encryption: MessageEncryption, _ key: MessageKey?) async throws(BLEError) -> AgreedKeys {
        let exchange = KeyExchange()
        let reply = try await transactions.send(
            Message(encryption.command, payload: exchange.request(resuming: key)))
        do throws(MessageError) {
            return try exchange.keys(with: reply.payload, resuming: key, derivation: encryption.derivation)
        } catch {
            throw BLEError(error).at(peripheral.id)
        }
    }

    private func requireEncryption() throws(BLEError) -> MessageEncryption {
        guard let encryption else {
            throw BLEError(
                .encryptionFailed, "the configuration says nothing about encryption", isRetryable: false,
                remedy: "Give it a MessageEncryption.")
        }
        return encryption
    }
}

extension TransactionSession<MessageCodec> {
    var needsCipher: Bool { codec.cipher == nil }

    func use(_ cipher: MessageCipher?) {
        if !isClosed { codec.cipher = cipher }
    }
}

/// How encrypted messages are, and how keys for them come about.
public struct MessageEncryption: Sendable, Hashable {
    /// How messages are sealed.
    public var mode: MessageCipher.Mode
    /// How the pairing key is derived.
    public var derivation: KeyDerivation
    /// The command that exchanges public keys.
    public var command: MessageCommand

    /// The encryption of a kind of device.
    public init(mode: MessageCipher.Mode = .bound, derivation: KeyDerivation, command: MessageCommand) {
        self.mode = mode
        self.derivation = derivation
        self.command = command
    }
}

/// Where the pairing key of one device is kept.
public protocol PairingKeys: Sendable {
    /// The key; nil when there is none. Throws `storageFailed`.
    func key() async throws(BLEError) -> MessageKey?
    /// Keeps another key, or none. Throws `storageFailed`.
    func setKey(_ key: MessageKey?) async throws(BLEError)
}

/// A pairing key that is forgotten with this object.
public actor MemoryPairingKeys: PairingKeys {
    private var current: MessageKey?

    /// No key yet, unless one is given.
    public init(_ key: MessageKey? = nil) { current = key }

    /// The key.
    public func key() -> MessageKey? { current }
    /// Another key.
    public func setKey(_ key: MessageKey?) { current = key }
}

/// The agreement on keys that is under way, which all who need it share.
private actor AgreementInProgress {
    private var work: SharedWork<Void>?

    func join(_ agree: @escaping @Sendable () async throws(BLEError) -> Void) async throws(BLEError) {
        let running: SharedWork<Void>
        if let work, !work.isOver {
            running = work
        } else {
            running = SharedWork(agree)
            work = running
        }
        try await running.value()
    }
}
