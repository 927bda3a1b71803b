/// A message between a central and a peripheral: a command and up to 250 bytes.
///
/// Its frame consists of a ``MessageHeader`` and the payload. `encode()` and `init(decoding:)` leave the payload
/// unchanged. To encrypt and decrypt messages, use ``MessageCipher``.
public struct Message: Hashable, Sendable {
    /// The maximum length of a payload, in bytes: the maximum of the length byte, minus the header.
    @inlinable
    public static var maximumPayload: Int { 250 }

    /// The maximum length of an encrypted message's payload, in bytes. The nonce and the tag take 28.
    @inlinable
    public static var maximumEncryptedPayload: Int { 222 }

    /// The type: request, reply or notification.
    public var type: MessageType
    /// The command.
    public var command: MessageCommand
    /// Whether the message is encrypted in transit.
    public var isEncrypted: Bool
    /// The bytes after the header.
    public var payload: [UInt8]

    /// Creates a message: by default, an unencrypted request without payload.
    @inlinable
    public init(
        _ command: MessageCommand, type: MessageType = .request, isEncrypted: Bool = false, payload: [UInt8] = []
    ) {
        self.type = type
        self.command = command
        self.isEncrypted = isEncrypted
        self.payload = payload
    }

    /// Decodes a frame, which must be complete, without further bytes. Throws the errors of
    /// ``MessageHeader/init(decoding:)``.
    @inlinable
    public init(decoding frame: Span<UInt8>) throws(MessageError) {
        let header = try MessageHeader(decoding: frame)
        type = header.type
        command = header.command
        isEncrypted = header.isEncrypted
        payload = frame.extracting(MessageHeader.size...).withUnsafeBufferPointer { Array($0) }
    }

    /// Decodes a frame in an array.
    @inlinable
    public init(decoding frame: [UInt8]) throws(MessageError) {
        self = try Message(decoding: frame.span)
    }

    /// The length of the frame, in bytes.
    @inlinable
    public var encodedCount: Int { MessageHeader.size + payload.count }

    /// Encodes the frame. Throws `payloadTooLong`.
    @inlinable
    public func encode() throws(MessageError) -> [UInt8] {
        let header = try header()
        // Creating an array from existing bytes is faster than reserving a capacity and filling it.
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 255) { buffer in
            var output = OutputSpan(buffer: buffer, initializedCount: 0)
            append(header, to: &output)
            return output.withUnsafeMutableBufferPointer { bytes, count in
                [UInt8](UnsafeBufferPointer(rebasing: bytes[..<count]))
            }
        }
    }

    /// Appends the frame to `output`, without an allocation. Throws `payloadTooLong`, or `bufferTooSmall` if fewer than
    /// ``encodedCount`` bytes are free. If it throws, nothing is appended.
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
            // Reading the payload's own count would retain the payload, which takes as long as the rest of this
            // function.
            count += header.payloadCount
        }
    }
}
