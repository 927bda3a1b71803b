/// Calls a function on an event loop's thread while a descriptor is ready, until it is cancelled. A descriptor has at
/// most one watch at a time.
///
/// Safe to share: used on the loop's thread only, which each entry point checks.
package final class DescriptorWatch: @unchecked Sendable {
    /// What a descriptor is watched for, or ready for, in the bits of `poll`, which are those of `epoll`.
    package struct Readiness: OptionSet, Sendable {
        package let rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }

        package static let reading = Self(rawValue: 0x1)
        package static let writing = Self(rawValue: 0x4)
        /// An error or a hang-up, which is always reported.
        package static let end = Self(rawValue: 0x18)
    }

    /// Nil once it is cancelled.
    private var descriptor: FileDescriptor?
    private let loop: EventLoop
    private var onReady: ((DescriptorWatch, Readiness) -> Void)?
    /// What the loop has been told to wait for. Nil: nothing.
    private var watched: Readiness?
    /// Ends a pause.
    private var timer: LoopTimer?
    /// The turn of the loop in which it is called in any case.
    private var dueTurn: UInt64?
    /// Whether the system cannot wait for the descriptor: it is no socket, pipe or device.
    private var isUnwatchable = false
    /// The loop does not retain the watch, which therefore retains itself until it is cancelled.
    private var retained: DescriptorWatch?

    /// What the descriptor is watched for. Nil: nothing, not even its end.
    package var readiness: Readiness? {
        didSet { update() }
    }

    /// - Parameter onReady: called on the loop's thread each time the descriptor is ready, with what it is ready for.
    package init(
        _ descriptor: FileDescriptor, on loop: EventLoop, for readiness: Readiness?,
        onReady: @escaping (DescriptorWatch, Readiness) -> Void
    ) {
        loop.checkIsolated()
        self.descriptor = descriptor
        self.loop = loop
        self.readiness = readiness
        self.onReady = onReady
        retained = self
        update()
    }

    private func update() {
        loop.checkIsolated()
        let wanted = timer == nil && descriptor != nil ? readiness : nil
        guard wanted != watched, let descriptor, !isUnwatchable else { return }
        switch loop.core.watch(descriptor.rawValue, for: wanted, insteadOf: watched, self) {
        case .done: watched = wanted
        // The system is short of memory for a while.
        case .failed: pause(for: .milliseconds(100))
        case .refused:
            // Its user finds the error when it uses the descriptor.
            isUnwatchable = true
            runAgain()
        }
    }

    /// Calls the function with what it still waits for: another watch may have changed or cancelled this one in the
    /// same turn.
    func run(_ ready: Readiness) {
        guard let onReady else { return }
        let isDue = dueTurn == loop.core.turnNumber
        if isDue { dueTurn = nil }
        let ready = watched.map { ready.intersection($0.union(.end)) } ?? []
        guard !ready.isEmpty || isDue else { return }
        onReady(self, isUnwatchable ? .end : ready)
        // The work that the function has started runs immediately, without another turn of the loop.
        loop.runPending()
    }

    /// Calls the function in the loop's next turn, after others that are ready, even if this descriptor is not: with an
    /// empty set then.
    package func runAgain() {
        loop.checkIsolated()
        let next = loop.core.turnNumber &+ 1
        guard dueTurn != next, descriptor != nil else { return }
        dueTurn = next
        loop.core.runAgain(self)
    }

    /// Stops watching for a while, even if the descriptor is ready.
    package func pause(for duration: Duration) {
        loop.checkIsolated()
        timer = loop.schedule(after: duration) { [weak self] in
            self?.timer = nil
            self?.update()
        }
        update()
    }

    /// Stops watching, and releases the descriptor and what `onReady` has captured.
    package func cancel() {
        loop.checkIsolated()
        guard descriptor != nil else { return }
        timer = nil
        readiness = nil
        descriptor = nil
        onReady = nil
        loop.core.release(self)
        retained = nil
    }
}
