internal import Crypto

/// Encrypts messages and decrypts the messages of the other side, with AES-256-GCM, for one connection.
///
/// The payload of an encrypted frame is nonce (12 bytes), ciphertext and tag (16 bytes), so a message carries at most
/// ``Message/maximumEncryptedPayload`` bytes. A cipher is a value that counts the messages. Do not encrypt with a copy
/// of a cipher: two messages would have the same nonce.
public struct MessageCipher: Sendable {
    /// The choice of nonces and of the authenticated data.
    public enum Mode: Sendable, Hashable {
        /// The mode of this project. The nonce is the direction and a counter. The header is authenticated, and for a
        /// reply also the counter of its request. The key is the session key.
        ///
        /// A message cannot be modified, repeated, reflected, or used on another connection, and a reply cannot answer
        /// a different request. A suppressed or delayed message is not detected.
        case bound
        /// The mode of devices with the earlier protocol. The nonce is random, only the payload is authenticated, and
        /// the key is the pairing key.
        ///
        /// The header can be modified in transit, and a recorded message is valid on another connection. Only the last
        /// 1024 nonces of this connection are rejected.
        case firmware
    }

    /// The side of the connection.
    public enum Role: Sendable, Hashable {
        /// The side that sends requests.
        case central
        /// The side that answers requests.
        case peripheral

        /// The first byte of a counting nonce.
        var direction: UInt8 { self == .central ? 1 : 2 }
        var other: Role { self == .central ? .peripheral : .central }
    }

    static let nonceSize = 12
    static let tagSize = 16

    /// The choice of nonces and of the authenticated data.
    public let mode: Mode
    /// The side of the connection.
    public let role: Role
    private let key: MessageKey
    private var nonces: any MessageNonces
    /// The counters of encrypted requests without a reply, in ascending order. Contains only the newest few of each
    /// command.
    private var unanswered: [MessageCommand: [UInt64]] = [:]
    /// The request that was decrypted last.
    private var opened: (command: MessageCommand, counter: UInt64)?

    /// The number of unanswered requests to remember for each command. Only the newest can be answered; the others
    /// distinguish late replies from forged ones.
    private static let memory = 4

    /// Creates a cipher for a new connection. `key` is the session key in `bound` mode, the pairing key in `firmware`
    /// mode.
    public init(_ mode: Mode, role: Role, key: MessageKey) {
        self.mode = mode
        self.role = role
        self.key = key
        switch mode {
        case .bound: nonces = CountingNonces(role: role)
        case .firmware: nonces = RandomNonces()
        }
    }

    /// Creates a cipher with the key that the mode uses.
    public init(_ mode: Mode, role: Role, keys: AgreedKeys) {
        self.init(mode, role: role, key: mode == .bound ? keys.sessionKey : keys.pairingKey)
    }

    /// The counter of the request that was decrypted last. Nil before the first request, and in `firmware` mode.
    ///
    /// Pass it to ``seal(_:answering:)`` if other requests may be decrypted before the reply is encrypted.
    public var requestCounter: UInt64? { opened?.counter }

    /// Takes over the nonces that an earlier cipher of this connection rejects. Does nothing in `bound` mode, in which
    /// each session key has its own counters.
    mutating func takeOverNonces(of former: MessageCipher) {
        if mode == .firmware, former.mode == .firmware { nonces = former.nonces }
    }

