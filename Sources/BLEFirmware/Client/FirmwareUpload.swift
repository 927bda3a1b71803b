public import BLE

/// The progress of an upload.
public struct UploadProgress: Hashable, Sendable {
    /// The number of bytes that the device has acknowledged.
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

    /// Starts the upload, which ends with the stream. What the function holds lasts as long as the iteration.
    let start: @Sendable () async -> AsyncThrowingStream<UploadProgress, any Error>

    /// Uploads everything, and returns when the device has it.
    public func finish() async throws(BLEError) {
        for try await _ in self {}
    }

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(start: start) }

    /// An iterator over the progress.
    public struct Iterator: AsyncIteratorProtocol {
        private let start: @Sendable () async -> AsyncThrowingStream<UploadProgress, any Error>
        private var base: AsyncThrowingStream<UploadProgress, any Error>.AsyncIterator?

        fileprivate init(start: @escaping @Sendable () async -> AsyncThrowingStream<UploadProgress, any Error>) {
            self.start = start
        }

        /// Returns the next progress, or nil at the end.
        public mutating func next() async throws(BLEError) -> UploadProgress? {
            try await next(isolation: #isolation)
        }

        /// Returns the next progress, or nil at the end, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> UploadProgress? {
            if Task.isCancelled { throw .cancelledRequest }
            if base == nil { base = await start().makeAsyncIterator() }
            do {
                if let progress = try await base?.next(isolation: actor) { return progress }
            } catch {
                throw error as? BLEError ?? BLEError(.failed, "the upload failed: \(error)", cause: error)
            }
            // A stream ends without an error when its reader is cancelled.
            if Task.isCancelled { throw .cancelledRequest }
            return nil
        }
    }
}

/// What is uploaded, and how.
struct UploadPlan: Sendable {
    let bytes: [UInt8]
    let command: SMPCommand
    /// The maximum number of bytes in the first request. They are sent again when an upload goes on.
    var firstLength: Int?
    let firstTimeout: Duration
    let reconnects: Int
    /// Returns the number of bytes that the device has. Nil if the first response tells it.
    var findOffset: (@Sendable (SMPSession) async throws(BLEError) -> Int)?
    /// Returns the fields of the request at an offset, without its data.
    let fields: @Sendable (_ offset: Int) -> CBORMap

    /// Returns the request at an offset, as long as it can be.
    func request(at offset: Int, frameLength: Int) throws(BLEError) -> (fields: CBORMap, range: Range<Int>) {
        var fields = fields(offset)
        fields["data"] = .bytes([])
        let room = frameLength - SMPHeader.size - CBOR.map(fields).encoded().count
        // The length of the data takes up to 4 bytes more than that of no data.
        var count = max(0, room)
        while count > 0, count + CBOR.headCount(count) - 1 > room { count -= 1 }
        count = min(count, bytes.count - offset)
        if offset == 0, let firstLength {
            guard count >= min(firstLength, bytes.count) else { throw Self.tooShort(frameLength) }
            count = min(count, firstLength)
        }
        guard count > 0 || bytes.isEmpty else { throw Self.tooShort(frameLength) }
        let range = offset..<offset + count
        fields["data"] = .bytes(Array(bytes[range]))
        return (fields, range)
    }

    private static func tooShort(_ frameLength: Int) -> BLEError {
        BLEError(
            .invalidLength, "frames of \(frameLength) bytes are too short for an upload", isRetryable: false,
            remedy: "Use a link with a larger MTU, or enable reassembly in the device.")
    }
}

extension SMPSession {
    /// Starts an upload in a task, which ends with the stream.
    func start(_ plan: UploadPlan) -> AsyncThrowingStream<UploadProgress, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: UploadProgress.self, bufferingPolicy: .bufferingNewest(1))
        let task = Task {
            do throws(BLEError) {
                try await upload(plan) { continuation.yield($0) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// How often a chunk is sent again on the same link, if there is no response.
    private static let maximumTimeouts = 3

    private func upload(_ plan: UploadPlan, _ report: (UploadProgress) -> Void) async throws(BLEError) {
        var (losses, timeouts, best) = (0, 0, 0)
        var machine: UploadMachine?
        while true {
            do throws(BLEError) {
                let found = try await plan.findOffset?(self) ?? 0
                let offset = found > 0 ? found : nil
                if machine == nil {
                    machine = UploadMachine(total: plan.bytes.count, window: try await window(), offset: offset)
                } else {
                    machine?.didLose(offset: offset)
                }
                try await run(plan, &machine!) { acknowledged in
                    // The counts are of failures without progress in between.
                    if acknowledged > best { (best, losses, timeouts) = (acknowledged, 0, 0) }
                    report(UploadProgress(sentBytes: acknowledged, totalBytes: plan.bytes.count))
                }
                return
            } catch {
                if Task.isCancelled { throw .cancelledRequest }
                if error.code == .timedOut, machine != nil, timeouts < Self.maximumTimeouts {
                    timeouts += 1
                } else if error.isRetryable, error.code != .managementFailed, losses < plan.reconnects {
                    losses += 1
                    guard (try? await clock.sleep(for: .seconds(1))) != nil else { throw .cancelledRequest }
                } else {
                    throw error
                }
            }
        }
    }

    /// Uploads what is missing.
    private func run(
        _ plan: UploadPlan, _ machine: inout UploadMachine, _ report: (Int) -> Void
    ) async throws(BLEError) {
        var inFlight: [Int] = []
        defer { for id in inFlight { abandon(id) } }
        let frameLength = try await frameLength()
        if machine.acknowledged > 0 { report(machine.acknowledged) }
        while !machine.isComplete {
            while let offset = machine.nextOffset {
                let (fields, range) = try plan.request(at: offset, frameLength: frameLength)
                let timeout = offset == 0 ? plan.firstTimeout : nil
                inFlight.append(try submit(.write, plan.command, fields, timeout: timeout))
                machine.didSend(range)
            }
            let response = try await response(to: inFlight.removeFirst())
            try check(response)
            let offset = try response.required("off", \.integer)
            do throws(UploadMachine.Failure) {
                try machine.didReceive(offset: offset)
            } catch {
                throw place(BLEError(.uploadFailed, error.message, isRetryable: false))
            }
            if machine.isComplete, response["match"]?.bool == false {
                throw place(
                    BLEError(
                        .uploadFailed, "the device received something else than was sent", isRetryable: true,
                        remedy: "Upload the image again."))
            }
            report(machine.acknowledged)
        }
    }
}

extension UploadMachine.Failure {
    fileprivate var message: String {
        switch self {
        case .stalled(let offset): "the device does not accept the data at offset \(offset)"
        case .invalidOffset(let offset): "the device asks for data at offset \(offset), past the end"
        }
    }
}
