internal import BLE
internal import Waiting

/// Writes the waiting requests, one after another, over a link with notifications enabled.
extension TransactionSession {
    /// Starts to write the requests that may be written, one after another.
    func writeNext() {
        guard writing == nil, end == nil, !requests.isEmpty else { return }
        // Runs on the central's thread: without the preference, each wait would switch to another thread.
        writing = Task(executorPreference: peripheral.central.taskExecutor) { await self.writeUntilDone() }
    }

    private func writeUntilDone() async {
        await writeAll()
        writing = nil
        if queue.hasNext { writeNext() }
    }

    private func writeAll() async {
        while end == nil {
            isConnecting = true
            let result = await connected()
            isConnecting = false
            // Cancelled when the last request was abandoned. Later requests start again.
            if Task.isCancelled { return }
            do throws(BLEError) {
                let limit = try result.get()
                guard queue.hasNext else { return }
                // The link may have ended since.
                if listening == nil { continue }
                guard let id = queue.next(), let request = requests[id] else { return }
                requests[id]?.isUnderWay = true
                // In the step in which it is released: the grace period of a request that is given up from now on
                // begins after the write.
                written = id
                await write(id, request, limit)
            } catch {
                for id in queue.removeWaiting() { settle(id, .failure(error)) }
                return
            }
        }
    }

    /// Ensures that there is a link with notifications enabled. Returns the maximum length of a request.
    private func connected() async -> Result<Int, BLEError> {
        do throws(BLEError) {
            if listening != nil, await peripheral.connectionState != .connected {
                // The end of the link, with its reason, is about to be reported.
                guard configuration.outlastsLinks else { throw try await untilClosed() }
                interrupt(BLEError(.disconnected, "the link has ended", peripheral: peripheral.id))
            }
            try await start()
            return .success(try await lengthLimit())
        } catch {
            return .failure(error)
        }
    }

    private func lengthLimit() async throws(BLEError) -> Int {
        guard configuration.longFrames == .refuse else { return .max }
        do throws(BLEError) {
            return try await peripheral.maximumWriteLength(for: .withoutResponse)
        } catch {
            // The system does not report a maximum.
            if error.code == .notSupported { return .max }
            throw error
        }
    }

    private func write(_ id: Int, _ request: Request, _ limit: Int) async {
        // It may have ended before this begins.
        guard requests[id] != nil else {
            written = nil
            return queue.finish(id, request.key)
        }
        let bytes: [UInt8]
        do throws(BLEError) {
            bytes = try codec.encode(request.request)
            guard bytes.count <= limit else { throw tooLong(bytes.count, limit) }
        } catch {
            // Nothing was written, so no reply is expected.
            written = nil
            queue.finish(id, request.key)
            return settle(id, .failure(error))
        }
        do throws(BLEError) {
            try await peripheral.writeBytes(
                bytes, to: configuration.request, type: configuration.writeType, timeout: configuration.replyTimeout,
                connecting: false)
            written = nil
            counters.written += 1
            if !request.isAnswered {
                queue.finish(id, request.key)
                settle(id, .success(nil))
            } else if requests[id] == nil, queue.isLate(id, request.key) {
                beginGrace(id, request.key)
            }
        } catch {
            written = nil
            // A rejected request has no reply. After any other error, the peripheral may have received the request.
            if error.attError != nil {
                queue.finish(id, request.key)
            } else if requests[id] == nil, queue.isLate(id, request.key) {
                beginGrace(id, request.key)
            }
            // The request's own deadline, which has the same error, may be due at the same time.
            if error.code == .timedOut {
                if requests[id]?.problem == nil { requests[id]?.problem = error }
                timeOut(id, after: configuration.replyTimeout)
            } else {
                requests[id]?.outcome.deliver(.failure(error))
            }
        }
    }

    private func tooLong(_ count: Int, _ limit: Int) -> BLEError {
        BLEError(
            .invalidLength, "the request has \(count) bytes, but a packet only \(limit)", peripheral: peripheral.id,
            isRetryable: false, remedy: "Send shorter requests, or allow long writes with longFrames.")
    }
}
