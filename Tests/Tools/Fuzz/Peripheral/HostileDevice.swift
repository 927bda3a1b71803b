internal import BLE
internal import BLEFeatures
internal import BLESimulation
internal import Synchronization

/// A device that follows its protocol, and an attacker on its link that delays, repeats, reorders, truncates, forges
/// and invents messages. If the device itself is hostile, the attacker has its keys.
final class HostileDevice: Sendable {
    static let service = BluetoothUUID("7a5e0001-2b1f-4c57-9d0e-3f6b8a1c4d20")!
    static let request = CharacteristicKey(
        service: service, characteristic: BluetoothUUID("7a5e0002-2b1f-4c57-9d0e-3f6b8a1c4d20")!)
    static let reply = CharacteristicKey(
        service: service, characteristic: BluetoothUUID("7a5e0003-2b1f-4c57-9d0e-3f6b8a1c4d20")!)
    static let controlPoint = CharacteristicKey(
        service: service, characteristic: BluetoothUUID("7a5e0004-2b1f-4c57-9d0e-3f6b8a1c4d20")!)
    static let exchange = MessageCommand(rawValue: 0x0103)
    static let derivation = KeyDerivation(salt: "salt", info: "info")

    private struct State {
        var dice: Dice
        var pairingKeys: [MessageKey]
        var cipher: MessageCipher?
        var candidate: (cipher: MessageCipher, pairingKey: MessageKey)?
        /// The messages that were sent, and those that were held back.
        var recorded: [[UInt8]] = []
        var held: [[UInt8]] = []
        /// The payloads of encrypted replies and notifications that the device itself has sealed.
        var sealed: Set<[UInt8]> = []
        var lastNotification: UInt64 = 0
        var grip: SimulatedPeripheral?
    }

    let mode: MessageCipher.Mode
    /// Whether the device itself seals false messages.
    let isFalse: Bool
    private let state: Mutex<State>
    private let trace: @Sendable (@autoclosure () -> String) -> Void

    init(
        _ mode: MessageCipher.Mode, key: MessageKey, isFalse: Bool, _ dice: Dice,
        trace: @escaping @Sendable (@autoclosure () -> String) -> Void
    ) {
        (self.mode, self.isFalse, self.trace) = (mode, isFalse, trace)
        let cipher = mode == .firmware ? MessageCipher(.firmware, role: .peripheral, key: key) : nil
        state = Mutex(State(dice: dice, pairingKeys: [key], cipher: cipher))
    }

