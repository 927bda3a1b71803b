// Fuzzed by Scripts/fuzz, which compiles this together with the sources of BLEFeatures and its tests' CipherVectors.
internal import BLE

/// The input is a script: each byte is a step of a session, followed by the step's bytes. Requests are sent, written,
/// given up and interrupted; any bytes, valid replies or repeated replies arrive. A trap is a finding; so is a reply
/// that goes to a request of another command, to one that was not written, or to one that is over. An encrypted reply
/// is a finding if it was not sealed on this link, is opened twice, or answers another request than the newest of its
/// command.
@c(LLVMFuzzerTestOneInput)
public func fuzzSession(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    var session = ScriptedSession(reassembles: count % 2 == 0)
    var script = Array(UnsafeBufferPointer(start: data, count: count))[...]
    while let step = script.popFirst() {
        let argument = script.popFirst() ?? 0
        switch step % 10 {
        case 0: session.send(argument, isEncrypted: false)
        case 1: session.send(argument, isEncrypted: true)
        case 2: session.write()
        case 3: session.giveUp(argument)
        case 4: session.endGrace(argument)
        case 5: session.receive(Array(script.prefix(Int(argument))))
        case 6: session.receivePlainReply(argument)
        case 7: session.receiveSealedReply(argument)
        case 8: session.receiveAgain(argument)
        default: session.interrupt()
        }
        if step % 10 == 5 { script = script.dropFirst(Int(argument)) }
    }
    return 0
}

/// A session that does not wait: the queue, the codec, and the other side.
private struct ScriptedSession {
    private struct Request {
        let key: MessageCodec.Key
        var isWritten = false
    }

    private var queue = TransactionQueue<MessageCodec.Key>()
    private var codec: MessageCodec
    private var device = cipher(.peripheral)
    private var requests: [Int: Request] = [:]
    private var late: [(id: Int, key: MessageCodec.Key)] = []
    /// The sealed replies, and the counters of the requests that they answer.
    private var sealed: [(frame: [UInt8], answers: UInt64)] = []
    /// The counters of the encrypted requests that the device has read, in order.
    private var asked: [MessageCommand: [UInt64]] = [:]
    /// The payloads of the replies that were opened. (A reply that the reassembler has discarded can still be opened
    /// later.)
    private var opened: Set<[UInt8]> = []
    private var lastID = 0

    init(reassembles: Bool) {
        codec = MessageCodec(reassembles: reassembles)
        codec.cipher = cipher(.central)
    }

    private func command(_ number: UInt8) -> MessageCommand { MessageCommand(rawValue: 0x0200 + UInt16(number % 3)) }

    mutating func send(_ number: UInt8, isEncrypted: Bool) {
        lastID += 1
        let message = Message(command(number), isEncrypted: isEncrypted, payload: [number])
        let key = codec.key(of: message)
        requests[lastID] = Request(key: key)
        queue.add(lastID, key)
    }

    mutating func write() {
        guard let id = queue.next(), let request = requests[id] else { return }
        precondition(!request.isWritten)
        let others = requests.contains { $0.value.isWritten && $0.value.key == request.key }
        precondition(!others, "two requests of one command are under way")
        requests[id]?.isWritten = true
        let message = Message(request.key.command, isEncrypted: request.key.isEncrypted, payload: [1])
        if request.key.isEncrypted, codec.keys.needsExchange { renewKeys() }
        guard let frame = try? codec.encode(message) else { preconditionFailure("a message that fits") }
        guard request.key.isEncrypted else { return }
        precondition((try? device.open(frame)) == message)
        guard let counter = device.requestCounter else { preconditionFailure("a request that was opened") }
        asked[request.key.command, default: []].append(counter)
    }

    mutating func giveUp(_ number: UInt8) {
        let open = requests.keys.sorted()
        guard !open.isEmpty else { return }
        let id = open[Int(number) % open.count]
        guard let request = requests.removeValue(forKey: id) else { return }
        let mayComeLate = queue.giveUp(id, request.key)
        precondition(mayComeLate == request.isWritten)
        if mayComeLate { late.append((id, request.key)) }
    }

    mutating func endGrace(_ number: UInt8) {
        guard !late.isEmpty else { return }
        let (id, key) = late.remove(at: Int(number) % late.count)
        queue.graceEnded(id, key)
    }

    mutating func interrupt() {
        codec.reset()
        for id in queue.interrupt() { precondition(requests.removeValue(forKey: id)?.isWritten == true) }
        precondition(!requests.values.contains { $0.isWritten })
        renewKeys()
        late = []
    }

    /// Begins another link, or another exchange after a frame that could not be authenticated.
    private mutating func renewKeys() {
        codec.cipher = cipher(.central)
        device = cipher(.peripheral)
        // These have the same key again, so old frames would open.
        sealed = []
        opened = []
        asked = [:]
    }

    mutating func receivePlainReply(_ number: UInt8) {
        let reply = Message(command(number), type: .reply, payload: [number])
        guard let frame = try? reply.encode() else { preconditionFailure("a message that fits") }
        receive(frame)
    }

    mutating func receiveSealedReply(_ number: UInt8) {
        let serial = [UInt8(truncatingIfNeeded: sealed.count >> 8), UInt8(truncatingIfNeeded: sealed.count)]
        let reply = Message(command(number), type: .reply, isEncrypted: true, payload: serial)
        let counters = asked[reply.command] ?? []
        // From 128 on, the reply answers the oldest request; if there is none, a request that was never sent.
        let answers = (number < 128 ? counters.last : counters.first) ?? UInt64(number)
        guard let frame = try? device.seal(reply, answering: answers) else {
            preconditionFailure("a message that fits")
        }
        sealed.append((frame, answers))
        receive(frame)
    }

    mutating func receiveAgain(_ number: UInt8) {
        guard !sealed.isEmpty else { return }
        receive(sealed[Int(number) % sealed.count].frame)
    }

    mutating func receive(_ packet: [UInt8]) {
        var inputs: [TransactionInput<MessageCodec.Key, Message>] = []
        codec.decode(packet) { inputs.append($0) }
        for input in inputs {
            switch input {
            case .reply(let key, let message):
                precondition(message.command == key.command && message.isEncrypted == key.isEncrypted)
                if key.isEncrypted {
                    let number = message.payload.reduce(0) { $0 << 8 | Int($1) }
                    precondition(number < sealed.count && opened.insert(message.payload).inserted)
                    precondition(sealed[number].answers == asked[message.command]?.last)
                }
                settle(key)
            case .failure(let key, _): settle(key)
            case .rejection: preconditionFailure("there is no command of rejections")
            case .notification, .malformed: break
            }
        }
    }

    private mutating func settle(_ key: MessageCodec.Key) {
        switch queue.reply(key) {
        case .request(let id):
            guard let request = requests.removeValue(forKey: id) else { preconditionFailure("a request that is over") }
            precondition(request.isWritten && request.key == key)
        case .late(let id):
            precondition(late.contains { $0.id == id && $0.key == key })
            late.removeAll { $0.id == id }
        case .none: break
        }
    }
}

private func cipher(_ role: MessageCipher.Role) -> MessageCipher {
    MessageCipher(.bound, role: role, key: sessionKey)
}

private let sessionKey = MessageKey(Hex.bytes(CipherVectors.sessionKey)!)!
