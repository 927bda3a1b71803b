/// Who speaks in a message, and why.
@frozen
public enum MessageType: UInt8, Hashable, Sendable {
    /// The central asks.
    case request = 1
    /// The peripheral answers a request with the same command.
    case reply = 2
    /// The peripheral tells something unasked.
    case notification = 3
}

/// The five bytes that every frame begins with: length, type, command, namespace, encrypted.
///
/// Decoding one neither allocates nor calls out of the module that does it, so a receiver can sort frames by their headers
/// before it copies any payload.
@frozen
public struct MessageHeader: Hashable, Sendable {
    /// How many bytes a header has.
    @inlinable
    public static var size: Int { 5 }

    /// How many bytes the frame has, the header's five included: 5 to 255.
    public let length: UInt8
    /// Request, reply or notification.
    public let type: MessageType
    /// What the message is about.
    public let command: MessageCommand
    /// Whether the payload is nonce, ciphertext and tag instead of plain bytes.
    public let isEncrypted: Bool

    /// The header of a frame with `payloadCount` bytes after it. Throws `payloadTooLong` when these are more than
    /// ``Message/maximumPayload``.
    @inlinable
    public init(
        type: MessageType, command: MessageCommand, isEncrypted: Bool, payloadCount: Int
    ) throws(MessageError) {
        guard payloadCount <= Message.maximumPayload else {
            throw .payloadTooLong(count: payloadCount, maximum: Message.maximumPayload)
        }
        length = UInt8(truncatingIfNeeded: MessageHeader.size + payloadCount)
        self.type = type
        self.command = command
        self.isEncrypted = isEncrypted
    }

    /// The header of `frame`, which must be one whole frame and nothing else.
    ///
    /// Throws `tooShort`, `lengthMismatch`, `unknownType` or `invalidEncryptedFlag`, the first that applies.
    @inlinable @inline(__always)
    public init(decoding frame: Span<UInt8>) throws(MessageError) {
        guard frame.count >= MessageHeader.size else { throw .tooShort(count: frame.count) }
        guard Int(frame[0]) == frame.count else {
            throw .lengthMismatch(declared: Int(frame[0]), actual: frame.count)
        }
        guard let type = MessageType(rawValue: frame[1]) else { throw .unknownType(frame[1]) }
        guard frame[4] <= 1 else { throw .invalidEncryptedFlag(frame[4]) }
        length = frame[0]
        self.type = type
        command = MessageCommand(command: frame[2], namespace: frame[3])
        isEncrypted = frame[4] == 1
    }

    /// How many bytes follow the header.
    @inlinable
    public var payloadCount: Int { Int(length) - MessageHeader.size }

    /// The five bytes.
    var bytes: [UInt8] {
        [UInt8](capacity: MessageHeader.size) { append(to: &$0) }
    }

    /// Appends the five bytes; `output` must have room for them.
    @inlinable @inline(__always)
    func append(to output: inout OutputSpan<UInt8>) {
        output.append(length)
        output.append(type.rawValue)
        output.append(command.command)
        output.append(command.namespace)
        output.append(isEncrypted ? 1 : 0)
    }
}
