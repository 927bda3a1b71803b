internal import Crypto

/// Seals messages into encrypted frames and opens the other side's, with AES-256-GCM, for one connection.
///
/// An encrypted frame's payload is nonce (12 bytes), ciphertext, tag (16), so a message carries at most
/// ``Message/maximumEncryptedPayload`` bytes. A cipher is a value that counts what it has sealed and opened: keep one, and
/// let no copy of it seal, since two messages would get the same nonce.
public struct MessageCipher: Sendable {
    /// How nonces are made, and what is authenticated.
    public enum Mode: Sendable, Hashable {
        /// This project's own: the nonce is the direction and a counter, the header is authenticated too, the key is the
        /// session's. A message can be neither changed, repeated, sent back nor kept for another connection; one that was
        /// suppressed is not noticed.
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

    /// The encrypted frame of `message`, whatever its `isEncrypted` says. Throws `payloadTooLong`.
    public mutating func seal(_ message: Message) throws(MessageError) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return try seal(message, using: &generator)
    }

    /// The same, with the nonces of `firmware` mode from `generator`, which must be one for cryptography.
    public mutating func seal(
        _ message: Message, using generator: inout some RandomNumberGenerator
    ) throws(MessageError) -> [UInt8] {
        guard message.payload.count <= Message.maximumEncryptedPayload else {
            throw .payloadTooLong(count: message.payload.count, maximum: Message.maximumEncryptedPayload)
        }
        var frame = Message(message.command, type: message.type, isEncrypted: true)
        let header = try MessageHeader(
            type: message.type, command: message.command, isEncrypted: true,
            payloadCount: Self.nonceSize + message.payload.count + Self.tagSize)
        let nonce = nonces.next(using: &generator)
        guard
            let box = try? AES.GCM.seal(
                message.payload, using: key.material, nonce: AES.GCM.Nonce(data: nonce),
                authenticating: authenticated(header))
        else { preconditionFailure("key and nonce have the sizes that AES-GCM takes") }
        frame.payload = nonce + box.ciphertext + box.tag
        return try frame.encode()
    }

    /// The message in a sealed frame of the other side.
    ///
    /// Throws what ``MessageHeader/init(decoding:)`` throws, `notEncrypted`, `malformedCiphertext`, `replayed` and
    /// `authenticationFailed`; a frame that is not taken changes nothing.
    public mutating func open(_ frame: Span<UInt8>) throws(MessageError) -> Message {
        let header = try MessageHeader(decoding: frame)
        guard header.isEncrypted else { throw .notEncrypted }
        var message = try Message(decoding: frame)
        guard message.payload.count >= Self.nonceSize + Self.tagSize else { throw .malformedCiphertext }
        let nonce = Array(message.payload.prefix(Self.nonceSize))
        try nonces.check(nonce)
        guard
            let box = try? AES.GCM.SealedBox(combined: message.payload),
            let plaintext = try? AES.GCM.open(box, using: key.material, authenticating: authenticated(header))
        else { throw .authenticationFailed }
        nonces.took(nonce)
        message.payload = [UInt8](plaintext)
        return message
    }

    /// The same for a frame in an array.
    public mutating func open(_ frame: [UInt8]) throws(MessageError) -> Message {
        try open(frame.span)
    }

    private func authenticated(_ header: MessageHeader) -> [UInt8] {
        mode == .bound ? header.bytes : []
    }
}
