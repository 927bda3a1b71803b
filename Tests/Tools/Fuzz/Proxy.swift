// Fuzzed by Scripts/fuzz, which compiles this together with the sources of BLEESPHome and BLEProxy.
internal import BLE
internal import BLEDefinitions

/// The first byte chooses what gets the others. A trap is a finding; so is a message that differs after it was encoded
/// and decoded again, and one that a side with a key receives although it was never sealed, or was changed. Of the
/// connection to a Matter server, the findings are told where they are looked for.
@c(LLVMFuzzerTestOneInput)
public func fuzzProxy(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: data, count: count)
    guard let choice = input.first else { return 0 }
    let bytes = Array(input.dropFirst())
    switch choice & 15 {
    case 0, 4: fuzzMessage(bytes)
    case 1, 5: fuzzServer(bytes, key: choice & 4 == 0 ? nil : key)
    case 2, 6: fuzzClient(bytes, key: choice & 4 == 0 ? nil : key)
    case 3, 7: fuzzSealed(bytes)
    case 8, 12: fuzzHandshake(bytes, accepts: choice & 4 != 0)
    case 9, 13: fuzzFrames(bytes)
    case 10, 14: fuzzFragments(bytes)
    default: fuzzMatter(bytes)
    }
    return 0
}

private let key = (try? EncryptionKey(bytes: [UInt8](repeating: 0x5A, count: 32))) ?? .random()

/// Two bytes are the number of the message.
private func fuzzMessage(_ bytes: [UInt8]) {
    guard bytes.count >= 2 else { return }
    let type = UInt64(bytes[0]) << 8 | UInt64(bytes[1])
    guard let message = try? ProxyMessage(type: type, bytes[2...]) else { return }
    if case .other = message { return }
    let (number, body) = message.encoded()
    precondition(UInt64(number) == type)
    precondition((try? ProxyMessage(type: type, body[...])) == message, "\(message)")
}

/// The parts in which bytes arrive: the first one says how long they are.
private func parts(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
    let length = max(1, Int(bytes.first ?? 0))
    return stride(from: 1, to: bytes.count, by: length).map { bytes[$0..<min(bytes.count, $0 + length)] }
}

private func fuzzServer(_ bytes: [UInt8], key: EncryptionKey?) {
    var server = MessageChannel(server: key, name: "attic", mac: "aabbccddeeff")
    for part in parts(bytes) {
        server.append(part)
        do {
            while let event = try server.next() {
                // Whoever has no key cannot finish the handshake.
                guard case .received(let message) = event, key == nil else { preconditionFailure("\(event)") }
                try? server.send(message)
            }
        } catch {
            // What follows is not read.
            server.append(part)
            precondition((try? server.next()) == .some(nil))
        }
        _ = server.takeOutput()
    }
}

private func fuzzClient(_ bytes: [UInt8], key: EncryptionKey?) {
    var session = ProxySession(key, client: "fuzz", now: .zero)
    var now = Duration.zero
    for part in parts(bytes) {
        now += .seconds(1)
        session.append(part, now: now)
        do throws(ProxySession.Failure) {
            while let event = try session.next(now: now) {
                precondition(key == nil, "\(event)")
                if case .ready = event { _ = try session.subscribe(now: now) }
            }
            if session.nextAlarm <= now { _ = try session.alarm(now: now) }
        } catch {
            return
        }
        _ = session.takeOutput()
    }
}

/// Passes the bytes of one side on to the other. Returns what was received.
private func pass(_ bytes: [UInt8], to channel: inout MessageChannel) throws(WireError) -> [ProxyMessage] {
    channel.append(bytes)
    var received: [ProxyMessage] = []
    while let event = try channel.next() {
        if case .received(let message) = event { received.append(message) }
    }
    return received
}

