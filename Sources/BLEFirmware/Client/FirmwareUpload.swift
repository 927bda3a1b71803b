public import BLE

/// The progress of an upload.
public struct UploadProgress: Hashable, Sendable {
    /// The number of bytes that the device has acknowledged, 0 to ``totalBytes``.
    public var sentBytes: Int
    /// The number of bytes of the image or the file.
    public var totalBytes: Int

    /// The part that was sent, 0 to 1.
    public var fraction: Double { totalBytes == 0 ? 1 : Double(sentBytes) / Double(totalBytes) }
}

/// An upload, as a sequence of its progress.
///
/// Iterating starts it, and leaving the loop or cancelling the task ends it; the device keeps what it has. The sequence
/// ends when the device has everything. A slow reader misses progress, but not the last one. Each iteration is an
/// upload of its own.
public struct FirmwareUpload: AsyncSequence, Sendable {
    /// The type of element produced by the sequence.
    public typealias Element = UploadProgress
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    private let run: ProgressIterator<UploadProgress>.Work

    init(_ run: @escaping ProgressIterator<UploadProgress>.Work) { self.run = run }

    /// Uploads everything, and returns when the device has it. Throws what the iteration throws.
    public func finish() async throws(BLEError) {
        for try await _ in self {}
    }

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(base: ProgressIterator(run)) }

    /// An iterator over the progress.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: ProgressIterator<UploadProgress>

        /// Returns the next progress, or nil at the end.
        public mutating func next() async throws(BLEError) -> UploadProgress? {
            try await base.next(isolation: #isolation)
        }

        /// Returns the next progress, or nil at the end, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> UploadProgress? {
            try await base.next(isolation: actor)
        }
    }
}
