/// Makes whole frames of the packets of a device that splits them over several notifications.
///
/// Where frames begin is only told by the frames before, so there is one rule for rubbish: as soon as a header cannot be
/// right (a length below 5, a type or an encrypted byte that does not exist), what is buffered and the rest of that packet
/// are thrown away, the call throws, and the next packet begins a frame. A header counts as wrong at its first wrong byte,
/// before the others have come. It never holds more than one unfinished frame, that is 254 bytes.
public struct MessageReassembler: Sendable {
    private var buffer: [UInt8] = []

    /// A reassembler at the beginning of a frame.
    public init() {}

    /// How many bytes of an unfinished frame are held, at most 254.
    public var bufferedCount: Int { buffer.count }

    /// Takes the next packet, and calls `body` with each frame that it completes, in order.
    ///
    /// A packet may hold any part of a frame, or several frames. The frames are whole and their headers right. When the call
    /// throws, the frames before the rubbish have been handed out: `tooShort` for an impossible length, `unknownType`,
    /// `invalidEncryptedFlag`.
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

    /// Forgets the unfinished frame, as at a disconnect: the next packet begins a frame.
    public mutating func reset() {
        buffer.removeAll(keepingCapacity: true)
    }

    /// Moves what belongs to the frame under way from `rest` to the buffer, and hands the frame out if it is whole then.
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

    /// Throws if a frame cannot begin with `bytes`, which are at least one.
    private static func check(_ bytes: Span<UInt8>) throws(MessageError) {
        if Int(bytes[0]) < MessageHeader.size { throw .tooShort(count: Int(bytes[0])) }
        if bytes.count > 1, MessageType(rawValue: bytes[1]) == nil { throw .unknownType(bytes[1]) }
        if bytes.count > 4, bytes[4] > 1 { throw .invalidEncryptedFlag(bytes[4]) }
    }
}
