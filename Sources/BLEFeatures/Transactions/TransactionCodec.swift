public import BLE

/// A protocol of requests and replies over two characteristics, as far as bytes are concerned; see ``TransactionSession``.
public protocol TransactionCodec: Sendable {
    /// What is sent.
    associatedtype Request: Sendable
    /// What comes back, asked for or not.
    associatedtype Reply: Sendable
    /// What tells which request a reply belongs to. Of each key one request is under way at a time.
    associatedtype Key: Hashable, Sendable

    /// The key of a request, and of its reply.
    func key(of request: Request) -> Key

    /// How a request is called in errors and logs.
    func name(of request: Request) -> String

    /// The bytes of a request. Called in the order in which they are written.
    mutating func encode(_ request: Request) throws(BLEError) -> [UInt8]

    /// Takes what the peripheral has notified and tells what it means, in order.
    mutating func decode(_ packet: [UInt8], _ take: (TransactionInput<Key, Reply>) -> Void)

    /// The link has ended: what has come in part is void.
    mutating func reset()

    /// A reply has not come in time: if a part of it has, the rest will not.
    mutating func discardPartial()
}

extension TransactionCodec {
    /// Does nothing: right where what begins a reply cannot be taken for its continuation.
    public mutating func discardPartial() {}
}

/// What a peripheral's bytes mean.
public enum TransactionInput<Key: Sendable, Reply: Sendable>: Sendable {
    /// The reply to the request under way with that key.
    case reply(Key, Reply)
    /// Something that is no reply, and ends the wait for one.
    case failure(Key, BLEError)
    /// Something that nobody has asked for.
    case notification(Reply)
    /// Bytes that mean nothing. Nobody's wait ends.
    case malformed(BLEError)
}
