internal import CLoop
internal import Synchronization

/// Closes unrequested descriptors on a thread of its own.
///
/// Any user of a bus can send descriptors to any connection, and closing a descriptor can take as long as its sender
/// wants: it may be a socket that lingers, or a file of a file system that the sender runs.
package final class DescriptorReaper: Sendable {
    package static let shared = DescriptorReaper()

    /// The maximum number of descriptors that wait.
    private static let capacity = 256

    private struct State {
        var waiting: [FileDescriptor] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    /// Closes descriptors soon, if nothing else holds them. Returns false if so many are waiting that a sender must be
    /// blocking the thread; the new ones then wait, too.
    package func close(_ descriptors: [FileDescriptor]) -> Bool {
        guard !descriptors.isEmpty else { return true }
        let (isFirst, hasRoom) = state.withLock { state in
            state.waiting += descriptors
            defer { state.isRunning = true }
            return (!state.isRunning, state.waiting.count <= Self.capacity)
        }
        if isFirst, !SystemThread.start("descriptors", { self.run() }) { state.withLock { $0.isRunning = false } }
        return hasRoom
    }

    private func run() {
        while true {
            // One at a time: the others still count as waiting.
            let next: FileDescriptor? = state.withLock { state in
                if state.waiting.isEmpty { state.isRunning = false }
                return state.waiting.popLast()
            }
            guard let next else { return }
            ble_disarm_linger(next.rawValue)
        }
    }
}
