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

    private let descriptor: FileDescriptor
    private let loop: EventLoop
    private let onReady: () -> Void
    private var source: UnsafeMutablePointer<GSource>?

    /// - Parameter onReady: called on the loop's thread each time that the descriptor is found ready.
    package init(
        _ descriptor: FileDescriptor, on loop: EventLoop, for readiness: Readiness, onReady: @escaping () -> Void
    ) {
        loop.checkIsolated()
        self.descriptor = descriptor
        self.loop = loop
        self.onReady = onReady
        var actions = BLESourceActions()
        actions.context = Unmanaged.passUnretained(self).toOpaque()
        actions.ready = { _ in 0 }
        actions.run = { me, _ in Unmanaged<DescriptorWatch>.fromOpaque(me!).takeUnretainedValue().run() }
        let condition = readiness == .reading ? G_IO_IN : G_IO_OUT
        source = ble_source_attach(loop.context, descriptor.rawValue, condition, actions)
    }

    deinit {
        // The source does not retain the watch, so the watch must be cancelled first.
        assert(source == nil, "dropped while watching")
    }

    private func run() {
        withExtendedLifetime(self) {
            onReady()
            // The work that this has started runs immediately, without another turn of the loop.
            loop.runPending()
        }
    }

    /// Stops watching.
    package func cancel() {
        loop.checkIsolated()
        guard let source else { return }
        g_source_destroy(source)
        g_source_unref(source)
        self.source = nil
    }
}
