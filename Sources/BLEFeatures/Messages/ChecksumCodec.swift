public import BLE

/// A ``TransactionSession`` codec for frames of commands with checksums, ``ChecksumFrame``.
///
/// Frames have no replies: they are posted, not sent.
///
/// ```swift
/// let robot = TransactionSession(
///     peripheral, codec: ChecksumCodec(),
///     configuration: TransactionConfiguration(
///         request: CharacteristicKey(characteristic: BluetoothUUID(0xDFB1)),
///         reply: CharacteristicKey(characteristic: BluetoothUUID(0xDFB2)), writeType: .withoutResponse))
/// try await robot.post(ChecksumFrame([ChecksumFrame.Command(id: 0x50, body: [0x51])]))  // rainbow
/// ```
public struct ChecksumCodec: TransactionCodec {
    /// The single key of all frames.
    public struct Key: Hashable, Sendable {}

    /// Creates a codec.
    public init() {}

    /// Returns the single key.
    public func key(of request: ChecksumFrame) -> Key { Key() }

    /// Returns a description with the number of commands.
    public func name(of request: ChecksumFrame) -> String { "a frame of \(request.commands.count) commands" }

    /// Encodes a frame. Throws `invalidMessage`.
    public mutating func encode(_ request: ChecksumFrame) throws(BLEError) -> [UInt8] {
        do throws(ChecksumFrameError) {
            return try request.encode()
        } catch {
            throw BLEError(.invalidMessage, "\(error)", isRetryable: false, cause: error)
        }
    }

    /// Delivers each packet unchanged, as a notification.
    public mutating func decode(_ packet: [UInt8], _ take: (TransactionInput<Key, [UInt8]>) -> Void) {
        take(.notification(packet))
    }

    /// Does nothing, since nothing is kept between packets.
    public mutating func reset() {}
}
