/// The progress of a transfer.
public struct TransferProgress: Hashable, Sendable {
    /// The number of bytes that the receiver has stored.
    public var transferredBytes: Int
    /// The number of bytes of the file.
    public var totalBytes: Int
    /// The number of bytes that the receiver had when the transfer began on this link: where it went on from.
    public var resumedBytes: Int

    /// Creates progress.
    public init(transferredBytes: Int, totalBytes: Int, resumedBytes: Int = 0) {
        self.transferredBytes = transferredBytes
        self.totalBytes = totalBytes
        self.resumedBytes = resumedBytes
    }

    /// The part that was transferred, 0 to 1.
    public var fraction: Double { totalBytes == 0 ? 1 : Double(transferredBytes) / Double(totalBytes) }
}
