internal import CGLib

/// Calls a function on an event loop's thread while a descriptor is ready, until it is cancelled.
///
/// Safe to share: used on the loop's thread only, which each entry point checks.
package final class DescriptorWatch: @unchecked Sendable {
    /// What a descriptor is watched for. Errors and hang-ups are always reported.
    package enum Readiness {
        case reading
        case writing
    }

    /// Nil once it is cancelled.
    private var descriptor: FileDescriptor?
    private let loop: EventLoop
    private let readiness: Readiness
    private var onReady: ((DescriptorWatch) -> Void)?
    private var timer: LoopTimer?
    private var source: UnsafeMutablePointer<GSource>?
    private var retained: DescriptorWatch?

    /// - Parameter onReady: called on the loop's thread each time the descriptor is ready.
    package init(
        _ descriptor: FileDescriptor, on loop: EventLoop, for readiness: Readiness,
        onReady: @escaping (DescriptorWatch) -> Void
    ) {
        loop.checkIsolated()
        self.descriptor = descriptor
        self.loop = loop
        self.readiness = readiness
        self.onReady = onReady
        attach()
    }

    private func attach() {
        guard source == nil, let descriptor else { return }
        var actions = BLESourceActions()
        actions.context = Unmanaged.passUnretained(self).toOpaque()
        actions.ready = { _ in 0 }
        actions.run = { me, _ in Unmanaged<DescriptorWatch>.fromOpaque(me!).takeUnretainedValue().run() }
        let condition = readiness == .reading ? G_IO_IN : G_IO_OUT
        // The source does not retain the watch, which therefore retains itself until it is cancelled.
        retained = self
        source = ble_source_attach(loop.context, descriptor.rawValue, condition, actions)
    }

    private func run() {
        withExtendedLifetime(self) {
            onReady?(self)
            // The work that the function has started runs immediately, without another turn of the loop.
            loop.runPending()
        }
    }

    /// Stops watching for a while, even if the descriptor is ready.
    package func pause(for duration: Duration) {
        loop.checkIsolated()
        detach()
        timer = loop.schedule(after: duration) { [weak self] in self?.attach() }
    }

    /// Stops watching, and releases the descriptor and what `onReady` has captured.
    package func cancel() {
        loop.checkIsolated()
        descriptor = nil
        onReady = nil
        timer?.cancel()
        timer = nil
        detach()
        retained = nil
    }

    private func detach() {
        guard let source else { return }
        g_source_destroy(source)
        g_source_unref(source)
        self.source = nil
    }
}
