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
    public var cipher: MessageCipher?
    /// The exchange whose request is written next, and the one whose reply comes next.
    private var prepared: PendingExchange?
    private var active: PendingExchange?
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
        if let prepared, prepared.request == request {
            // (the device changes its keys when it has read this)
            (active, self.prepared, cipher) = (prepared, nil, nil)
        }
        do throws(MessageError) {
            guard request.isEncrypted else { return try request.encode() }
            guard cipher != nil else { throw .missingKey }
            return try cipher!.seal(request)
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
        (cipher, prepared, active) = (nil, nil, nil)
    }

    /// Throws away a frame that has come in part.
    public mutating func discardPartial() { reassembler?.reset() }

    /// An exchange of keys is about to be sent: its reply changes the keys for what comes right after it.
    mutating func prepare(_ exchange: PendingExchange) { prepared = exchange }

    private mutating func decode(_ frame: Span<UInt8>, _ take: (TransactionInput<Key, Message>) -> Void) {
        do throws(MessageError) {
            let message = try open(frame)
            switch message.type {
            case .reply:
                if let active, active.request.command == message.command, !message.isEncrypted {
                    cipher = active.cipher(for: message)
                    self.active = nil
                }
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
        guard try MessageHeader(decoding: frame).isEncrypted else { return try Message(decoding: frame) }
        guard cipher != nil else { throw .missingKey }
        return try cipher!.open(frame)
    }
}
