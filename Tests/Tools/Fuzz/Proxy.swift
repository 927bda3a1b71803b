// Fuzzed by Scripts/fuzz, which compiles this together with the sources of BLEESPHome.
internal import BLE

/// The first byte chooses what gets the others. A trap is a finding; so is a message that differs after it was encoded
/// and decoded again, and one that a side with a key receives although it was never sealed, or was changed.
@c(LLVMFuzzerTestOneInput)
public func fuzzProxy(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: data, count: count)
    guard let choice = input.first else { return 0 }
    let bytes = Array(input.dropFirst())
    switch choice & 3 {
    case 0: fuzzMessage(bytes)
    case 1: fuzzServer(bytes, key: choice & 4 == 0 ? nil : key)
    case 2: fuzzClient(bytes, key: choice & 4 == 0 ? nil : key)
    default: fuzzSealed(bytes)
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
