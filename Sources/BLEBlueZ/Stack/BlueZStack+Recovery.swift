internal import BLE
internal import DBus
internal import Logging

/// Recovery after bluetoothd or the bus has stopped and returned.
///
/// The roles resume their own operations; this part reconnects to bluetoothd.
extension BlueZStack {
    /// Handles a new owner of bluetoothd's name, or the lack of one.
    func ownerChanged() {
        // This also applies if another process has taken the name, because it does not have the former owner's state.
        // The bus has answered what the former owner had left unanswered.
        lostEarlier = 0
        lose("bluetoothd has stopped")
        recover()
    }

    /// Handles the loss of the connection to the bus.
    func loseBus(_ message: String = "the connection to the message bus was lost") {
        lose(message)
        recover()
    }

    /// How long to trust the bus's report that bluetoothd's name has no owner.
    private static let ownerCheck = Duration.seconds(30)

    /// Retries until there is a bus and bluetoothd has listed its objects, with pauses from 0.1 s up to 5 s. Makes no
    /// attempt while bluetoothd's name has no owner, because the bus signals a new owner.
    func recoverUntilRunning() async {
        var pauses = Backoff(initial: .milliseconds(100), factor: 2, maximum: .seconds(5)).pauses
        while isWanted, !isRunning, !Task.isCancelled {
            do throws(DBusError) {
                if await session?.isOpen != true { try await openBus() }
                guard await session?.owner != nil else {
                    guard (try? await clock.sleep(for: Self.ownerCheck)) != nil else { return }
                    try await session?.askOwner(timeout: Self.promptly)
                    continue
                }
                try await snapshot()
            } catch {
                logger.debug("bluetoothd is not back yet", metadata: ["error": "\(error)"])
                guard await pauses.wait(clock) else { return }
            }
        }
        if isRunning, isWanted { await resume() }
    }
}
