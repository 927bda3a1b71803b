import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport

/// The other side of the encryption: a device that exchanges keys and answers encrypted requests with their payload,
/// reversed. It follows `Docs/MessageEncryption.md`.
final class FakeSecureDevice: Sendable {
    static let derivation = KeyDerivation(salt: "salt", info: "info")
    static let exchange = MessageCommand(rawValue: 0x0103)

    private struct State {
        var pairingKeys: [MessageKey] = []
        var cipher: MessageCipher?
        /// The keys that the central has yet to confirm.
        var candidate: (cipher: MessageCipher, pairingKey: MessageKey)?
        var exchanges = 0
        var forgedReply: [UInt8]?
        /// Everything that was sent, to be sent again by a hostile test.
        var sent: [[UInt8]] = []
        var plainReplies = false
    }

    private let mode: MessageCipher.Mode
    private let state = SharedValue(State())

    init(_ mode: MessageCipher.Mode) { self.mode = mode }

    static func encryption(_ mode: MessageCipher.Mode) -> MessageEncryption {
        MessageEncryption(mode: mode, derivation: derivation, command: exchange)
    }

    var exchanges: Int { state.value.exchanges }
    var sent: [[UInt8]] { state.value.sent }

    /// Forgets its pairings, as after a reset.
    func forget() {
        state.change {
            $0.pairingKeys = []
            $0.cipher = nil
            $0.candidate = nil
        }
    }

    /// The number of its pairing keys.
    var knownKeys: Int { state.value.pairingKeys.count }

    /// Answers the first frame of exchanges with this payload from now on; with nil, correctly.
    func forgeExchangeReply(_ payload: [UInt8]?) { state.change { $0.forgedReply = payload } }

    /// Uses another session key than the agreed one, like a device whose memory is damaged.
    func damageSessionKey() {
        state.change { [mode] in
            guard let key = MessageKey(Array(repeating: 0x5A, count: 32)) else { return }
            var cipher = MessageCipher(mode, role: .peripheral, key: key)
            // Its nonces go on, or its frames would be taken for repeated ones.
            for _ in $0.sent { _ = try? cipher.seal(Message(Self.exchange, type: .notification)) }
            $0.cipher = cipher
        }
    }

    /// Answers encrypted requests without encryption from now on.
    func answerPlainly() { state.change { $0.plainReplies = true } }

    /// An encrypted notification.
    func notification(_ command: MessageCommand, _ payload: [UInt8]) throws -> [UInt8] {
        try state.change { state in
            Result { try state.cipher?.seal(Message(command, type: .notification, payload: payload)) ?? [] }
        }.get()
    }

    /// The answer to a frame.
    func answer(_ frame: [UInt8]) -> [[UInt8]] {
        state.change { [mode] state in
            guard let answer = try? Self.answer(frame, mode, &state) else { return [] }
            state.sent.append(answer)
            return [answer]
        }
    }

    private static func answer(_ frame: [UInt8], _ mode: MessageCipher.Mode, _ state: inout State) throws -> [UInt8] {
        let header = try MessageHeader(decoding: frame.span)
        guard header.isEncrypted else {
            return try exchange(try Message(decoding: frame.span), mode, &state).encode()
        }
        if header.command == exchange { return try confirm(frame, &state) }
        guard let request = try state.cipher?.open(frame.span) else { throw MessageError.missingKey }
        let payload = Array(request.payload.reversed())
        if state.plainReplies { return try Message(request.command, type: .reply, payload: payload).encode() }
        guard let reply = try state.cipher?.seal(Message(request.command, type: .reply, payload: payload)) else {
            throw MessageError.missingKey
        }
        return reply
    }

    private static func exchange(
        _ message: Message, _ mode: MessageCipher.Mode, _ state: inout State
    ) throws -> Message {
        state.exchanges += 1
        if let forged = state.forgedReply { return Message(message.command, type: .reply, payload: forged) }
        let request = try KeyExchangeRequest(decoding: message.payload)
        let known = request.pairingKey(among: state.pairingKeys)
        if request.identifier != nil, known == nil { return Message(message.command, type: .reply) }
        let (keys, reply) = try KeyExchange().answer(request, resuming: known, derivation: derivation, mode: mode)
        let cipher = MessageCipher(mode, role: .peripheral, keys: keys)
        switch mode {
        case .bound: state.candidate = (cipher, keys.pairingKey)
        case .firmware: (state.cipher, state.pairingKeys) = (cipher, [keys.pairingKey])
        }
        return Message(message.command, type: .reply, payload: reply)
    }

    /// The reply to the message that confirms the keys.
    private static func confirm(_ frame: [UInt8], _ state: inout State) throws -> [UInt8] {
        guard let request = try state.candidate?.cipher.open(frame), request.payload.isEmpty,
            let reply = try state.candidate?.cipher.seal(Message(request.command, type: .reply)),
            let candidate = state.candidate
        else { throw MessageError.missingKey }
        if !state.pairingKeys.contains(candidate.pairingKey) { state.pairingKeys.append(candidate.pairingKey) }
        (state.cipher, state.candidate) = (candidate.cipher, nil)
        return reply
    }
}