    var definition: PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(localName: "Hostile", rssi: -50, serviceUUIDs: [Self.service]),
            services: [
                ServiceDefinition(
                    Self.service,
                    characteristics: [
                        CharacteristicDefinition(
                            Self.request.characteristic, .write,
                            onWrite: { [weak self] (bytes, _) throws(ATTError) in try await self?.didWrite(bytes) }),
                        CharacteristicDefinition(Self.reply.characteristic, .notify),
                        CharacteristicDefinition(
                            Self.controlPoint.characteristic, [.write, .indicate],
                            onWrite: { [weak self] (bytes, _) throws(ATTError) in await self?.didRequest(bytes) }),
                    ])
            ])
    }

    func use(_ grip: SimulatedPeripheral) { state.withLock { $0.grip = grip } }

    func wasSealed(_ payload: [UInt8]) -> Bool { state.withLock { $0.sealed.contains(payload) } }

    /// Sets the next input's dice.
    func roll(_ dice: Dice) { state.withLock { $0.dice = dice } }

    // MARK: The device's answers

    private func didWrite(_ frame: [UInt8]) async throws(ATTError) {
        let (answers, refuses) = state.withLock { state in
            let honest = Self.answer(frame, mode, isFalse, &state)
            if let honest {
                state.recorded.append(honest)
                if state.recorded.count > 64 { state.recorded.removeFirst() }
            }
            return (Self.change(honest, &state), state.dice.permille(15))
        }
        trace("<- \(Hex.string(frame))")
        if refuses { throw ATTError(rawValue: 0x80) }
        for answer in answers { await notify(answer) }
    }

    private func didRequest(_ bytes: [UInt8]) async {
        let answers: [[UInt8]] = state.withLock { state in
            switch state.dice.below(6) {
            case 0: []
            case 1: [state.dice.bytes(atMost: 20)]
            case 2: [[], bytes]
            default: [[0x10, 0x00] + bytes.prefix(1) + [0x01]]
            }
        }
        for answer in answers {
            await state.withLock { $0.grip }?.notify(answer, from: Self.controlPoint.characteristic)
        }
    }

    func notify(_ frame: [UInt8]) async {
        trace("-> \(Hex.string(frame))")
        await state.withLock { $0.grip }?.notify(frame, from: Self.reply.characteristic)
    }

    private static func answer(
        _ frame: [UInt8], _ mode: MessageCipher.Mode, _ isFalse: Bool, _ state: inout State
    ) -> [UInt8]? {
        guard let header = try? MessageHeader(decoding: frame.span) else { return nil }
        guard header.isEncrypted else {
            guard let message = try? Message(decoding: frame) else { return nil }
            if message.command == exchange { return answerExchange(message, mode, &state) }
            return try? Message(message.command, type: .reply, payload: message.payload.reversed()).encode()
        }
        if header.command == exchange {
            guard let request = try? state.candidate?.cipher.open(frame), request.payload.isEmpty,
                let reply = try? state.candidate?.cipher.seal(Message(exchange, type: .reply)),
                let candidate = state.candidate
            else { return nil }
            if !state.pairingKeys.contains(candidate.pairingKey) {
                state.pairingKeys = state.pairingKeys.suffix(3) + [candidate.pairingKey]
            }
            (state.cipher, state.candidate) = (candidate.cipher, nil)
            return reply
        }
        guard let request = try? state.cipher?.open(frame) else { return nil }
        let payload = isFalse && state.dice.permille(300) ? state.dice.bytes(atMost: 200) : request.payload.reversed()
        state.sealed.insert(payload)
        return try? state.cipher?.seal(Message(request.command, type: .reply, payload: payload))
    }

    private static func answerExchange(
        _ message: Message, _ mode: MessageCipher.Mode, _ state: inout State
    ) -> [UInt8]? {
        guard let request = try? KeyExchangeRequest(decoding: message.payload) else { return nil }
        let known = request.pairingKey(among: state.pairingKeys)
        if request.identifier != nil, known == nil { return try? Message(exchange, type: .reply).encode() }
        guard
            let (keys, reply) = try? KeyExchange().answer(request, resuming: known, derivation: derivation, mode: mode)
        else { return nil }
        let cipher = MessageCipher(mode, role: .peripheral, keys: keys)
        switch mode {
        case .bound: state.candidate = (cipher, keys.pairingKey)
        case .firmware: (state.cipher, state.pairingKeys) = (cipher, [keys.pairingKey])
        }
        return try? Message(exchange, type: .reply, payload: reply).encode()
    }

    // MARK: The attacker

    private static func change(_ honest: [UInt8]?, _ state: inout State) -> [[UInt8]] {
        guard let honest else { return state.dice.permille(100) ? [forged(&state)] : [] }
        switch state.dice.below(20) {
        case 0: return []
        case 1:
            state.held.append(honest)
            if state.held.count > 16 { state.held.removeFirst() }
            return []
        case 2: return [honest, honest]
        case 3: return [Array(honest.prefix(state.dice.below(honest.count)))]
        case 4: return [changed(honest, &state)]
        case 5: return [changed(honest, &state), honest]
        case 6: return [forged(&state), honest]
        case 7: return [state.dice.pick(state.recorded), honest]
        case 8:
            // In two parts, as on a link with shorter packets.
            let cut = state.dice.below(honest.count)
            return [Array(honest[..<cut]), Array(honest[cut...])]
        default: return [honest]
        }
    }

    private static func changed(_ frame: [UInt8], _ state: inout State) -> [UInt8] {
        var frame = frame
        for _ in 0...state.dice.below(3) { frame[state.dice.below(frame.count)] ^= 1 << UInt8(state.dice.below(8)) }
        return frame
    }

    /// A frame of an attacker without the keys.
    private static func forged(_ state: inout State) -> [UInt8] {
        let command = MessageCommand(rawValue: state.dice.pick([0x0103, 0x0201, 0x0202, 0x0203, 0x0301, 0xFFFF]))
        let type = state.dice.pick([MessageType.reply, .reply, .notification, .request])
        switch state.dice.below(4) {
        case 0: return state.dice.bytes(atMost: 260)
        case 1: return (try? Message(command, type: type, payload: state.dice.bytes(atMost: 80)).encode()) ?? []
        case 2:
            // Bytes that look sealed, but are not.
            var counted = state.dice.permille(500) ? [UInt8](repeating: 0, count: 12) : state.dice.bytes(atMost: 12)
            if counted.count == 12 { (counted[0], counted[11]) = (2, state.dice.byte()) }
            let message = Message(
                command, type: type, isEncrypted: true, payload: counted + state.dice.bytes(atMost: 60))
            return (try? message.encode()) ?? []
        default:
            var cipher = MessageCipher(
                state.dice.permille(500) ? .bound : .firmware, role: .peripheral,
                key: MessageKey([UInt8](repeating: 7, count: 32))!)
            return (try? cipher.seal(Message(command, type: .notification, payload: state.dice.bytes(atMost: 40))))
                ?? []
        }
    }

    /// Sends something unasked.
    func act() async {
        let frames: [[UInt8]] = state.withLock { state in
            switch state.dice.below(8) {
            case 0 where !state.recorded.isEmpty: return [state.dice.pick(state.recorded)]
            case 1 where !state.held.isEmpty: return [state.held.remove(at: state.dice.below(state.held.count))]
            case 2 where !state.recorded.isEmpty: return [Self.changed(state.dice.pick(state.recorded), &state)]
            case 3, 4:
                state.lastNotification += 1
                let payload = [0xAA] + withUnsafeBytes(of: state.lastNotification.bigEndian) { Array($0) }
                let message = Message(MessageCommand(rawValue: 0x0301), type: .notification, payload: payload)
                guard let frame = try? state.cipher?.seal(message) else { return [] }
                state.sealed.insert(payload)
                state.recorded.append(frame)
                return state.dice.permille(700) ? [frame] : [Self.changed(frame, &state)]
            default: return [Self.forged(&state)]
            }
        }
        for frame in frames where !frame.isEmpty { await notify(frame) }
    }
}
