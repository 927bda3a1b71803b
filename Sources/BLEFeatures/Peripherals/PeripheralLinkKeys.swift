/// A device's keys for one link: the keys in use, and the keys of an exchange in progress.
///
/// The counterpart of ``LinkKeys``; `Docs/MessageEncryption.md` has the rules.
struct PeripheralLinkKeys {
    /// Keys that the central has yet to confirm.
    private struct Candidate {
        let pairingKey: MessageKey
        var cipher: MessageCipher
        /// The time at which the exchange of a new pairing ends. Nil if the exchange resumes a pairing.
        let end: Duration?
        /// Whether the central has confirmed the keys, which are being stored.
        var isConfirmed = false
    }

    /// The maximum time between the exchange of a new pairing and its confirmation.
    static let pairingTime = Duration.seconds(30)

    private let encryption: MessageEncryption?
    /// Opens requests and seals replies. Nil without keys.
    private var cipher: MessageCipher?
    /// In `firmware` mode, the keys of further pairings: the first message that can be decrypted determines the pairing
    /// of the link.
    private var alternatives: [MessageKey] = []
    /// Opens and seals the messages of the exchange in progress.
    private var candidate: Candidate?

    /// The keys of a new link. In `firmware` mode, the key of the last pairing is used, until a message is decrypted
    /// with the key of another pairing.
    init(_ encryption: MessageEncryption?, pairings: [MessageKey]) {
        self.encryption = encryption
        if let encryption, encryption.mode == .firmware, let key = pairings.last {
            cipher = MessageCipher(.firmware, role: .peripheral, key: key)
            alternatives = pairings.dropLast().reversed()
        }
    }

    /// Returns the payload of the reply to a key exchange, and the pairing key if the exchange is complete. The payload
    /// is empty if the pairing to resume is not known.
    ///
    /// - Parameter now: the time since any fixed instant.
    mutating func exchange(
        _ payload: [UInt8], among pairings: [MessageKey], at now: Duration
    ) throws(MessageError) -> (reply: [UInt8], pairingKey: MessageKey?) {
        guard let encryption else { throw .missingKey }
        let request = try KeyExchangeRequest(decoding: payload)
        var resumed: MessageKey?
        if request.identifier != nil {
            // In `firmware` mode, pairings cannot be resumed.
            guard encryption.mode == .bound else { throw .invalidPublicKey }
            guard let known = request.pairingKey(among: pairings) else { return ([], nil) }
            resumed = known
        }
        let (keys, reply) = try KeyExchange().answer(
            request, resuming: resumed, derivation: encryption.derivation, mode: encryption.mode)
        let cipher = MessageCipher(encryption.mode, role: .peripheral, keys: keys)
        guard encryption.mode == .bound else {
            (self.cipher, candidate, alternatives) = (cipher, nil, [])
            return (reply, keys.pairingKey)
        }
        candidate = Candidate(
            pairingKey: keys.pairingKey, cipher: cipher, end: resumed == nil ? now + Self.pairingTime : nil)
        return (reply, nil)
    }

    /// The pairing key of the exchange in progress.
    var candidateKey: MessageKey? { candidate?.pairingKey }

    /// Handles the central's confirmation of the keys of the exchange in progress. Returns the pairing key, and whether
    /// it is new. Returns nil if there is no exchange in progress, or if it began too long ago, so that the permission
    /// to pair has ended.
    mutating func confirmed(at now: Duration) -> (key: MessageKey, isNew: Bool)? {
        guard let candidate else { return nil }
        if let end = candidate.end, now >= end {
            self.candidate = nil
            return nil
        }
        self.candidate?.isConfirmed = true
        return (candidate.pairingKey, candidate.end != nil)
    }

    /// Ends the exchange in progress if it is for a new pairing and not confirmed.
    mutating func dropNewPairing() {
        if candidate?.end != nil, candidate?.isConfirmed == false { candidate = nil }
    }

    /// Uses the keys of the exchange in progress, which have been stored.
    mutating func confirm() {
        if let candidate { (cipher, self.candidate) = (candidate.cipher, nil) }
    }

    /// Ends the exchange in progress.
    mutating func dropCandidate() { candidate = nil }

    /// Decodes a frame.
    mutating func decode(_ frame: [UInt8]) throws(MessageError) -> Message {
        let header = try MessageHeader(decoding: frame.span)
        guard header.isEncrypted else { return try Message(decoding: frame) }
        if header.command == encryption?.command {
            guard candidate != nil else { throw .missingKey }
            return try candidate!.cipher.open(frame)
        }
        guard cipher != nil else { throw .missingKey }
        do throws(MessageError) {
            let message = try cipher!.open(frame)
            alternatives = []
            return message
        } catch {
            for key in alternatives {
                var other = MessageCipher(.firmware, role: .peripheral, key: key)
                guard let message = try? other.open(frame) else { continue }
                (cipher, alternatives) = (other, [])
                return message
            }
            throw error
        }
    }

    /// The counter of the request that was decoded last, for ``encode(_:answering:)``.
    var requestCounter: UInt64? { cipher?.requestCounter }

    /// The same for the exchange in progress.
    var candidateCounter: UInt64? { candidate?.cipher.requestCounter }

    /// Encodes a message.
    ///
    /// - Parameter request: the ``requestCounter`` of the request that a reply answers.
    mutating func encode(_ message: Message, answering request: UInt64? = nil) throws(MessageError) -> [UInt8] {
        guard message.isEncrypted else { return try message.encode() }
        guard cipher != nil else { throw .missingKey }
        return try cipher!.seal(message, answering: request)
    }

    /// Forgets all keys.
    mutating func forget() { (cipher, candidate, alternatives) = (nil, nil, []) }
}
