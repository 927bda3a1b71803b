// Fuzzed by Scripts/fuzz, which compiles this together with the sources of BLEFeatures.

/// The first byte chooses the meaning of the others: a frame, packets of frames, a frame with checksums, packets of
/// lines. A trap is a finding; so are two results that contradict each other.
@c(LLVMFuzzerTestOneInput)
public func fuzzCodec(_ data: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: data, count: count)
    guard let choice = input.first else { return 0 }
    let bytes = Array(input.dropFirst())
    switch choice % 4 {
    case 0: fuzzMessage(bytes)
    case 1: fuzzReassembler(bytes)
    case 2: fuzzChecksumFrame(bytes)
    default: fuzzLines(bytes)
    }
    return 0
}

private func fuzzMessage(_ bytes: [UInt8]) {
    let header = try? MessageHeader(decoding: bytes.span)
    guard let message = try? Message(decoding: bytes) else {
        precondition(header == nil)
        return
    }
    precondition(header?.payloadCount == message.payload.count && header?.type == message.type)
    precondition((try? message.encode()) == bytes)
}

private func fuzzReassembler(_ bytes: [UInt8]) {
    let whole = frames(of: [bytes])
    let split = frames(of: packets(of: bytes))
    // An error discards the rest of the packet, so the results after it depend on where the packets end.
    precondition(whole.beforeError == split.beforeError && whole.hasError == split.hasError)
    precondition(whole.frames.prefix(whole.beforeError) == split.frames.prefix(split.beforeError))
}

private func frames(of packets: [[UInt8]]) -> (frames: [[UInt8]], beforeError: Int, hasError: Bool) {
    var reassembler = MessageReassembler()
    var frames: [[UInt8]] = []
    var beforeError: Int?
    for packet in packets {
        do throws(MessageError) {
            try reassembler.append(packet.span) { frame in
                frames.append(frame.withUnsafeBufferPointer { Array($0) })
            }
        } catch {
            precondition(reassembler.bufferedCount == 0)
            beforeError = beforeError ?? frames.count
        }
        precondition(reassembler.bufferedCount < 255)
    }
    for frame in frames { precondition((try? Message(decoding: frame)) != nil) }
    return (frames, beforeError ?? frames.count, beforeError != nil)
}

private func fuzzChecksumFrame(_ bytes: [UInt8]) {
    let frame = try? ChecksumFrame(decoding: bytes.span) { id in id < 0xF0 ? Int(id % 8) : nil }
    if let frame { precondition((try? frame.encode()) == bytes) }
}

private func fuzzLines(_ bytes: [UInt8]) {
    let whole = responses(in: [bytes])
    let split = responses(in: packets(of: bytes))
    precondition(whole == split)
    for line in whole.joined() {
        precondition(!line.isEmpty && !line.utf8.contains { $0 == 0 || $0 == 0x0A || $0 == 0x0D || $0 == 0x3E })
    }
}

private func responses(in packets: [[UInt8]]) -> [[String]] {
    var reassembler = LineReassembler(limit: 32)
    var responses: [[String]] = []
    reassembler.begin("ATI")
    for packet in packets {
        try? reassembler.append(packet.span) { responses.append($0) }
        precondition(reassembler.bufferedCount <= 32)
    }
    return responses
}

/// `bytes` in packets, whose lengths are bytes of the input.
private func packets(of bytes: [UInt8]) -> [[UInt8]] {
    var packets: [[UInt8]] = []
    var rest = bytes[...]
    while let first = rest.first {
        packets.append(Array(rest.prefix(Int(first % 32) + 1)))
        rest = rest.dropFirst(Int(first % 32) + 1)
    }
    return packets
}
