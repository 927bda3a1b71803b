internal import CLoop

/// A thread of the system, for a loop, or for a function that blocks.
package enum SystemThread {
    private final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void

        init(_ name: String, _ run: @escaping @Sendable () -> Void) { (self.name, self.run) = (name, run) }
    }

    /// Starts a thread, which ends when `body` returns. Returns false if the process can have no more threads.
    @discardableResult
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        let body = Unmanaged.passRetained(Body(name, body))
        let result = ble_thread_start(
            { argument in
                let body = Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue()
                ble_thread_set_name(body.name)
                body.run()
                return nil
            }, body.toOpaque())
        if result != 0 { body.release() }
        return result == 0
    }
}
