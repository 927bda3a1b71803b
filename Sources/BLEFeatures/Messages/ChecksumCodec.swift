public import BLE

/// Frames of commands with checksums (``ChecksumFrame``) as the protocol of a ``TransactionSession``. Nothing comes back: frames are
/// posted, not sent.
public struct ChecksumCodec: TransactionCodec {
    /// All frames have the same.
    public struct Key: Hashable, Sendable {}

    /// A codec.
    public init() {}

    /// The one key.
    public func key(of request: ChecksumFrame) -> Key { Key() }

    /// How many commands there are.
    public func name(of request: ChecksumFrame) -> String { "a frame of \(request.commands.count) commands" }

    /// The frame. Throws `invalidMessage`.
    public mutating func encode(_ request: ChecksumFrame) throws(BLEError) -> [UInt8] {
        do throws(ChecksumFrameError) {
            return try request.encode()
        } catch {
            throw BLEError(.invalidMessage, "\(error)", isRetryable: false, cause: error)
        }
    }

    /// Whatever comes is told as it is.
    public mutating func decode(_ packet: [UInt8], _ take: (TransactionInput<Key, [UInt8]>) -> Void) {
        take(.notification(packet))
    }

    /// There is nothing to throw away.
    public mutating func reset() {}
}
