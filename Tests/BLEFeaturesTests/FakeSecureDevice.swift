import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport

/// The other side of the encryption: a device that exchanges keys and answers encrypted requests with their payload, reversed.
final class FakeSecureDevice: Sendable {
    static let derivation = KeyDerivation(salt: "salt", info: "info")
    static let exchange = MessageCommand(rawValue: 0x0103)

    private struct State {
        var pairingKeys: [MessageKey] = []
        var cipher: MessageCipher?
        var exchanges = 0
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

    /// Knows no pairing any more, as after a reset.
    func forget() {
        state.change {
            $0.pairingKeys = []
            $0.cipher = nil
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

    /// What it answers to a frame.
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
        let request = try KeyExchangeRequest(decoding: message.payload)
        let known = state.pairingKeys.first { $0.identifier == request.identifier }
        if request.identifier != nil, known == nil { return Message(message.command, type: .reply) }
        let exchange = KeyExchange()
        let keys = try exchange.keys(with: request.publicKey, resuming: known, derivation: derivation)
        if known == nil { state.pairingKeys.append(keys.pairingKey) }
        state.cipher = MessageCipher(mode, role: .peripheral, keys: keys)
        return Message(message.command, type: .reply, payload: exchange.publicKey)
    }
}
