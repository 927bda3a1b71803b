public import BLE

/// A transfer of a file, as a sequence of its progress.
///
/// Iterating starts it, and leaving the loop or cancelling the task ends it; the receiver keeps what it has. The
/// sequence ends when the receiver has the whole file, with the right checksum. A slow reader misses progress, but not
/// the last one. Each iteration is a transfer of its own.
public struct FileTransfer: AsyncSequence, Sendable {
    /// The type of element produced by the sequence.
    public typealias Element = TransferProgress
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    private let run: ProgressIterator<TransferProgress>.Work

    init(_ run: @escaping ProgressIterator<TransferProgress>.Work) { self.run = run }

    /// Transfers everything, and returns when the receiver has it.
    public func finish() async throws(BLEError) {
        for try await _ in self {}
    }

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(base: ProgressIterator(run)) }

    /// An iterator over the progress.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: ProgressIterator<TransferProgress>

        /// Returns the next progress, or nil at the end.
        public mutating func next() async throws(BLEError) -> TransferProgress? {
            try await base.next(isolation: #isolation)
        }

        /// Returns the next progress, or nil at the end, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> TransferProgress? {
            try await base.next(isolation: actor)
        }
    }
}
