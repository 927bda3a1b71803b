// Fuzzed by Scripts/fuzz, which compiles this together with the sources of BLEFeatures and its tests' CipherVectors.
internal import BLE

/// The first byte chooses the mode, and whether the others are a frame or changes to a sealed one. A trap is a finding;
/// so is a frame that opens although it was never sealed, and one that does not open although it was not changed.
@c(LLVMFuzzerTestOneInput)
public func fuzzCipher(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: data, count: count)
    guard let choice = input.first else { return 0 }
    let bytes = Array(input.dropFirst())
    let mode: MessageCipher.Mode = choice & 1 == 0 ? .bound : .firmware
    if choice & 2 == 0 {
        fuzzFrame(bytes, mode)
    } else {
        fuzzChanges(bytes, sealed(mode))
    }
    return 0
}

private func key(_ mode: MessageCipher.Mode) -> MessageKey {
    MessageKey(Hex.bytes(mode == .bound ? CipherVectors.sessionKey : CipherVectors.firmwareKey)!)!
}

/// A generator for nonces that are the same in every run.
private struct Counting: RandomNumberGenerator {
    var state: UInt64 = 0
    mutating func next() -> UInt64 {
        defer { state += 1 }
        return state
    }
}

private struct Sealed {
    let mode: MessageCipher.Mode
    let messages: [Message]
    let frames: [[UInt8]]

    init(_ mode: MessageCipher.Mode) {
        self.mode = mode
        var central = MessageCipher(mode, role: .central, key: key(mode))
        var nonces = Counting()
        messages = [0, 1, 17, 222].map { count in
            Message(
                MessageCommand(rawValue: 0x0204), isEncrypted: true, payload: [UInt8](repeating: 0x5A, count: count))
        }
        var frames: [[UInt8]] = []
        for message in messages { frames.append((try? central.seal(message, using: &nonces))!) }
        self.frames = frames
    }
}

private let bound = Sealed(.bound)
private let firmware = Sealed(.firmware)
private func sealed(_ mode: MessageCipher.Mode) -> Sealed { mode == .bound ? bound : firmware }

/// The sealed frames among the inputs that Scripts/fuzz begins with.
private let vectors = [
    CipherVectors.boundRequest, CipherVectors.secondBoundRequest, CipherVectors.boundReply,
    CipherVectors.otherBoundReply, CipherVectors.longestBoundReply, CipherVectors.boundNotification,
    CipherVectors.confirmation, CipherVectors.confirmationReply,
    CipherVectors.firmwareRequest, CipherVectors.firmwareReply,
]

/// Opens any bytes. Only the frames of the seeds may open, each at most once.
private func fuzzFrame(_ bytes: [UInt8], _ mode: MessageCipher.Mode) {
    for role in [MessageCipher.Role.central, .peripheral] {
        var cipher = MessageCipher(mode, role: role, key: key(mode))
        // A reply opens only after its request was sealed; CipherVectors.boundReply answers this one.
        let request = Message(MessageCommand(rawValue: 0x0204), isEncrypted: true)
        if mode == .bound, role == .central { precondition((try? cipher.seal(request)) != nil) }
        guard let message = try? cipher.open(bytes) else { continue }
        precondition(message.isEncrypted && message.payload.count + 28 + MessageHeader.size == bytes.count)
        let known = vectors.compactMap { Hex.bytes($0) } + bound.frames + firmware.frames
        // Firmware mode does not protect type and command.
        let protected = mode == .bound ? 0 : MessageHeader.size
        precondition(known.contains { $0.dropFirst(protected) == bytes.dropFirst(protected) })
        precondition((try? cipher.open(bytes)) == nil)
    }
}

/// Changes a sealed frame: the first byte chooses the frame, then come pairs of position and difference, then bytes to
/// append.
private func fuzzChanges(_ bytes: [UInt8], _ sealed: Sealed) {
    guard bytes.count >= 2 else { return }
    let index = Int(bytes[0]) % sealed.frames.count
    let original = sealed.frames[index]
    let pairs = Int(bytes[1] % 8)
    var rest = bytes.dropFirst(2)
    var changed = original
    for _ in 0..<pairs {
        guard let position = rest.popFirst(), let difference = rest.popFirst() else { break }
        changed[Int(position) % changed.count] ^= difference
    }
    changed += rest

    var peripheral = MessageCipher(sealed.mode, role: .peripheral, key: key(sealed.mode))
    let opened = try? peripheral.open(changed)
    let protected = sealed.mode == .bound ? 0 : MessageHeader.size
    let isSame = changed.dropFirst(protected) == original.dropFirst(protected)
    precondition(opened == nil || isSame && opened?.payload == sealed.messages[index].payload)
    if changed == original { precondition(opened == sealed.messages[index]) }
    // A rejected frame changes no state, and an accepted one is not accepted again.
    let then = try? peripheral.open(original)
    precondition(opened == nil ? then == sealed.messages[index] : then == nil)
}
