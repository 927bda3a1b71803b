internal import BLE

extension Peripheral {
    /// Makes a link, follows it until its end, and returns why it ended, or why it could not be made. Ends the link if
    /// the task is cancelled, and returns `cancelled` then, unless the link could not be ended.
    func followLink(timeout: Duration? = nil, onLink: () async -> Void) async -> BLEError {
        let events = await connectionEvents()
        var reason = BLEError.cancelled
        do throws(BLEError) {
            try await connect(timeout: timeout)
            await onLink()
            for try await event in events {
                switch event {
                // If the link could not be ended, the central does not use it any more, either.
                case .disconnected(let error), .disconnectFailed(let error): return error
                default: break
                }
            }
        } catch {
            reason = error
        }
        guard Task.isCancelled else { return reason }
        // Not cancelled: the peripheral is free when its link, or the attempt to connect, has ended.
        let ending = Task { () async -> BLEError? in
            do throws(BLEError) { try await disconnect() } catch { return error }
            return nil
        }
        return await ending.value ?? reason
    }
}
