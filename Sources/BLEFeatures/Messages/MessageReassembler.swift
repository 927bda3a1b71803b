/// Assembles frames from the packets of a device that splits them over several notifications.
///
/// The beginning of a frame is known only from the frames before it. Therefore, an invalid header (a length below 5, an
/// unknown type or encrypted byte) discards the buffered bytes and the rest of the packet, and throws; the next packet
/// begins a frame. A header is rejected at its first invalid byte, even before it is complete. The reassembler holds at
/// most one incomplete frame, which is up to 254 bytes.
public struct MessageReassembler: Sendable {
    private var buffer: [UInt8] = []

    /// Creates a reassembler that expects the beginning of a frame.
    public init() {}

    /// The number of bytes held of an incomplete frame. At most 254.
    public var bufferedCount: Int { buffer.count }

    /// Adds the next packet, and calls `body` with each frame that it completes, in order.
    ///
    /// A packet may contain any part of a frame, or several frames. The frames are complete and have valid headers.
    /// Throws `tooShort` for a length below 5, `unknownType` or `invalidEncryptedFlag`; `body` has then received the
    /// frames before the invalid header.
    public mutating func append(
        _ packet: Span<UInt8>, _ body: (_ frame: Span<UInt8>) -> Void
    ) throws(MessageError) {
        var rest = packet
        while !rest.isEmpty {
            if buffer.isEmpty, Int(rest[0]) <= rest.count {
                try Self.check(rest)
                body(rest.extracting(first: Int(rest[0])))
                rest = rest.extracting(droppingFirst: Int(rest[0]))
            } else {
                try fill(from: &rest, body)
            }
        }
    }

    /// Discards the incomplete frame, for example after a disconnection. The next packet begins a frame.
    public mutating func reset() {
        buffer.removeAll(keepingCapacity: true)
    }

    /// Moves bytes of the current frame from `rest` to the buffer, and delivers the frame if it is then complete.
    private mutating func fill(
        from rest: inout Span<UInt8>, _ body: (_ frame: Span<UInt8>) -> Void
    ) throws(MessageError) {
        let length = Int(buffer.first ?? rest[0])
        let taken = max(0, min(length - buffer.count, rest.count))
        if buffer.capacity < 255 { buffer.reserveCapacity(255) }
        rest.extracting(first: taken).withUnsafeBufferPointer { buffer.append(contentsOf: $0) }
        rest = rest.extracting(droppingFirst: taken)
        do throws(MessageError) {
            try Self.check(buffer.span)
        } catch {
            reset()
            throw error
        }
        if buffer.count == length {
            body(buffer.span)
            reset()
        }
    }

    /// Throws if a frame cannot begin with the given bytes. There must be at least one byte.
    private static func check(_ bytes: Span<UInt8>) throws(MessageError) {
        if Int(bytes[0]) < MessageHeader.size { throw .tooShort(count: Int(bytes[0])) }
        if bytes.count > 1, MessageType(rawValue: bytes[1]) == nil { throw .unknownType(bytes[1]) }
        if bytes.count > 4, bytes[4] > 1 { throw .invalidEncryptedFlag(bytes[4]) }
    }
}
