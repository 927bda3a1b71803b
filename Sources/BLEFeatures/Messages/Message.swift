/// What a central and a peripheral tell each other: a command and up to 250 bytes.
///
/// As a frame it is a ``MessageHeader`` and the payload. `encode()` and `init(decoding:)` carry the payload as it is; for a
/// message that is to be encrypted, ``MessageCipher`` makes and opens the frame.
public struct Message: Hashable, Sendable {
    /// The most bytes that a payload can have: what the length byte can say, less the header.
    @inlinable
    public static var maximumPayload: Int { 250 }

    /// The most bytes that an encrypted message can carry: nonce and tag take 28.
    @inlinable
    public static var maximumEncryptedPayload: Int { 222 }

    /// Request, reply or notification.
    public var type: MessageType
    /// What the message is about.
    public var command: MessageCommand
    /// Whether the message travels encrypted.
    public var isEncrypted: Bool
    /// The bytes after the header.
    public var payload: [UInt8]

    /// A message; by default a request, not encrypted, without payload.
    @inlinable
    public init(
        _ command: MessageCommand, type: MessageType = .request, isEncrypted: Bool = false, payload: [UInt8] = []
    ) {
        self.type = type
        self.command = command
        self.isEncrypted = isEncrypted
        self.payload = payload
    }

    /// The message in `frame`, which must be one whole frame and nothing else. Throws what
    /// ``MessageHeader/init(decoding:)`` throws.
    @inlinable
    public init(decoding frame: Span<UInt8>) throws(MessageError) {
        let header = try MessageHeader(decoding: frame)
        type = header.type
        command = header.command
        isEncrypted = header.isEncrypted
        payload = frame.extracting(MessageHeader.size...).withUnsafeBufferPointer { Array($0) }
    }

    /// The same for a frame in an array.
    @inlinable
    public init(decoding frame: [UInt8]) throws(MessageError) {
        self = try Message(decoding: frame.span)
    }

    /// How many bytes the frame has.
    @inlinable
    public var encodedCount: Int { MessageHeader.size + payload.count }

    /// The frame. Throws `payloadTooLong`.
    @inlinable
    public func encode() throws(MessageError) -> [UInt8] {
        let header = try header()
        // An array of bytes that are there is made more quickly than one with a capacity, to be filled.
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 255) { buffer in
            var output = OutputSpan(buffer: buffer, initializedCount: 0)
            append(header, to: &output)
            return output.withUnsafeMutableBufferPointer { bytes, count in
                [UInt8](UnsafeBufferPointer(rebasing: bytes[..<count]))
            }
        }
    }

    /// Appends the frame to `output`, without an allocation. Throws `payloadTooLong`, or `bufferTooSmall` when
    /// ``encodedCount`` bytes do not fit; nothing is appended then.
    @inlinable @inline(__always)
    public func encode(into output: inout OutputSpan<UInt8>) throws(MessageError) {
        let header = try header()
        guard output.freeCapacity >= encodedCount else {
            throw .bufferTooSmall(needed: encodedCount, available: output.freeCapacity)
        }
        append(header, to: &output)
    }

    @inlinable @inline(__always)
    func header() throws(MessageError) -> MessageHeader {
        try MessageHeader(type: type, command: command, isEncrypted: isEncrypted, payloadCount: payload.count)
    }

    @inlinable @inline(__always)
    func append(_ header: MessageHeader, to output: inout OutputSpan<UInt8>) {
        header.append(to: &output)
        output.withUnsafeMutableBufferPointer { buffer, count in
            payload.withUnsafeBufferPointer { payload in
                if let source = payload.baseAddress, let start = buffer.baseAddress {
                    (start + count).initialize(from: source, count: header.payloadCount)
                }
            }
            // Asking the payload would retain it, which takes as long as all the rest.
            count += header.payloadCount
        }
    }
}
