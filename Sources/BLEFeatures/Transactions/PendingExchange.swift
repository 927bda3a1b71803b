/// A key exchange in progress.
struct PendingExchange: Sendable {
    /// The request that starts the exchange.
    let request: Message
    private let exchange: KeyExchange
    /// The key of the pairing to resume. Nil for a new pairing.
    private let pairingKey: MessageKey?
    private let encryption: MessageEncryption

    /// Creates an exchange with a new private key.
    init(resuming pairingKey: MessageKey?, _ encryption: MessageEncryption) {
        exchange = KeyExchange()
        self.pairingKey = pairingKey
        self.encryption = encryption
        request = Message(encryption.command, payload: exchange.request(resuming: pairingKey))
    }

    /// The mode of encryption with the new keys.
    var mode: MessageCipher.Mode { encryption.mode }

    /// The message that confirms the keys, encrypted with these keys. Its reply ends the exchange. Nil in `firmware`
    /// mode, where the reply to ``request`` ends the exchange.
    var confirmation: Message? {
        mode == .bound ? Message(encryption.command, isEncrypted: true) : nil
    }

    /// Returns the keys that both sides have after the given reply.
    func keys(from reply: Message) throws(MessageError) -> AgreedKeys {
        try exchange.keys(
            from: reply.payload, resuming: pairingKey, derivation: encryption.derivation, mode: encryption.mode)
    }

    /// Returns the cipher for messages after the given reply. Nil if the reply is invalid.
    func cipher(for reply: Message) -> MessageCipher? {
        guard let keys = try? keys(from: reply) else { return nil }
        return MessageCipher(encryption.mode, role: .central, keys: keys)
    }
}
