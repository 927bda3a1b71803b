/// An exchange of keys between its request and its end.
struct PendingExchange: Sendable {
    /// The message that asks for it.
    let request: Message
    private let exchange: KeyExchange
    /// The key of an earlier pairing that goes on; nil: a new pairing.
    private let pairingKey: MessageKey?
    private let encryption: MessageEncryption

    /// An exchange with a new key of this side.
    init(resuming pairingKey: MessageKey?, _ encryption: MessageEncryption) {
        exchange = KeyExchange()
        self.pairingKey = pairingKey
        self.encryption = encryption
        request = Message(encryption.command, payload: exchange.request(resuming: pairingKey))
    }

    /// How messages are sealed after it.
    var mode: MessageCipher.Mode { encryption.mode }

    /// The message that confirms the keys, sealed with them; its reply ends the exchange. Nil in `firmware` mode, where the reply to
    /// ``request`` does.
    var confirmation: Message? {
        mode == .bound ? Message(encryption.command, isEncrypted: true) : nil
    }

    /// What both sides have in common after this reply.
    func keys(from reply: Message) throws(MessageError) -> AgreedKeys {
        try exchange.keys(
            from: reply.payload, resuming: pairingKey, derivation: encryption.derivation, mode: encryption.mode)
    }

    /// The cipher for what follows this reply; nil when the device does not agree.
    func cipher(for reply: Message) -> MessageCipher? {
        guard let keys = try? keys(from: reply) else { return nil }
        return MessageCipher(encryption.mode, role: .central, keys: keys)
    }
}
