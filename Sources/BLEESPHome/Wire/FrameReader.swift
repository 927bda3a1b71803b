/// Splits what arrives on a connection into frames, plain or encrypted.
///
/// A plain frame is a zero, the length and the type of a message as numbers of up to 64 bits, and the message. An
/// encrypted one is a 1, the length in two bytes, the most significant first, and what is encrypted.
package struct FrameReader {
    package enum Framing: Sendable {
        case plain
        case encrypted
    }

    package enum Frame: Equatable {
        case plain(type: UInt64, ArraySlice<UInt8>)
        case encrypted(ArraySlice<UInt8>)
    }

    /// Nil until the first byte arrives.
    package private(set) var framing: Framing?
    /// The maximum number of bytes of a frame, without its head.
    package var maximumLength: Int
    private var buffer: [UInt8] = []
    /// The end of the frames that were returned.
    private var position = 0

    /// - Parameter framing: nil on the side that accepts both.
    package init(_ framing: Framing?, maximumLength: Int) {
        self.framing = framing
        self.maximumLength = maximumLength
    }

    /// The number of bytes that belong to no frame yet.
    package var waitingCount: Int { buffer.count - position }

    /// Adds bytes that have arrived. Take all frames before the next ones, so that the buffer has one frame at most.
    package mutating func append(_ bytes: some Collection<UInt8>) {
        if position > 0 {
            buffer.removeFirst(position)
            position = 0
        }
        buffer += bytes
    }

    /// Returns the next complete frame. Nil if there is none yet.
    ///
    /// Throws `frameTooLong` as soon as the length is known, `numberTooLong`, `invalidMarker`, and `isEncrypted` or
    /// `isNotEncrypted` if the other side's framing is the other one.
    package mutating func next() throws(WireError) -> Frame? {
        let rest = buffer[position...]
        guard let marker = rest.first else { return nil }
        guard marker <= 1 else { throw .invalidMarker(marker) }
        switch (framing, marker) {
        case (.plain, 1): throw .isEncrypted
        case (.encrypted, 0): throw .isNotEncrypted
        case (nil, _): framing = marker == 0 ? .plain : .encrypted
        default: break
        }
        return marker == 0 ? try nextPlain(rest.dropFirst()) : try nextEncrypted(rest.dropFirst())
    }

    private mutating func nextPlain(_ head: ArraySlice<UInt8>) throws(WireError) -> Frame? {
        guard let length = try FieldReader.number(in: head) else { return nil }
        try check(length.number)
        let afterLength = head.dropFirst(length.count)
        guard let type = try FieldReader.number(in: afterLength) else { return nil }
        guard let body = take(Int(length.number), afterLength.dropFirst(type.count)) else { return nil }
        return .plain(type: type.number, body)
    }

    private mutating func nextEncrypted(_ head: ArraySlice<UInt8>) throws(WireError) -> Frame? {
        guard head.count >= 2 else { return nil }
        let length = UInt64(head[head.startIndex]) << 8 | UInt64(head[head.startIndex + 1])
        try check(length)
        return take(Int(length), head.dropFirst(2)).map { .encrypted($0) }
    }

    private func check(_ length: UInt64) throws(WireError) {
        guard length <= maximumLength else {
            throw .frameTooLong(count: Int(clamping: length), maximum: maximumLength)
        }
    }

    private mutating func take(_ count: Int, _ rest: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard rest.count >= count else { return nil }
        position = rest.startIndex + count
        return rest.prefix(count)
    }
}
