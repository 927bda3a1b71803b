internal import CGLib
internal import CLoop
internal import Loop

/// What GDBus needs: a main context in which it calls back, and descriptors.
enum GLib {
    /// Runs on a thread of its own from its first use on.
    private nonisolated(unsafe) static let context: OpaquePointer = {
        nonisolated(unsafe) let context = g_main_context_new()!
        let isStarted = SystemThread.start("gdbus") {
            g_main_context_push_thread_default(context)
            g_main_loop_run(g_main_loop_new(context, 0))
        }
        precondition(isStarted, "the process can have no more threads")
        return context
    }()

    private final class Work {
        let run: () -> Void

        init(_ run: @escaping () -> Void) { self.run = run }
    }

    /// Runs `work` on the context's thread, soon. What GDBus is asked for there, it answers there.
    static func perform(_ work: @escaping @Sendable () -> Void) {
        g_main_context_invoke(
            context,
            { work in
                Unmanaged<Work>.fromOpaque(work!).takeRetainedValue().run()
                return 0
            }, Unmanaged.passRetained(Work(work)).toOpaque())
    }

    /// The number of descriptors that GLib needs to wait or to connect, and a reserve.
    private static let margin = 8

    /// Throws `.exhausted` unless this process can open as many more descriptors as GLib opens without handling a
    /// failure: it ends the process.
    static func checkDescriptors() throws(DBusError) {
        guard (0..<margin).map({ _ in FileDescriptor(owning: ble_event_create()) }).allSatisfy({ $0.rawValue >= 0 })
        else { throw DBusError(LoopError.exhausted) }
    }
}
