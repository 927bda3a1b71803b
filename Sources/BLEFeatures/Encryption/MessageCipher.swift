internal import Crypto

/// Seals messages into encrypted frames and opens the other side's, with AES-256-GCM, for one connection.
///
/// An encrypted frame's payload is nonce (12 bytes), ciphertext, tag (16), so a message carries at most
/// ``Message/maximumEncryptedPayload`` bytes. A cipher is a value that counts what it has sealed and opened: keep one, and
/// let no copy of it seal, since two messages would get the same nonce.
public struct MessageCipher: Sendable {
    /// How nonces are made, and what is authenticated.
    public enum Mode: Sendable, Hashable {
        /// This project's own: the nonce is the direction and a counter; the header is authenticated too, and with a reply the
        /// counter of its request; the key is the session's. A message can be neither changed, repeated, sent back, nor kept for
        /// another connection, and a reply answers no other request. One that is suppressed or delayed is not noticed.
        case bound
        /// What devices of the earlier protocol do: a random nonce, nothing authenticated but the payload, the pairing key.
        /// The header may be changed on the way, and a recorded message works on another connection; only the last 1024
        /// nonces of this one are refused.
        case firmware
    }

    /// Which side of the connection this is.
    public enum Role: Sendable, Hashable {
        /// The one that sends requests.
        case central
        /// The one that answers them.
        case peripheral

        /// The first byte of a counting nonce.
        var direction: UInt8 { self == .central ? 1 : 2 }
        var other: Role { self == .central ? .peripheral : .central }
    }

    static let nonceSize = 12
    static let tagSize = 16

    /// How nonces are made, and what is authenticated.
    public let mode: Mode
    /// Which side of the connection this is.
    public let role: Role
    private let key: MessageKey
    private var nonces: any MessageNonces
    /// The counters of the sealed requests that no reply has answered, of each command the newest few, in ascending order.
    private var unanswered: [MessageCommand: [UInt64]] = [:]
    /// The request that was opened last.
    private var opened: (command: MessageCommand, counter: UInt64)?

    /// How many unanswered requests of a command are remembered: the newest can be answered, replies to the others are told from
    /// forged ones.
    private static let memory = 4

    /// A cipher at the beginning of a connection. `key` is the session key in `bound` mode, the pairing key in `firmware` mode.
    public init(_ mode: Mode, role: Role, key: MessageKey) {
        self.mode = mode
        self.role = role
        self.key = key
        switch mode {
        case .bound: nonces = CountingNonces(role: role)
        case .firmware: nonces = RandomNonces()
        }
    }

    /// A cipher with that one of `keys` that the mode uses.
    public init(_ mode: Mode, role: Role, keys: AgreedKeys) {
        self.init(mode, role: role, key: mode == .bound ? keys.sessionKey : keys.pairingKey)
    }

    /// The counter of the request that was opened last, to be given to ``seal(_:answering:)`` if others are opened before the reply
    /// is sealed. Nil before the first request, and in `firmware` mode.
    public var requestCounter: UInt64? { opened?.counter }

    /// Refuses the nonces that a former cipher of this connection refuses. In `bound` mode each session key has its own counters.
    mutating func takeOverNonces(of former: MessageCipher) {
        if mode == .firmware, former.mode == .firmware { nonces = former.nonces }
    }

    /// The encrypted frame of `message`, whatever its `isEncrypted` says.
    ///
    /// Throws `payloadTooLong`; in `bound` mode `unrequestedReply` for a reply if no request was given, and none of its command
    /// was opened last.
    ///
    /// - Parameter request: the ``requestCounter`` of the request that a reply answers; nil for the one opened last. Only `bound`
    ///   mode uses it.
    public mutating func seal(_ message: Message, answering request: UInt64? = nil) throws(MessageError) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return try seal(message, answering: request, using: &generator)
    }

    /// The same, with the nonces of `firmware` mode from `generator`, which must be one for cryptography.
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
        else { preconditionFailure("key and nonce have the sizes that AES-GCM takes") }
        if mode == .bound, message.type == .request { expectReply(message.command, to: CountingNonces.counter(nonce)) }
        frame.payload = nonce + box.ciphertext + box.tag
        return try frame.encode()
    }

    /// The message in a sealed frame of the other side.
    ///
    /// Throws what ``MessageHeader/init(decoding:)`` throws, `notEncrypted`, `malformedCiphertext`, `replayed`,
    /// `authenticationFailed`, and in `bound` mode `unrequestedReply` for a reply to anything but the newest request of its
    /// command; a frame that is not taken changes nothing.
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

    /// The same for a frame in an array.
    public mutating func open(_ frame: [UInt8]) throws(MessageError) -> Message {
        try open(frame.span)
    }

    /// The payload of a reply to the newest request of its command.
    private func openReply(_ payload: [UInt8], _ header: MessageHeader) throws(MessageError) -> [UInt8] {
        guard let counters = unanswered[header.command], let newest = counters.last else { throw .unrequestedReply }
        if let plaintext = decrypt(payload, authenticated(header, newest)) { return plaintext }
        let isLate = counters.dropLast().contains { decrypt(payload, authenticated(header, $0)) != nil }
        throw isLate ? .unrequestedReply : .authenticationFailed
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
