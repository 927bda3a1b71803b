internal import BLEFeatures

/// The keys that a simulated lock has agreed on.
struct SimulatedLockKeys {
    /// Keys that the central has yet to confirm.
    private struct Candidate {
        let pairingKey: MessageKey
        var cipher: MessageCipher
    }

    let encryption: MessageEncryption
    private var pairingKeys: [MessageKey] = []
    /// What opens requests and seals replies.
    private var cipher: MessageCipher?
    /// What does so for the messages of the exchange under way.
    private var candidate: Candidate?

    init(_ encryption: MessageEncryption) { self.encryption = encryption }

    /// The reply to a key exchange: a public key, in `bound` mode with what proves that the lock has the keys; nothing when the pairing
    /// that is to be resumed is not known.
    mutating func exchange(_ payload: [UInt8]) throws(MessageError) -> [UInt8] {
        let request = try KeyExchangeRequest(decoding: payload)
        var pairingKey: MessageKey?
        if request.identifier != nil {
            // Locks of the first generation only ever pair anew.
            guard encryption.mode == .bound else { throw .invalidPublicKey }
            guard let known = request.pairingKey(among: pairingKeys) else { return [] }
            pairingKey = known
        }
        let (keys, reply) = try KeyExchange().answer(
            request, resuming: pairingKey, derivation: encryption.derivation, mode: encryption.mode)
        let new = Candidate(
            pairingKey: keys.pairingKey, cipher: MessageCipher(encryption.mode, role: .peripheral, keys: keys))
        if encryption.mode == .bound { candidate = new } else { use(new) }
        return reply
    }

    /// The central has confirmed the keys of the exchange under way.
    mutating func confirm() {
        if let candidate { use(candidate) }
    }

    private mutating func use(_ new: Candidate) {
        if !pairingKeys.contains(new.pairingKey) { pairingKeys.append(new.pairingKey) }
        (cipher, candidate) = (new.cipher, nil)
    }

    /// The message in a frame.
    mutating func decode(_ frame: [UInt8]) throws(MessageError) -> Message {
        let header = try MessageHeader(decoding: frame.span)
        guard header.isEncrypted else { return try Message(decoding: frame) }
        if header.command == encryption.command {
            guard candidate != nil else { throw .missingKey }
            return try candidate!.cipher.open(frame)
        }
        guard cipher != nil else { throw .missingKey }
        return try cipher!.open(frame)
    }

    /// The frame of a message.
    mutating func encode(_ message: Message) throws(MessageError) -> [UInt8] {
        guard message.isEncrypted else { return try message.encode() }
        guard cipher != nil else { throw .missingKey }
        return try cipher!.seal(message)
    }

    /// A link has ended. In `bound` mode its key goes with it; in `firmware` mode the key is the pairing's.
    mutating func linkEnded() {
        candidate = nil
        if encryption.mode == .bound { cipher = nil }
    }

    mutating func forget() {
        pairingKeys = []
        (cipher, candidate) = (nil, nil)
    }
}
