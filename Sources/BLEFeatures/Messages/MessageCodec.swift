public import BLE

/// Messages as the protocol of a ``TransactionSession``: frames, put together again where a device splits them, opened where
/// they are encrypted.
public struct MessageCodec: TransactionCodec {
    /// What a reply has in common with its request. An encrypted request takes no plain reply.
    public struct Key: Hashable, Sendable {
        /// The command.
        public let command: MessageCommand
        /// Whether both are encrypted.
        public let isEncrypted: Bool
    }

    /// Seals and opens encrypted messages; nil until keys are agreed on.
    public var cipher: MessageCipher? {
        get { keys.cipher }
        set { keys.use(newValue) }
    }
    /// The keys of this link, and how they come about.
    var keys = LinkKeys()
    private var reassembler: MessageReassembler?

    /// A codec.
    ///
    /// - Parameter reassembles: the device splits its frames over several notifications, or puts several into one.
    ///   Otherwise each notification must be one whole frame.
    public init(reassembles: Bool = false) {
        reassembler = reassembles ? MessageReassembler() : nil
    }

    /// The command and whether it is encrypted.
    public func key(of request: Message) -> Key { Key(command: request.command, isEncrypted: request.isEncrypted) }

    /// The command.
    public func name(of request: Message) -> String { "message \(request.command)" }

    /// The frame. Throws `invalidMessage` and `encryptionFailed`.
    public mutating func encode(_ request: Message) throws(BLEError) -> [UInt8] {
        do throws(MessageError) {
            guard !request.isEncrypted else { return try keys.seal(request) }
            keys.didEncode(request)
            return try request.encode()
        } catch {
            throw BLEError(error)
        }
    }

    /// Takes a packet: replies and notifications as they are; a request, which no device may send, ends the wait for the reply;
    /// what cannot be decoded or opened ends nobody's wait.
    public mutating func decode(_ packet: [UInt8], _ take: (TransactionInput<Key, Message>) -> Void) {
        guard reassembler != nil else { return decode(packet.span, take) }
        var frames: [[UInt8]] = []
        do throws(MessageError) {
            try reassembler!.append(packet.span) { frame in frames.append(frame.withUnsafeBufferPointer { Array($0) }) }
        } catch {
            for frame in frames { decode(frame.span, take) }
            return take(.malformed(BLEError(error)))
        }
        for frame in frames { decode(frame.span, take) }
    }

    /// Throws away a frame that has come in part, and the keys, which are those of one link.
    public mutating func reset() {
        reassembler?.reset()
        keys.use(nil)
    }

    /// Throws away a frame that has come in part.
    public mutating func discardPartial() { reassembler?.reset() }

    private mutating func decode(_ frame: Span<UInt8>, _ take: (TransactionInput<Key, Message>) -> Void) {
        do throws(MessageError) {
            let message = try open(frame)
            switch message.type {
            case .reply:
                if !message.isEncrypted { keys.didDecode(message) }
                take(.reply(key(of: message), message))
            case .notification: take(.notification(message))
            case .request:
                take(
                    .failure(
                        key(of: message),
                        BLEError(
                            .invalidMessageType, "the device has answered \(message.command) with a request",
                            isRetryable: false)))
            }
        } catch {
            take(.malformed(BLEError(error)))
        }
    }

    private mutating func open(_ frame: Span<UInt8>) throws(MessageError) -> Message {
        let header = try MessageHeader(decoding: frame)
        return header.isEncrypted ? try keys.open(frame, header) : try Message(decoding: frame)
    }
}
