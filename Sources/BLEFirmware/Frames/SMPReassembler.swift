/// Assembles frames from packets of any size.
///
/// A packet may contain any part of a frame, or several frames. A header that is not valid discards the buffered bytes
/// and the rest of the packet; the next packet begins a frame. Of a frame that is too long, exactly its bytes are
/// skipped.
public struct SMPReassembler: Sendable {
    /// The maximum number of bytes in a frame, with its header.
    public let maximumLength: Int
    private var buffer: [UInt8] = []
    /// The number of bytes of a frame that is too long, and has not arrived yet.
    private var skipped = 0

    /// Creates a reassembler that expects the beginning of a frame.
    ///
    /// - Parameter maximumLength: at least 8.
    public init(maximumLength: Int) { self.maximumLength = max(SMPHeader.size, maximumLength) }

    /// The number of bytes held of an incomplete frame. Less than ``maximumLength``.
    public var bufferedCount: Int { buffer.count }

    /// Whether a frame has begun and is not complete.
    public var isIncomplete: Bool { !buffer.isEmpty || skipped > 0 }

    /// Adds a packet, and returns the frames that it completes, in order, with an error for each one that is invalid.
    public mutating func append(_ packet: [UInt8]) -> [Result<SMPFrame, SMPFrameError>] {
        var results: [Result<SMPFrame, SMPFrameError>] = []
        var rest = packet[...]
        while !rest.isEmpty {
            if skipped > 0 {
                let count = min(skipped, rest.count)
                skipped -= count
                rest = rest.dropFirst(count)
                continue
            }
            if buffer.isEmpty, rest.first.flatMap(SMPHeader.decode) == nil {
                results.append(.failure(.invalidHeader))
                break
            }
            if buffer.count < SMPHeader.size { take(SMPHeader.size - buffer.count, from: &rest) }
            guard let header = SMPHeader(buffer[...]) else { continue }
            let length = SMPHeader.size + header.length
            guard length <= maximumLength else {
                results.append(.failure(.tooLong(header, maximum: maximumLength)))
                skipped = header.length
                buffer.removeAll(keepingCapacity: true)
                continue
            }
            take(length - buffer.count, from: &rest)
            guard buffer.count == length else { continue }
            do throws(SMPFrameError) {
                results.append(.success(try SMPFrame(decoding: buffer)))
            } catch {
                results.append(.failure(error))
            }
            buffer.removeAll(keepingCapacity: true)
        }
        return results
    }

    private mutating func take(_ count: Int, from rest: inout ArraySlice<UInt8>) {
        buffer += rest.prefix(count)
        rest = rest.dropFirst(count)
    }

    /// Discards an incomplete frame. The next packet begins one.
    public mutating func reset() {
        buffer.removeAll(keepingCapacity: true)
        skipped = 0
    }
}