/// Messages from a client with the key: a length, whether and where the sealed frame is changed, the number in two
/// bytes, and the body.
private func fuzzSealed(_ bytes: [UInt8]) {
    var client = MessageChannel(client: key)
    var server = MessageChannel(server: key, name: "attic", mac: "aabbccddeeff")
    do throws(WireError) {
        _ = try pass(client.takeOutput(), to: &server)
        _ = try pass(server.takeOutput(), to: &client)
    } catch {
        preconditionFailure("\(error)")
    }
    precondition(client.isOpen && server.isOpen)
    var rest = bytes[...]
    while rest.count >= 4 {
        let head = Array(rest.prefix(4))
        let body = rest.dropFirst(4).prefix(Int(head[0]))
        rest = rest.dropFirst(4 + body.count)
        guard let message = try? ProxyMessage(type: UInt64(head[2]) << 8 | UInt64(head[3]), body),
            (try? client.send(message)) != nil
        else { continue }
        var frame = client.takeOutput()
        if head[1] != 0 {
            // The content of the frame, whose head is not sealed.
            frame[3 + Int(head[1]) % (frame.count - 3)] ^= head[1]
            precondition((try? pass(frame, to: &server)) == nil)
            precondition((try? pass(frame, to: &server)) == [])
            return
        }
        let received = try? pass(frame, to: &server)
        if case .other = message {} else { precondition(received == [message]) }
    }
}

// MARK: A Matter server

/// Returns a channel that has sent its request, and what accepts it.
private func dialed() -> (WebSocketChannel, accept: String) {
    var channel = WebSocketChannel(authority: "hub:5580", path: "/ble")
    let name = Array("Sec-WebSocket-Key: ".utf8)
    let lines = channel.takeOutput().split(separator: 0x0D).map { $0.drop { $0 == 0x0A } }
    guard let line = lines.first(where: { $0.starts(with: name) }) else { preconditionFailure("no key") }
    return (channel, WebSocketHandshake.accept(String(decoding: line.dropFirst(name.count), as: UTF8.self)))
}

/// The answer to a request. A server that has not read the key must not be accepted.
private func fuzzHandshake(_ bytes: [UInt8], accepts: Bool) {
    guard !bytes.isEmpty else { return }
    var (channel, accept) = dialed()
    var answer = bytes
    if accepts { answer.insert(contentsOf: "HTTP/1.1 101\r\nSec-WebSocket-Accept: \(accept)\r\n".utf8, at: 1) }
    for part in parts(answer) {
        channel.append(part)
        do throws(WebSocketError) {
            while let event = try channel.next() { precondition(accepts, "\(event)") }
        } catch {
            return
        }
    }
}

private func opened() -> WebSocketChannel {
    var (channel, accept) = dialed()
    let start = "HTTP/1.1 101\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    channel.append(Array("\(start)Sec-WebSocket-Accept: \(accept)\r\n\r\n".utf8)[...])
    precondition((try? channel.next()) == .opened)
    return channel
}

/// What a server sees and sends in a conversation, and how it ends.
private struct Conversation: Equatable {
    var events: [WebSocketChannel.Event] = []
    /// The frames of the client: the first byte, and the payload without its mask.
    var sent: [[UInt8]] = []
    var error: WebSocketError?

    /// - Parameter parts: what the server sends, as it arrives.
    init(_ parts: [ArraySlice<UInt8>]) {
        var channel = opened()
        do throws(WebSocketError) {
            for part in parts {
                channel.append(part)
                while let event = try channel.next() { events.append(event) }
            }
        } catch {
            self.error = error
        }
        var output = channel.takeOutput()[...]
        while !output.isEmpty {
            // Only answers to pings and to the end, which are short.
            let start = output.startIndex
            let count = Int(output[start + 1] & 0x7F)
            precondition(output[start] & 0xF0 == 0x80 && output[start + 1] & 0x80 != 0 && count <= 125)
            let mask = Array(output[(start + 2)..<(start + 6)])
            sent.append([output[start]] + output.dropFirst(6).prefix(count).enumerated().map { $1 ^ mask[$0 & 3] })
            precondition(output.count >= 6 + count)
            output = output.dropFirst(6 + count)
        }
    }
}

/// Frames, as they are. How they are divided must not matter.
private func fuzzFrames(_ bytes: [UInt8]) {
    let whole = Conversation([bytes.dropFirst()])
    precondition(whole == Conversation(parts(bytes)))
    for event in whole.events {
        switch event {
        case .text(let message), .binary(let message):
            precondition(message.count <= WebSocketChannel.maximumLength)
        case .closed: precondition(event == whole.events.last && whole.error == nil)
        case .opened: preconditionFailure("opened twice")
        }
    }
}

