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
    private let agreements = Agreements()
    private let didConfirm: @Sendable () async -> Void

    /// A session. Nothing happens before the first message.
    ///
    /// - Parameter keys: where the device's pairing key is kept.
    public convenience init(
        _ peripheral: Peripheral, configuration: TransactionConfiguration, reassembles: Bool = false,
        encryption: MessageEncryption? = nil, keys: any PairingKeys = MemoryPairingKeys()
    ) {
        self.init(
            peripheral, configuration: configuration, reassembles: reassembles, encryption: encryption, keys: keys
        ) {}
    }

    /// - Parameter didConfirm: called each time that the device has proved that it has the pairing key.
    init(
        _ peripheral: Peripheral, configuration: TransactionConfiguration, reassembles: Bool,
        encryption: MessageEncryption?, keys: any PairingKeys, didConfirm: @escaping @Sendable () async -> Void
    ) {
        var configuration = configuration
        // Keys are those of one link.
        configuration.outlastsLinks = false
        transactions = TransactionSession(
            peripheral, codec: MessageCodec(reassembles: reassembles), configuration: configuration)
        self.encryption = encryption
        self.keys = keys
        self.didConfirm = didConfirm
    }

    /// Whom it talks to.
    public var peripheral: Peripheral { transactions.peripheral }

    /// What has gone right and wrong so far.
    public var counters: TransactionCounters { get async { await transactions.counters } }

    /// Connects when there is no link, and listens. Messages do it by themselves.
    ///
    /// Encrypted notifications can be read from here on in `firmware` mode; in `bound` mode after ``secure()`` or the first
    /// encrypted message.
    public func start() async throws(BLEError) {
        try await transactions.start()
        if encryption?.mode == .firmware, try await keys.key() != nil { try await secure() }
    }

    /// Ends the session; who still waits gets `connectionCancelled`. The link stays.
    public func close() async { await transactions.close() }

    func close(_ error: BLEError) async { await transactions.close(error) }

    /// Why the session has ended; returns when it has.
    public func untilClosed() async throws(BLEError) -> BLEError { try await transactions.untilClosed() }

    // MARK: Messages

    /// Sends a request and returns the reply. One request of a command is under way at a time, others wait for their turn.
    ///
    /// An encrypted message is sealed here, and its reply is one that could be opened. Throws `commandTimedOut`,
    /// `invalidMessageType`, `invalidMessage`, `encryptionFailed`, `disconnected`, and what writing throws.
    ///
    /// - Parameter timeout: the longest wait for the reply; nil for the configuration's. Agreeing on keys, where that comes
    ///   first, has the configuration's.
    public func send(_ message: Message, timeout: Duration? = nil) async throws(BLEError) -> Message {
        try check(message)
        return try await withKeys(message) { () throws(BLEError) in
            try await transactions.send(message, timeout: timeout)
        }
    }

    /// Sends a message that has no reply; returns when the device has taken it.
    public func post(_ message: Message, timeout: Duration? = nil) async throws(BLEError) {
        try check(message)
        try await withKeys(message) { () throws(BLEError) in
            try await transactions.post(message, timeout: timeout)
        }
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

    /// Makes a new pairing key with the device and keeps it; encrypted messages use it from here on. Those that are under way may
    /// lose their replies. The device may allow it only at certain times.
    ///
    /// Pairing does not tell who the device is: an attacker between the two while they pair shares keys with both, unnoticed.
    ///
    /// Throws `storageFailed` when the key cannot be kept: it is good for this link then. Throws `encryptionFailed` when the device
    /// does not confirm the key.
    public func pair() async throws(BLEError) {
        let encryption = try requireEncryption()
        try await agreements.run { [self] () throws(BLEError) in
            try await keys.setKey(try await exchange(encryption, nil).pairingKey)
        }
    }

    /// Forgets the pairing key. Encrypted messages throw until there is another.
    public func unpair() async throws(BLEError) {
        try await agreements.run { [self] () throws(BLEError) in
            try await keys.setKey(nil)
            await transactions.use(nil)
        }
    }

    /// Agrees on the keys of this link from the pairing's, so that encrypted notifications can be read. Encrypted messages do it by
    /// themselves; in `bound` mode again, after a frame could not be authenticated, or an encrypted request was not answered in time.
    ///
    /// In `bound` mode each side proves to the other that it knows the pairing key. Throws `encryptionFailed`, caused by `missingKey`
    /// when there is no pairing, `keyUnknownToDevice` when the device says that it does not know it, and `confirmationFailed` when it
    /// does not prove that it does.
    public func secure() async throws(BLEError) {
        let encryption = try requireEncryption()
        guard await transactions.needsKeys else { return }
        try await agreements.run { [self] () throws(BLEError) in
            guard await transactions.needsKeys else { return }
            guard let key = try await keys.key() else { throw BLEError(MessageError.missingKey).at(peripheral.id) }
            switch encryption.mode {
            case .firmware: await transactions.use(MessageCipher(.firmware, role: .central, key: key))
            case .bound: _ = try await exchange(encryption, key)
            }
        }
    }

    /// Whether there is a pairing key that the device can prove to have.
    var hasProvableKey: Bool {
        get async {
            guard encryption?.mode == .bound else { return false }
            return (try? await keys.key()) != nil
        }
    }

    /// Sends what `message` says, with keys; once more where another pairing has come in between.
    private func withKeys<Result>(
        _ message: Message, _ send: () async throws(BLEError) -> Result
    ) async throws(BLEError) -> Result {
        guard message.isEncrypted else { return try await send() }
        try await secure()
        do throws(BLEError) {
            return try await withTrust(send)
        } catch {
            guard error.cause as? MessageError == .missingKey, await !transactions.isClosed else { throw error }
            try await secure()
            return try await withTrust(send)
        }
    }

    /// Sends something encrypted. A device does not answer what it cannot open, so a missing reply may mean that it has other keys.
    private func withTrust<Result>(_ send: () async throws(BLEError) -> Result) async throws(BLEError) -> Result {
        let number = await transactions.keyNumber
        do throws(BLEError) {
            return try await send()
        } catch {
            if error.code == .commandTimedOut, encryption?.mode == .bound { await transactions.distrustKeys(number) }
            throw error
        }
    }

    private func exchange(_ encryption: MessageEncryption, _ key: MessageKey?) async throws(BLEError) -> AgreedKeys {
        let exchange = PendingExchange(resuming: key, encryption)
        do throws(BLEError) {
            let reply = try await transactions.send(exchange)
            let keys: AgreedKeys
            do throws(MessageError) {
                keys = try exchange.keys(from: reply)
            } catch {
                throw BLEError(error).at(peripheral.id)
            }
            if let confirmation = exchange.confirmation {
                _ = try await transactions.send(confirmation)
                await didConfirm()
            }
            return keys
        } catch {
            await transactions.abandonExchange()
            throw error
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
    var needsKeys: Bool { codec.keys.needsExchange }
    var keyNumber: Int { codec.keys.number }

    /// Sends the request of an exchange, after whose reply its keys count.
    func send(_ exchange: PendingExchange) async throws(BLEError) -> Message {
        codec.keys.prepare(exchange)
        return try await send(exchange.request)
    }

    func abandonExchange() { codec.keys.abandonExchange() }

    func distrustKeys(_ number: Int) { codec.keys.distrust(number) }

    func use(_ cipher: MessageCipher?) {
        if !isClosed { codec.cipher = cipher }
    }
}

/// Agreements on keys, one after the other.
private actor Agreements {
    private var last: SharedWork<Void>?

    func run(_ agree: @escaping @Sendable () async throws(BLEError) -> Void) async throws(BLEError) {
        let work = SharedWork { [last] () throws(BLEError) in
            await last?.untilEnded()
            if Task.isCancelled { throw .cancelled }
            try await agree()
        }
        last = work
        try await work.value()
    }
}
