/// The keys of one link as the central sees them: those in use, and those of an exchange under way.
///
/// In `bound` mode the keys in use remain until the new ones are confirmed: encrypted messages of the exchange's command belong to the
/// exchange, all others to the keys in use.
struct LinkKeys: Sendable {
    /// Seals and opens encrypted messages; nil without keys.
    private(set) var cipher: MessageCipher?
    /// The cipher that was in use before. In `firmware` mode, what it has seen on this link is not taken again.
    private var former: MessageCipher?
    /// How often the cipher in use was another one.
    private(set) var number = 0
    /// No request is sealed with the cipher in use any more.
    private var isDistrusted = false

    /// The exchange whose request is written next.
    private var prepared: PendingExchange?
    /// The exchange that waits for the device's public key.
    private var asked: PendingExchange?
    /// The keys that are yet to be confirmed, and the command that confirms them.
    private var candidate: (command: MessageCommand, cipher: MessageCipher)?
    /// The confirmation is written: from here on the device may use the new keys.
    private var isConfirming = false

    /// Whether keys must be agreed on before the next request is sealed.
    var needsExchange: Bool { cipher == nil || isDistrusted || isConfirming }

    /// Uses another cipher, or none, from now on. An exchange under way is over.
    mutating func use(_ cipher: MessageCipher?) {
        former = self.cipher ?? former
        self.cipher = cipher
        if let former { self.cipher?.takeOverNonces(of: former) }
        number += 1
        (isDistrusted, isConfirming) = (false, false)
        (prepared, asked, candidate) = (nil, nil, nil)
    }

    /// The cipher of that number is to seal nothing more. What it has sealed may still be answered.
    mutating func distrust(_ number: Int) {
        if number == self.number { isDistrusted = true }
    }

    // MARK: The exchange

    /// The request of an exchange is about to be written.
    mutating func prepare(_ exchange: PendingExchange) { prepared = exchange }

    /// The exchange has failed, or nobody waits for it any more.
    mutating func abandonExchange() {
        // Nobody knows which keys the device uses.
        if isConfirming { return use(nil) }
        candidate = nil
        // In `firmware` mode the device uses the new keys already. Its reply may still come.
        if asked?.mode == .bound { asked = nil }
    }

    /// A plain request is being written.
    mutating func didEncode(_ request: Message) {
        guard let prepared, prepared.request == request else { return }
        (asked, self.prepared, candidate) = (prepared, nil, nil)
        // In this mode, the device changes its keys when it has read the request.
        if prepared.mode == .firmware { (former, cipher) = (cipher ?? former, nil) }
    }

    /// A plain reply has come.
    mutating func didDecode(_ reply: Message) {
        guard let asked, asked.request.command == reply.command else { return }
        self.asked = nil
        let cipher = asked.cipher(for: reply)
        switch asked.mode {
        case .firmware: use(cipher)
        case .bound: candidate = cipher.map { (reply.command, $0) }
        }
    }

    // MARK: Frames

    /// The frame of an encrypted request.
    mutating func seal(_ request: Message) throws(MessageError) -> [UInt8] {
        if candidate?.command == request.command {
            isConfirming = true
            return try candidate!.cipher.seal(request)
        }
        guard !needsExchange else { throw .missingKey }
        return try cipher!.seal(request)
    }

    /// The message in an encrypted frame.
    mutating func open(_ frame: Span<UInt8>, _ header: MessageHeader) throws(MessageError) -> Message {
        if candidate?.command == header.command {
            let message = try candidate!.cipher.open(frame)
            if message.type == .reply { use(candidate?.cipher) }
            return message
        }
        guard cipher != nil else { throw .missingKey }
        do throws(MessageError) {
            return try cipher!.open(frame)
        } catch {
            if error == .authenticationFailed, cipher?.mode == .bound { isDistrusted = true }
            throw error
        }
    }
}