    /// Encrypts a message and returns its frame. The message's `isEncrypted` is ignored.
    ///
    /// Throws `payloadTooLong`. In `bound` mode, also throws `unrequestedReply` for a reply without `request`, unless
    /// the request that was decrypted last has the same command.
    ///
    /// - Parameter request: the ``requestCounter`` of the request that a reply answers. Nil for the request that was
    ///   decrypted last. Used only in `bound` mode.
    public mutating func seal(_ message: Message, answering request: UInt64? = nil) throws(MessageError) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return try seal(message, answering: request, using: &generator)
    }

    /// Encrypts a message. In `firmware` mode, `generator` generates the nonce; it must be cryptographically secure.
    public mutating func seal(
        _ message: Message, answering request: UInt64? = nil, using generator: inout some RandomNumberGenerator
    ) throws(MessageError) -> [UInt8] {
        guard message.payload.count <= Message.maximumEncryptedPayload else {
            throw .payloadTooLong(count: message.payload.count, maximum: Message.maximumEncryptedPayload)
        }
        var frame = Message(message.command, type: message.type, isEncrypted: true)
        let header = try MessageHeader(
            type: message.type, command: message.command, isEncrypted: true,
            payloadCount: Self.nonceSize + message.payload.count + Self.tagSize)
        var answered: UInt64?
        if mode == .bound, message.type == .reply {
            answered = request ?? (opened?.command == message.command ? opened?.counter : nil)
            guard answered != nil else { throw .unrequestedReply }
        }
        let nonce = nonces.next(using: &generator)
        guard
            let box = try? AES.GCM.seal(
                message.payload, using: key.material, nonce: AES.GCM.Nonce(data: nonce),
                authenticating: authenticated(header, answered))
        else { preconditionFailure("key and nonce have the sizes that AES-GCM requires") }
        if mode == .bound, message.type == .request { expectReply(message.command, to: CountingNonces.counter(nonce)) }
        frame.payload = nonce + box.ciphertext + box.tag
        return try frame.encode()
    }

    /// Decrypts a frame of the other side.
    ///
    /// Throws the errors of ``MessageHeader/init(decoding:)``, `notEncrypted`, `malformedCiphertext`, `replayed`,
    /// `authenticationFailed`, and in `bound` mode `unrequestedReply` for a reply that does not answer the newest
    /// request of its command. If it throws, the cipher is unchanged.
    public mutating func open(_ frame: Span<UInt8>) throws(MessageError) -> Message {
        let header = try MessageHeader(decoding: frame)
        guard header.isEncrypted else { throw .notEncrypted }
        var message = try Message(decoding: frame)
        guard message.payload.count >= Self.nonceSize + Self.tagSize else { throw .malformedCiphertext }
        let nonce = Array(message.payload.prefix(Self.nonceSize))
        try nonces.check(nonce)
        if mode == .bound, header.type == .reply {
            message.payload = try openReply(message.payload, header)
            unanswered[header.command] = nil
        } else {
            guard let plaintext = decrypt(message.payload, authenticated(header)) else { throw .authenticationFailed }
            message.payload = plaintext
        }
        nonces.took(nonce)
        if mode == .bound, header.type == .request { opened = (header.command, CountingNonces.counter(nonce)) }
        return message
    }

    /// Decrypts a frame in an array.
    public mutating func open(_ frame: [UInt8]) throws(MessageError) -> Message {
        try open(frame.span)
    }

    /// Decrypts the payload of a reply to the newest request of its command.
    private func openReply(_ payload: [UInt8], _ header: MessageHeader) throws(MessageError) -> [UInt8] {
        guard let counters = unanswered[header.command], let newest = counters.last else { throw .unrequestedReply }
        if let plaintext = decrypt(payload, authenticated(header, newest)) { return plaintext }
        let isLate = counters.dropLast().contains { decrypt(payload, authenticated(header, $0)) != nil }
        throw isLate ? .unrequestedReply : .authenticationFailed
    }

    /// Records that the other side rejects a request. Returns false in `bound` mode unless it is the newest of its
    /// command, by its counter.
    mutating func didReject(_ command: MessageCommand, _ counter: UInt64?) -> Bool {
        guard mode == .bound else { return true }
        guard let newest = unanswered[command]?.last, newest == counter else { return false }
        unanswered[command] = nil
        return true
    }

    private mutating func expectReply(_ command: MessageCommand, to counter: UInt64) {
        unanswered[command] = (unanswered[command] ?? []).suffix(Self.memory - 1) + [counter]
    }

    private func decrypt(_ payload: [UInt8], _ authenticated: [UInt8]) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: payload) else { return nil }
        return (try? AES.GCM.open(box, using: key.material, authenticating: authenticated)).map { [UInt8]($0) }
    }

    private func authenticated(_ header: MessageHeader, _ answered: UInt64? = nil) -> [UInt8] {
        guard mode == .bound else { return [] }
        return header.bytes + (answered.map { CountingNonces.bytes($0) } ?? [])
    }
}
