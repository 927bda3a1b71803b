public import BLE

/// A ``TransactionSession`` codec for messages. Reassembles frames that a device splits, and decrypts messages.
public struct MessageCodec: TransactionCodec {
    /// The properties that a reply shares with its request. An unencrypted reply does not answer an encrypted request.
    public struct Key: Hashable, Sendable {
        /// The command.
        public let command: MessageCommand
        /// Whether both are encrypted.
        public let isEncrypted: Bool
    }

    /// Encrypts and decrypts messages. Nil until keys are agreed on.
    public var cipher: MessageCipher? {
        get { keys.cipher }
        set { keys.use(newValue) }
    }
    /// The keys of this link, and the state of the key exchange.
    var keys = LinkKeys()
    private var reassembler: MessageReassembler?
    /// The command of the notifications with which the device rejects requests.
    private let rejections: MessageCommand?

    /// Creates a codec.
    ///
    /// - Parameters:
    ///   - reassembles: whether the device may split a frame over several notifications, or put several into one.
    ///     Otherwise, each notification must be exactly one frame.
    ///   - rejections: the command of the notifications with which the device rejects requests; see
    ///     ``Devices/Configuration/rejections``.
    public init(reassembles: Bool = false, rejections: MessageCommand? = nil) {
        self.rejections = rejections
        reassembler = reassembles ? MessageReassembler() : nil
    }

    /// Returns the command, and whether the request is encrypted.
    public func key(of request: Message) -> Key { Key(command: request.command, isEncrypted: request.isEncrypted) }

    /// Returns a description with the command.
    public func name(of request: Message) -> String { "message \(request.command)" }

    /// Encodes a frame. Throws `invalidMessage` and `encryptionFailed`.
    public mutating func encode(_ request: Message) throws(BLEError) -> [UInt8] {
        do throws(MessageError) {
            guard !request.isEncrypted else { return try keys.seal(request) }
            keys.didEncode(request)
            return try request.encode()
        } catch {
            throw BLEError(error)
        }
    }

    /// Decodes the messages in a packet. Replies and notifications are delivered as such. A request, which devices must
    /// not send, ends the wait for the reply. A message that cannot be decoded or decrypted is malformed, and ends no
    /// wait.
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

    /// Discards an incomplete frame, and the keys, which belong to one link.
    public mutating func reset() {
        reassembler?.reset()
        keys.use(nil)
    }

    /// Discards an incomplete frame.
    public mutating func discardPartial() { reassembler?.reset() }

    private mutating func decode(_ frame: Span<UInt8>, _ take: (TransactionInput<Key, Message>) -> Void) {
        do throws(MessageError) {
            let message = try open(frame)
            switch message.type {
            case .reply:
                if !message.isEncrypted, !keys.didDecode(message) { throw .confirmationFailed }
                take(.reply(key(of: message), message))
            case .notification:
                if message.command == rejections, let rejected = RejectedRequest(message.payload),
                    rejected.isCredible(isEncrypted: message.isEncrypted),
                    !message.isEncrypted || keys.didReject(rejected)
                {
                    // The next message agrees on keys again.
                    if rejected.reason == .undecipherable { keys.distrust(keys.number) }
                    take(.rejection(rejected.key, rejected.error))
                } else {
                    take(.notification(message))
                }
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
