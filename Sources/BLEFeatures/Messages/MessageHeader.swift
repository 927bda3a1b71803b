/// The type of a message.
@frozen
public enum MessageType: UInt8, Hashable, Sendable {
    /// A request from the central.
    case request = 1
    /// The peripheral's reply to a request, with the same command.
    case reply = 2
    /// An unsolicited message from the peripheral.
    case notification = 3
}

/// The header of a frame, five bytes: length, type, command, namespace, encrypted.
///
/// Decoding a header does not allocate and is inlined, so a receiver can sort frames by their headers before it copies
/// a payload.
@frozen
public struct MessageHeader: Hashable, Sendable {
    /// The length of a header, in bytes.
    @inlinable
    public static var size: Int { 5 }

    /// The length of the frame in bytes, including the header: 5 to 255.
    public let length: UInt8
    /// The type: request, reply or notification.
    public let type: MessageType
    /// The command.
    public let command: MessageCommand
    /// Whether the payload consists of nonce, ciphertext and tag instead of plain bytes.
    public let isEncrypted: Bool

    /// Creates the header of a frame with a payload of `payloadCount` bytes. Throws `payloadTooLong` if that exceeds
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

    /// Decodes the header of a frame, which must be complete, without further bytes.
    ///
    /// Throws `tooShort`, `lengthMismatch`, `unknownType` or `invalidEncryptedFlag`, whichever applies first.
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

    /// The length of the payload, in bytes.
    @inlinable
    public var payloadCount: Int { Int(length) - MessageHeader.size }

    /// The five bytes of the header.
    var bytes: [UInt8] {
        [UInt8](capacity: MessageHeader.size) { append(to: &$0) }
    }

    /// Appends the five bytes to `output`, which must have room for them.
    @inlinable @inline(__always)
    func append(to output: inout OutputSpan<UInt8>) {
        output.append(length)
        output.append(type.rawValue)
        output.append(command.command)
        output.append(command.namespace)
        output.append(isEncrypted ? 1 : 0)
    }
}
