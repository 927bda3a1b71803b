internal import BLE

/// What waits is written, one after the other, over a link that is listened to.
extension TransactionSession {
    /// Writes what may be written, one after the other.
    func writeNext() {
        guard writing == nil, end == nil, !requests.isEmpty else { return }
        writing = Task {
            await writeAll()
            writing = nil
            if queue.hasNext { writeNext() }
        }
    }

    private func writeAll() async {
        while end == nil {
            isConnecting = true
            let result = await connected()
            isConnecting = false
            // Cancelled by the last who wanted the link; those who have come since begin anew.
            if Task.isCancelled { return }
            do throws(BLEError) {
                let limit = try result.get()
                guard let id = queue.next() else { return }
                requests[id]?.isUnderWay = true
                await write(id, limit)
            } catch {
                for id in queue.removeWaiting() { settle(id, .failure(error)) }
                return
            }
        }
    }

    /// Sees to it that there is a link that is listened to; the most bytes that a request may have there.
    private func connected() async -> Result<Int, BLEError> {
        do throws(BLEError) {
            if listening != nil, await peripheral.connectionState != .connected {
                // The link's end is on its way here, with its reason.
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
            // A system that cannot tell.
            if error.code == .notSupported { return .max }
            throw error
        }
    }

    private func write(_ id: Int, _ limit: Int) async {
        guard let request = requests[id] else { return }
        do throws(BLEError) {
            let bytes = try codec.encode(request.request)
            guard bytes.count <= limit else { throw tooLong(bytes.count, limit) }
            await write(bytes, of: id, request)
        } catch {
            // Nothing was written, so no reply is to be expected.
            queue.finish(id, request.key)
            settle(id, .failure(error))
        }
    }

    private func write(_ bytes: [UInt8], of id: Int, _ request: Request) async {
        written = id
        do throws(BLEError) {
            try await peripheral.write(
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
            // What the peripheral has refused it does not answer; whether it has got anything else nobody knows.
            if error.attError != nil {
                queue.finish(id, request.key)
            } else if requests[id] == nil, queue.isLate(id, request.key) {
                beginGrace(id, request.key)
            }
            requests[id]?.outcome.deliver(.failure(error))
        }
    }

    private func tooLong(_ count: Int, _ limit: Int) -> BLEError {
        BLEError(
            .invalidLength, "the request has \(count) bytes, and one packet takes \(limit)", peripheral: peripheral.id,
            isRetryable: false, remedy: "Send less at a time, or let long frames be written in parts.")
    }
}
