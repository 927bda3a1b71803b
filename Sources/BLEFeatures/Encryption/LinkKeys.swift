/// The central's keys for one link: the keys in use, and the keys of an exchange in progress.
///
/// In `bound` mode, the keys in use remain valid until the new ones are confirmed. Meanwhile, encrypted messages with
/// the exchange's command belong to the exchange, all others to the keys in use.
struct LinkKeys: Sendable {
    /// Encrypts and decrypts messages. Nil without keys.
    private(set) var cipher: MessageCipher?
    /// The previous cipher. In `firmware` mode, the nonces that it rejects on this link stay rejected.
    private var former: MessageCipher?
    /// The number of cipher changes. It identifies the current cipher.
    private(set) var number = 0
    /// Whether the current cipher must not encrypt any more requests.
    private var isDistrusted = false

    /// The exchange whose request is written next.
    private var prepared: PendingExchange?
    /// The exchange that waits for the device's public key.
    private var asked: PendingExchange?
    /// The keys that are not confirmed yet, and the command that confirms them.
    private var candidate: (command: MessageCommand, cipher: MessageCipher)?
    /// Whether the confirmation is written. From then on, the device may use the new keys.
    private var isConfirming = false

    /// Whether keys must be agreed on before the next request is encrypted.
    var needsExchange: Bool { cipher == nil || isDistrusted || isConfirming }

    /// Replaces or removes the cipher. Ends an exchange in progress.
    mutating func use(_ cipher: MessageCipher?) {
        former = self.cipher ?? former
        self.cipher = cipher
        if let former { self.cipher?.takeOverNonces(of: former) }
        number += 1
        (isDistrusted, isConfirming) = (false, false)
        (prepared, asked, candidate) = (nil, nil, nil)
    }

    /// Stops the cipher with the given number from encrypting. Replies to its earlier requests are still decrypted.
    mutating func distrust(_ number: Int) {
        if number == self.number, cipher?.mode == .bound { isDistrusted = true }
    }

    // MARK: The exchange

    /// Sets the exchange whose request is written next.
    mutating func prepare(_ exchange: PendingExchange) { prepared = exchange }

    /// Ends an exchange that has failed, or that no caller waits for any longer.
    mutating func abandonExchange() {
        // It is unknown which keys the device uses.
        if isConfirming { return use(nil) }
        candidate = nil
        // In `firmware` mode, the device already uses the new keys, and its reply may still arrive.
        if asked?.mode == .bound { asked = nil }
    }

    /// Records that an unencrypted request is being written.
    mutating func didEncode(_ request: Message) {
        guard let prepared, prepared.request == request else { return }
        (asked, self.prepared, candidate) = (prepared, nil, nil)
        // In this mode, the device changes its keys when it reads the request.
        if prepared.mode == .firmware { (former, cipher) = (cipher ?? former, nil) }
    }

    /// Handles an unencrypted reply, which may be the reply of the exchange.
    ///
    /// Returns false if the reply may belong to the exchange of another central, so that this exchange continues: a
    /// device that cannot distinguish its subscribers sends replies to all of them.
    mutating func didDecode(_ reply: Message) -> Bool {
        guard let asked, asked.request.command == reply.command else { return true }
        let cipher = asked.cipher(for: reply)
        if cipher == nil, asked.mode == .bound, reply.payload.count == KeyExchange.replySize { return false }
        self.asked = nil
        switch asked.mode {
        case .firmware: use(cipher)
        case .bound: candidate = cipher.map { (reply.command, $0) }
        }
        return true
    }

    /// Handles an encrypted rejection. Returns false if it does not reject the newest request of its command.
    mutating func didReject(_ rejected: RejectedRequest) -> Bool {
        let command = rejected.key.command
        guard rejected.key.isEncrypted else { return true }
        if candidate?.command == command { return candidate!.cipher.didReject(command, rejected.counter) }
        return cipher?.didReject(command, rejected.counter) ?? false
    }

    // MARK: Frames

    /// Returns the frame of an encrypted request.
    mutating func seal(_ request: Message) throws(MessageError) -> [UInt8] {
        if candidate?.command == request.command {
            isConfirming = true
            return try candidate!.cipher.seal(request)
        }
        guard !needsExchange else { throw .missingKey }
        return try cipher!.seal(request)
    }

    /// Returns the message in an encrypted frame.
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
