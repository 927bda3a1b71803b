internal import BLE

extension SMPSession {
    /// Uploads everything, and reports the progress.
    func upload(_ plan: UploadPlan, _ report: @Sendable (UploadProgress) -> Void) async throws(BLEError) {
        var best = 0
        var retries = UploadRetries(reconnects: plan.reconnects)
        var machine: UploadMachine?
        var isRefused = false
        while true {
            do throws(BLEError) {
                // After a refusal, the same request follows, and not the beginning.
                let known = isRefused ? machine?.acknowledged : nil
                isRefused = false
                let found = if let known { known } else { try await plan.findOffset?(self) ?? 0 }
                let offset = found > 0 ? found : nil
                if machine == nil {
                    machine = UploadMachine(total: plan.bytes.count, window: try await window(), offset: offset)
                } else {
                    machine?.didLose(offset: offset)
                }
                try await run(plan, &machine!) { acknowledged in
                    // The counts are of failures without progress in between.
                    if acknowledged > best {
                        best = acknowledged
                        retries = UploadRetries(reconnects: plan.reconnects)
                    }
                    report(UploadProgress(sentBytes: acknowledged, totalBytes: plan.bytes.count))
                }
                return
            } catch {
                if Task.isCancelled { throw .cancelled }
                guard let retry = retries.next(after: error, hasBegun: machine != nil) else { throw error }
                if case .sameRequest = retry { isRefused = true }
                if retry.pause > .zero {
                    guard (try? await clock.sleep(for: retry.pause)) != nil else { throw .cancelled }
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

/// Decides whether an upload, or the question before it, goes on after an error. Counts the errors without progress.
struct UploadRetries: Sendable {
    /// How an upload goes on.
    enum Retry: Hashable, Sendable {
        /// With the same request, which the device has refused for the moment.
        case sameRequest(after: Duration)
        /// With the question for the offset, on the same link.
        case sameLink
        /// With the question for the offset, on the next link.
        case nextLink

        /// The pause before it.
        var pause: Duration {
            switch self {
            case .sameRequest(let pause): pause
            case .sameLink: .zero
            case .nextLink: .seconds(1)
            }
        }
    }

    /// How often a chunk is sent again on the same link, if there is no response.
    private static let maximumTimeouts = 3
    /// The pauses before a request that the device has refused for the moment is sent again: 39.5 s together, in which
    /// another central's silence ends (``Holder/silenceTimeout``).
    private static let pauses = Backoff(initial: .milliseconds(500), factor: 2, maximum: .seconds(8))
    private static let maximumPauses = 8

    private let reconnects: Int
    private var losses = 0, timeouts = 0, refusals = 0

    init(reconnects: Int) { self.reconnects = reconnects }

    /// Returns how the upload goes on. Nil if it ends with the error.
    ///
    /// - Parameter hasBegun: whether the device has answered before.
    mutating func next(after error: BLEError, hasBegun: Bool = false) -> Retry? {
        if error.managementFailure?.isTemporary == true, refusals < Self.maximumPauses {
            refusals += 1
            return .sameRequest(after: Self.pauses.pause(afterFailures: refusals))
        }
        if error.code == .timedOut, hasBegun, timeouts < Self.maximumTimeouts {
            timeouts += 1
            return .sameLink
        }
        guard error.isRetryable, error.code != .managementFailed, losses < reconnects else { return nil }
        losses += 1
        return .nextLink
    }
}
