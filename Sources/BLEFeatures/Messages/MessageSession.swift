public import BLE

/// Exchanges messages with one device over one link: requests, replies and notifications, encrypted if needed.
///
/// The first encrypted message agrees on the keys of the link, based on the key of an earlier pairing
/// (``MessageEncryption``). ``pair()`` creates such a key.
public final class MessageSession: Sendable {
    /// The session of requests and replies that messages use.
    let transactions: TransactionSession<MessageCodec>
    /// The encryption of messages. Nil if messages are not encrypted.
    public let encryption: MessageEncryption?
    private let keys: any PairingKeys
    private let agreements = Agreements()
    private let didConfirm: @Sendable () async -> Void

    /// Creates a session. Nothing is sent before the first message.
    ///
    /// - Parameters:
    ///   - keys: the storage for the device's pairing key.
    ///   - rejections: the command of the notifications with which the device rejects requests; see
    ///     ``Devices/Configuration/rejections``.
    public convenience init(
        _ peripheral: Peripheral, configuration: TransactionConfiguration, reassembles: Bool = false,
        encryption: MessageEncryption? = nil, keys: any PairingKeys = MemoryPairingKeys(),
        rejections: MessageCommand? = nil
    ) {
        self.init(
            peripheral, configuration: configuration, reassembles: reassembles, encryption: encryption, keys: keys,
            rejections: rejections
        ) {}
    }

    /// Creates a session with a peripheral that is known to be a device of a kind, such as by its address. Nothing is
    /// sent before the first message.
    ///
    /// - Parameters:
    ///   - kind: the protocol. Its features are not used.
    ///   - serial: the serial number of the device, under which its key is stored: twelve lowercase hexadecimal digits.
    ///   - storage: where the pairing key is. The default is for a device that is not paired.
    public convenience init(
        _ peripheral: Peripheral, kind: Devices.Configuration, serial: String,
        storage: any DeviceStorage = MemoryDeviceStorage()
    ) {
        self.init(peripheral, kind: kind, keys: StoredPairingKeys(serial: serial, storage: storage)) {}
    }

    convenience init(
        _ peripheral: Peripheral, kind: Devices.Configuration, keys: any PairingKeys,
        didConfirm: @escaping @Sendable () async -> Void
    ) {
        self.init(
            peripheral, configuration: kind.transactions, reassembles: kind.reassembles, encryption: kind.encryption,
            keys: keys, rejections: kind.rejections, didConfirm: didConfirm)
    }

    /// - Parameter didConfirm: called each time the device has proved that it has the pairing key.
    init(
        _ peripheral: Peripheral, configuration: TransactionConfiguration, reassembles: Bool,
        encryption: MessageEncryption?, keys: any PairingKeys, rejections: MessageCommand?,
        didConfirm: @escaping @Sendable () async -> Void
    ) {
        var configuration = configuration
        // Keys belong to one link.
        configuration.outlastsLinks = false
        transactions = TransactionSession(
            peripheral, codec: MessageCodec(reassembles: reassembles, rejections: rejections),
            configuration: configuration)
        self.encryption = encryption
        self.keys = keys
        self.didConfirm = didConfirm
    }

    /// The device's peripheral.
    public var peripheral: Peripheral { transactions.peripheral }

    /// Whether the session has ended, with its link or by ``close()``.
    public var isClosed: Bool { get async { await transactions.isClosed } }

    /// The counts of messages and errors so far.
    public var counters: TransactionCounters { get async { await transactions.counters } }

    /// Connects if there is no link, and enables notifications. Sending a message does this automatically.
    ///
    /// From then on, encrypted notifications of a paired device can be read in `firmware` mode. In `bound` mode, they
    /// can be read after ``secure()`` or the first encrypted message.
    public func start() async throws(BLEError) {
        try await transactions.start()
        if encryption?.mode == .firmware, try await keys.key() != nil { try await secure() }
    }

    /// Ends the session. Pending messages fail with `connectionCancelled`. The link stays.
    public func close() async { await transactions.close() }

    func close(_ error: BLEError) async { await transactions.close(error) }

    /// Waits until the session ends, and returns the reason.
    public func untilClosed() async throws(BLEError) -> BLEError { try await transactions.untilClosed() }

    // MARK: Messages

    /// Sends a request and returns the reply. Requests with the same command are sent one at a time.
    ///
    /// An encrypted message is encrypted here, and only a reply that can be decrypted answers it. Throws
    /// `commandTimedOut`, `messageRejected`, `invalidMessageType`, `invalidMessage`, `encryptionFailed`,
    /// `disconnected`, and the errors of writing.
    ///
    /// - Parameter timeout: the maximum time for the request, including its reply. Nil for the configuration's timeout.
    ///   A key exchange that is necessary first has the configuration's timeout.
    public func send(_ message: Message, timeout: Duration? = nil) async throws(BLEError) -> Message {
        try check(message)
        return try await withKeys(message) { () throws(BLEError) in
            try await transactions.send(message, timeout: timeout)
        }
    }

