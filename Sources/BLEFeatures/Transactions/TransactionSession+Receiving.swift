internal import BLE
internal import Logging

/// Delivers the peripheral's messages to the requests and streams that wait for them.
extension TransactionSession {
    func listen() async throws(BLEError) {
        let stream = try await peripheral.notifications(
            configuration.reply.bytes, overflow: .fail(capacity: configuration.bufferedPackets))
        try checkOpen()
        guard listening == nil else { return }
        let (number, events) = (token(), stream.events)
        let task = Task(executorPreference: peripheral.central.taskExecutor) { [weak self] in
            // Several steps: this listening is known by its number.
            do throws(BLEError) {
                for try await event in events { await self?.take(event, number) }
                await self?.listeningEnded(number, BLEError(.disconnected, "the notifications have ended"))
            } catch {
                await self?.listeningEnded(number, error)
            }
        }
        listening = (number, task)
    }

    private func take(_ event: NotificationEvent<[UInt8]>, _ number: Int) {
        guard listening?.number == number else { return }
        switch event {
        case .value(let packet):
            counters.packets += 1
            codec.decode(packet) { input in
                take(input)
            }
            writeNext()
        case .gap(let error):
            interrupt(error)
        }
    }

    private func take(_ input: TransactionInput<Codec.Key, Codec.Reply>) {
        switch input {
        case .reply(let key, let reply):
            switch queue.reply(key) {
            case .request(let id):
                counters.replies += 1
                settle(id, .success(reply))
            case .late(let id):
                counters.late += 1
                graces.removeValue(forKey: id)?.cancel()
            case .none:
                counters.unmatched += 1
                note(BLEError(.invalidMessage, "an unexpected reply arrived", peripheral: peripheral.id))
            }
        case .failure(let key, let error):
            let error = error.at(peripheral.id)
            fail(key, error)
            counters.malformed += 1
            note(error)
        case .rejection(let key, let error):
            counters.rejections += 1
            if !fail(key, error.at(peripheral.id)) { note(error.at(peripheral.id)) }
        case .notification(let reply):
            counters.notifications += 1
            listeners.tell(reply)
        case .malformed(let error):
            counters.malformed += 1
            note(error.at(peripheral.id))
        }
    }

    /// Ends the wait for a reply. Returns false if there is none.
    @discardableResult private func fail(_ key: Codec.Key, _ error: BLEError) -> Bool {
        switch queue.reply(key) {
        case .request(let id): settle(id, .failure(error))
        case .late(let id): graces.removeValue(forKey: id)?.cancel()
        case .none: return false
        }
        return true
    }

    private func listeningEnded(_ number: Int, _ error: BLEError) {
        guard listening?.number == number else { return }
        interrupt(error)
    }

    /// Ends the requests in progress, because the link has ended. Waiting requests end with the session, or wait for
    /// the next link.
    func interrupt(_ error: BLEError) {
        guard end == nil else { return }
        guard configuration.outlastsLinks, error.code != .shutDown else { return close(error) }
        listening?.task.cancel()
        listening = nil
        codec.reset()
        endGraces()
        for id in queue.interrupt() { settle(id, .failure(error)) }
        writeNext()
    }

    /// Reports a problem, and records it for the requests in progress, because it may be the reason for a missing
    /// reply.
    private func note(_ error: BLEError) {
        for id in requests.keys where requests[id]?.isUnderWay == true { requests[id]?.problem = error }
        listeners.tell(error)
        peripheral.central.configuration.logger.debug(
            "invalid input", metadata: ["peripheral": "\(peripheral.id)", "error": "\(error)"])
    }
}
