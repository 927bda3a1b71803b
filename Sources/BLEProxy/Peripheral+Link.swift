internal import BLE

extension Peripheral {
    /// Makes a link, follows it until its end, and returns why it ended, or why it could not be made. Ends the link if
    /// the task is cancelled, and returns `cancelled` then, unless the link could not be ended.
    ///
    /// The peripheral has no link when it returns, also if something has connected it again meanwhile.
    func followLink(timeout: Duration? = nil, onLink: () async -> Void) async -> BLEError {
        let events = await connectionEvents()
        var reason: BLEError?
        do throws(BLEError) {
            try await connect(timeout: timeout)
            await onLink()
            reason = try await Self.end(in: events)
        } catch {
            reason = error
        }
        let isCancelled = Task.isCancelled
        let ended = reason ?? (isCancelled ? .cancelled : BLEError(.disconnected, "the link has ended"))
        let state = await connectionState
        guard isCancelled || state != .disconnected else { return ended }
        // Not cancelled: the peripheral is free when its link, or the attempt to connect, has ended.
        let ending = Task { () async -> BLEError? in
            do throws(BLEError) { try await disconnect() } catch { return error }
            return nil
        }
        guard let failure = await ending.value, ended.isCancellation else { return ended }
        return failure
    }

    /// Returns why a link has ended. Nil if the events end before.
    private static func end(in events: BoundedStream<ConnectionEvent>) async throws(BLEError) -> BLEError? {
        for try await event in events {
            switch event {
            // If the link could not be ended, the central does not use it any more, either.
            case .disconnected(let error), .disconnectFailed(let error): return error
            default: break
            }
        }
        return nil
    }
}
