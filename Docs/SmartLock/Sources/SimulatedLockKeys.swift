internal import BLEFeatures

/// The keys that a simulated lock has agreed on.
struct SimulatedLockKeys {
    let encryption: MessageEncryption
    /// The pairing keys by their identifiers.
    private var pairingKeys: [[UInt8]: MessageKey] = [:]
    /// What opens requests and seals replies.
    private var cipher: MessageCipher?

    init(_ encryption: MessageEncryption) { self.encryption = encryption }

    /// The reply to a key exchange: a public key; nothing when the pairing that is to be resumed is not known.
    mutating func exchange(_ payload: [UInt8]) throws(MessageError) -> [UInt8] {
        let request = try KeyExchangeRequest(decoding: payload)
        var pairingKey: MessageKey?
        if let identifier = request.identifier {
            // (locks of the first generation only ever pair anew)
            guard encryption.mode == .bound else { throw .invalidPublicKey }
            guard let known = pairingKeys[identifier] else { return [] }
            pairingKey = known
        }
        let exchange = KeyExchange()
        let keys = try exchange.keys(
            with: request.publicKey, resuming: pairingKey, derivation: encryption.derivation)
        pairingKeys[keys.pairingKey.identifier] = keys.pairingKey
        cipher = MessageCipher(encryption.mode, role: .peripheral, keys: keys)
        return exchange.publicKey
    }

    /// The message in a frame.
    mutating func decode(_ frame: [UInt8]) throws(MessageError) -> Message {
        guard try MessageHeader(decoding: frame.span).isEncrypted else { return try Message(decoding: frame) }
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
        if encryption.mode == .bound { cipher = nil }
    }

    mutating func forget() {
        pairingKeys = [:]
        cipher = nil
    }
}