    /// Sends a message that has no reply. Returns when it is written.
    public func post(_ message: Message, timeout: Duration? = nil) async throws(BLEError) {
        try check(message)
        try await withKeys(message) { () throws(BLEError) in
            try await transactions.post(message, timeout: timeout)
        }
    }

    /// Returns the notifications of a command, from now on, for any number of listeners. Keeps the newest 256 unread
    /// notifications.
    ///
    /// - Parameter isEncrypted: true for encrypted notifications only, false for unencrypted ones only. Nil for both;
    ///   ``Message/isEncrypted`` then distinguishes them. Any device that uses the address of this device can send
    ///   unencrypted notifications.
    public func notifications(
        for command: MessageCommand, isEncrypted: Bool? = nil
    ) async -> BoundedStream<Message> {
        await transactions.notifications {
            $0.command == command && (isEncrypted == nil || $0.isEncrypted == isEncrypted)
        }
    }

    /// Returns the errors for rejected frames, from now on. Keeps the newest 64 unread errors.
    public func problems() async -> BoundedStream<BLEError> { await transactions.problems() }

    private func check(_ message: Message) throws(BLEError) {
        let maximum = message.isEncrypted ? Message.maximumEncryptedPayload : Message.maximumPayload
        guard message.payload.count > maximum else { return }
        throw BLEError(MessageError.payloadTooLong(count: message.payload.count, maximum: maximum))
    }

    // MARK: Keys

    /// Agrees on a new pairing key with the device and stores it. Encrypted messages use it from then on.
    ///
    /// Encrypted requests in progress may lose their replies. The device may allow pairing only at certain times.
    ///
    /// Pairing does not authenticate the device: an attacker in the middle can agree on a key with each side without
    /// being noticed.
    ///
    /// Throws `storageFailed` if the key cannot be stored; it is then used for this link only. Throws
    /// `encryptionFailed` if the device does not confirm the key.
    public func pair() async throws(BLEError) {
        let encryption = try requireEncryption()
        try await agreements.run { [self] () throws(BLEError) in
            let agreed: AgreedKeys
            do throws(BLEError) {
                agreed = try await exchange(encryption, nil)
            } catch {
                guard error.code == .commandTimedOut, error.remedy == nil else { throw error }
                var error = error
                // A device that refuses to pair does not answer.
                error.remedy = "Check that the device allows pairing now, for example while its button is held."
                throw error
            }
            try await keys.setKey(agreed.pairingKey)
        }
    }

    /// Forgets the pairing key. Encrypted messages then fail until there is another one.
    public func unpair() async throws(BLEError) {
        try await agreements.run { [self] () throws(BLEError) in
            try await keys.setKey(nil)
            await transactions.use(nil)
        }
    }

    /// Agrees on the keys of this link, based on the pairing key, so that encrypted notifications can be read.
    ///
    /// Encrypted messages do this automatically. In `bound` mode they also do it again after a frame could not be
    /// authenticated, after an encrypted request was not answered in time, or after the device has said that it could
    /// not decrypt one.
    ///
    /// In `bound` mode, each side proves to the other that it knows the pairing key. Throws `encryptionFailed`, whose
    /// cause is `missingKey` if the device is not paired, `keyUnknownToDevice` if the device replies that it does not
    /// know the key, and `confirmationFailed` if it does not prove that it knows the key. A reply of the right length
    /// without the proof may be for another central, so the wait for another reply continues until the timeout.
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

    /// Whether there is a pairing key, and a mode in which the device can prove that it has the key.
    var hasProvableKey: Bool {
        get async {
            guard encryption?.mode == .bound else { return false }
            return (try? await keys.key()) != nil
        }
    }

    /// Sends `message` with `send`, after agreeing on keys if it is encrypted. Repeats this if another pairing replaces
    /// the keys.
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

    /// Sends an encrypted message. A device does not answer a message that it cannot decrypt, so without a reply the
    /// keys are not trusted any longer.
    private func withTrust<Result>(_ send: () async throws(BLEError) -> Result) async throws(BLEError) -> Result {
        let number = await transactions.keyNumber
        do throws(BLEError) {
            return try await send()
        } catch {
            if error.code == .commandTimedOut { await transactions.distrustKeys(number) }
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
            if error.code == .commandTimedOut, let problem = error.cause as? BLEError,
                problem.cause as? MessageError == .confirmationFailed
            {
                throw problem
            }
            throw error
        }
    }

    private func requireEncryption() throws(BLEError) -> MessageEncryption {
        guard let encryption else {
            throw BLEError(
                .encryptionFailed, "the configuration does not contain encryption", isRetryable: false,
                remedy: "Add a MessageEncryption to the configuration.")
        }
        return encryption
    }
}

extension TransactionSession<MessageCodec> {
    var needsKeys: Bool { codec.keys.needsExchange }
    var keyNumber: Int { codec.keys.number }

    /// Sends the request of a key exchange. The keys take effect when its reply arrives.
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

/// Runs key exchanges one after another.
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
