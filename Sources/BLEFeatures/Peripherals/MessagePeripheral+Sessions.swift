internal import BLE
internal import Waiting

/// Subscriptions, and the sessions of centrals.
extension MessagePeripheral {
    /// A subscription to the reply characteristic.
    struct Subscription {
        let number: Int
        let notifier: Notifier
    }

    /// Runs sessions while a central is subscribed to the reply characteristic.
    func serve(_ notifier: Notifier) async {
        let key = notifier.central
        lastNumber += 1
        let number = lastNumber
        subscriptions[key] = Subscription(number: number, notifier: notifier)
        // One that this subscription replaces ends without a word: its central goes on.
        sessions.removeValue(forKey: key)?.end()
        await beginSession(key)
        // Until it is cancelled.
        try? await Outcome<Void>().wait()
        guard subscriptions[key]?.number == number else { return }
        subscriptions[key] = nil
        guard let session = sessions.removeValue(forKey: key) else { return }
        session.end()
        await onStep(.ended(session.central))
    }

    /// Ends the session of a central whose link has ended, if its subscription lasts: the system does not tell
    /// subscribers apart, and another central may be subscribed.
    func disconnected(_ central: Peripheral.ID) async {
        guard let session = sessions[nil], session.central == central else { return }
        sessions[nil] = nil
        session.end()
        await onStep(.ended(central))
        await beginSession(nil)
    }

    /// Begins a session for a subscription.
    private func beginSession(_ key: Peripheral.ID?) async {
        guard let subscription = subscriptions[key] else { return }
        var known: [MessageKey] = []
        var begun: Int
        repeat {
            begun = generation
            do throws(BLEError) {
                known = try await pairings.keys()
            } catch {
                known = []
                report(error, key)
            }
            // The subscription may have ended meanwhile, or another session begun.
            guard !Task.isCancelled, subscriptions[key]?.number == subscription.number, sessions[key] == nil else {
                return
            }
        } while generation != begun
        lastNumber += 1
        let number = lastNumber
        sessions[key] = PeripheralSession(
            number: number, central: key, keys: PeripheralLinkKeys(encryption, pairings: known)
        ) { requests, frames in
            Task {
                await withDiscardingTaskGroup { group in
                    group.addTask {
                        for await frame in frames { await self.send(frame, subscription.notifier, key, number) }
                    }
                    group.addTask {
                        for await request in requests { await self.answer(request, key, number) }
                    }
                }
            }
        }
        for outcome in waiting { outcome.deliver(.success(())) }
        waiting = []
    }

    /// Whether a session goes on.
    func isCurrent(_ number: Int, _ key: Peripheral.ID?) -> Bool { sessions[key]?.number == number }

    /// Takes a write to the request characteristic.
    func take(_ frame: [UInt8], _ request: AttributeRequest) async throws(ATTError) {
        await onStep(.received(frame))
        // A request whose write was rejected in the meantime must not be carried out.
        if Task.isCancelled { throw .unlikelyError }
        // A request that comes while the subscription is being made waits for it, or its reply would be lost.
        while sessions[request.central] == nil, sessions[nil as Peripheral.ID?] == nil {
            let outcome = Outcome<Void>()
            waiting.append(outcome)
            do throws(BLEError) {
                try await outcome.wait()
            } catch {
                // The link has ended, or there is no subscription in time.
                waiting.removeAll { $0 === outcome }
                throw .unlikelyError
            }
        }
        if Task.isCancelled { throw .unlikelyError }
        let key = sessions[request.central] == nil ? nil : request.central
        guard sessions[key]?.take(frame, request) == true else { throw .insufficientResources }
    }

    /// Sends a frame in parts.
    private func send(_ frame: [UInt8], _ notifier: Notifier, _ key: Peripheral.ID?, _ number: Int) async {
        guard let session = sessions[key], session.number == number else { return }
        let length = partLength ?? max(20, session.attMTU - 3)
        for start in stride(from: 0, to: frame.count, by: length) {
            let part = Array(frame[start..<min(start + length, frame.count)])
            await onStep(start == 0 ? .sending(frame) : .sendingPart(part))
            // What is left when a session ends would reach the next central.
            guard isCurrent(number, key) else { return }
            await notifier.notify(part)
        }
    }
}