/// Messages in fragments, with pings between them: a byte that says what to add, one for its length, and its content.
/// The client must receive the messages, and answer the pings.
private func fuzzFragments(_ bytes: [UInt8]) {
    var frames: [UInt8] = []
    var (events, sent): ([WebSocketChannel.Event], [[UInt8]]) = ([], [])
    var message: (isText: Bool, bytes: [UInt8])?
    func add(_ first: UInt8, _ payload: [UInt8], isLong: Bool = false) {
        frames.append(first)
        switch payload.count {
        case ...125 where !isLong: frames.append(UInt8(payload.count))
        case ...0xFFFF where !isLong: frames += [126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default: frames += [127] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
        }
        frames += payload
    }
    var rest = bytes.dropFirst()
    while rest.count >= 3 {
        let (kind, length, content) = (rest.removeFirst(), Int(rest.removeFirst()), rest.removeFirst())
        if kind & 7 == 0 {
            let payload = [UInt8](repeating: content, count: min(length, 125))
            add(0x89, payload)
            sent.append([0x8A] + payload)
            continue
        }
        let former = message
        let payload = [UInt8](repeating: content, count: kind & 8 == 0 ? length : length * 257)
        let all = (former?.bytes ?? []) + payload
        // Messages that are too long are among the other inputs.
        guard max(all.count, frames.count) <= WebSocketChannel.maximumLength else { continue }
        let (isText, isFinal) = (former?.isText ?? (kind & 16 != 0), kind & 3 != 0)
        add((isFinal ? 0x80 : 0) | (former != nil ? 0 : isText ? 1 : 2), payload, isLong: kind & 32 != 0)
        message = isFinal ? nil : (isText, all)
        if isFinal { events.append(isText ? .text(all) : .binary(all)) }
    }
    let conversation = Conversation(parts([bytes.first ?? 0] + frames))
    precondition(conversation.error == nil && conversation.events == events && conversation.sent == sent)
}

/// A server's messages and what happens on the radio meanwhile, as the proxy tells its session.
private struct MatterWorld {
    private static let limit = 3
    private static let error = BLEError(.failed, "the fuzzer says so")

    private var session = MatterSession(limit: limit)
    /// The commands by their numbers, with how often each was sent and not answered.
    private var unanswered: [Int: Int] = [:]
    private var isScanning = false
    /// The links that exist, and whether each is up.
    private var links: [UInt16: Bool] = [:]
    private var operations: [(link: UInt16, number: Int)] = []
    private(set) var hasFailed = false

    init() { apply(session.receive(text: Array(#"{"type":"hello_response","version":1}"#.utf8))) }

    private mutating func apply(_ actions: [MatterSession.Action]) {
        for action in actions {
            switch action {
            case .send(let frame): send([frame])
            case .startScan:
                precondition(!isScanning, "two scans")
                isScanning = true
            case .stopScan: precondition(isScanning, "no scan to stop")
            case .connect(let link, _, let timeout):
                precondition(links.updateValue(false, forKey: link) == nil, "a link with a number of another")
                precondition(timeout > .zero && timeout <= MatterSession.connectLimit)
            case .end(let link, _): precondition(links[link] != nil, "no link to end")
            case .perform(_, let number, let link):
                precondition(links[link] == true, "no link to use")
                operations.append((link, number))
            case .fail: hasFailed = true
            case .greeted, .linkRefused, .ignored: break
            }
        }
        precondition(session.linkCount == links.count && links.count <= Self.limit)
    }

    private mutating func send(_ frames: [MatterFrame]) {
        for frame in frames {
            guard case .text(let json) = frame else { continue }
            guard let read = MatterText(Array(json.text.utf8)) else { preconditionFailure("no JSON: \(json.text)") }
            guard case .other = read, case .object(let object) = json else { preconditionFailure("\(json.text)") }
            guard object["success"] != nil, case .int(let id)? = object["id"] else { continue }
            precondition(unanswered[id, default: 0] > 0, "an answer to no command: \(json.text)")
            unanswered[id, default: 0] -= 1
        }
    }

    mutating func receive(_ text: [UInt8]) {
        if case .command(let id, _)? = MatterText(text) { unanswered[id, default: 0] += 1 }
        apply(session.receive(text: text))
    }

    mutating func receive(binary: [UInt8]) { apply(session.receive(binary: binary)) }

    private static let names = [
        "start_scan", "stop_scan", "connect", "disconnect", "discover_services", "discover_characteristics",
        "read_characteristic", "write_characteristic", "subscribe_characteristic", "write_and_subscribe",
        "unsubscribe_characteristic", "request_mtu",
    ]

    /// Receives a command that is right, for the link or the device with a number.
    mutating func command(_ which: UInt8, id: UInt8, _ number: UInt8) {
        let name = Self.names[Int(which) % Self.names.count]
        let text = """
            {"id":\(id),"command":"\(name)","args":{"address":"\(Self.device(number).rawValue)",
            "connection_handle":\(number),"service_uuid":"fff6","characteristic_uuid":"2a19","value":"AA==",
            "write_uuid":"2a19","write_value":"AA==","subscribe_uuid":"2a19","allow_duplicates":\(which & 16 != 0)}}
            """
        receive(Array(text.utf8))
    }

    private static func device(_ number: UInt8) -> Peripheral.ID {
        Peripheral.ID(rawValue: "C0:00:00:00:00:0\(number & 7)")
    }

    /// Lets something happen on the radio.
    mutating func radio(_ what: UInt8, _ number: UInt8) {
        let link = UInt16(number)
        switch what % 8 {
        case 0 where isScanning: send(session.scanBegan())
        case 1 where isScanning:
            isScanning = false
            apply(session.scanEnded(Self.error))
        case 2:
            let advertisement = Advertisement(rssi: -50, serviceData: [MatterSession.service: [what]])
            if let told = session.discovered(Self.device(number), advertisement) { send([told]) }
        case 3 where links[link] == false:
            let answers = session.linkBegan(link, mtu: 247)
            if !answers.isEmpty { links[link] = true }
            send(answers)
        case 4 where links[link] == false: apply(session.connectExpired(link, after: .seconds(30)))
        case 5: end(link)
        case 6 where !operations.isEmpty:
            let operation = operations.remove(at: Int(number) % operations.count)
            let result: Result<[String: JSON], MatterRefusal> =
                what & 8 == 0 ? .success([:]) : .failure(MatterRefusal(.readFailed, "the fuzzer says so"))
            if let answer = session.finished(operation.number, result, on: operation.link) { send([answer]) }
        case 7: apply(session.transportFailed(link, "the fuzzer says so"))
        default: break
        }
    }

    private mutating func end(_ link: UInt16) {
        guard links.removeValue(forKey: link) != nil else { return }
        send(session.linkEnded(link, Self.error))
    }

    /// Ends everything on the radio. Each command must have its answer then.
    mutating func finish() {
        // The end of a scan may begin another.
        while isScanning { radio(1, 0) }
        for link in links.keys { end(link) }
        precondition(unanswered.values.allSatisfy { $0 == 0 }, "no answer to \(unanswered.filter { $0.value > 0 })")
    }
}

/// Steps: a byte that says what happens, and two more of details, or a length and so many bytes.
private func fuzzMatter(_ bytes: [UInt8]) {
    var world = MatterWorld()
    var rest = bytes[...]
    while rest.count >= 3 {
        let (step, first) = (rest.removeFirst(), rest.removeFirst())
        switch step & 3 {
        case 0: world.radio(first, rest.removeFirst())
        case 1: world.command(step >> 2, id: first, rest.removeFirst())
        case 2:
            world.receive(Array(rest.prefix(Int(first))))
            rest = rest.dropFirst(Int(first))
        default:
            world.receive(binary: Array(rest.prefix(Int(first))))
            rest = rest.dropFirst(Int(first))
        }
        guard !world.hasFailed else { return }
    }
    world.finish()
}
