internal import CGLib

/// A GCancellable.
///
/// Safe to share: GLib documents cancelling as safe from any thread.
final class Cancellable: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<GCancellable> = g_cancellable_new()

    func cancel() { g_cancellable_cancel(pointer) }

    deinit { g_object_unref(UnsafeMutableRawPointer(pointer)) }
}
