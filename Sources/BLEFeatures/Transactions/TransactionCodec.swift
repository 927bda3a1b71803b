public import BLE

/// Encodes requests and decodes replies for a ``TransactionSession``.
public protocol TransactionCodec: Sendable {
    /// The type of requests.
    associatedtype Request: Sendable
    /// The type of replies and notifications.
    associatedtype Reply: Sendable
    /// Identifies the request that a reply belongs to. Only one request with a given key is in progress at a time.
    associatedtype Key: Hashable, Sendable

    /// Returns the key of a request and its reply.
    func key(of request: Request) -> Key

    /// Returns the name of a request, for errors and logs.
    func name(of request: Request) -> String

    /// Encodes a request. Called in the order in which requests are written.
    mutating func encode(_ request: Request) throws(BLEError) -> [UInt8]

    /// Decodes a notified packet, and calls `take` for each input in it, in order.
    mutating func decode(_ packet: [UInt8], _ take: (TransactionInput<Key, Reply>) -> Void)

    /// Discards incomplete input, because the link has ended.
    mutating func reset()

    /// Discards an incomplete reply, because a reply has not arrived in time.
    mutating func discardPartial()
}

extension TransactionCodec {
    /// Does nothing. This suffices if the beginning of a reply cannot be mistaken for the rest of another reply.
    public mutating func discardPartial() {}
}

/// The meaning of received bytes.
public enum TransactionInput<Key: Sendable, Reply: Sendable>: Sendable {
    /// The reply to the request in progress with the given key.
    case reply(Key, Reply)
    /// Something other than a reply, which ends the wait for the reply.
    case failure(Key, BLEError)
    /// The peripheral refuses the request in progress with the given key, which has no reply then.
    case rejection(Key, BLEError)
    /// An unsolicited message.
    case notification(Reply)
    /// Invalid bytes. They do not end a wait.
    case malformed(BLEError)
}
