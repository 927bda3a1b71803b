internal import CGLib

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// What the thread of an event loop waits with: a GLib main context, and a timer of the kernel.
///
/// Safe to share: it is never changed, and both are safe to use from any thread.
final class LoopPolling: @unchecked Sendable {
    let context: OpaquePointer
    let mainLoop: OpaquePointer
    /// Expires at the next deadline.
    let timer: FileDescriptor

    /// Returns nil if the process can have no more descriptors.
    init?() {
        // GLib ends the process if it cannot open a descriptor.
        guard FileDescriptor.areAvailable() else { return nil }
        timer = FileDescriptor(owning: ble_timer_create())
        guard timer.rawValue >= 0 else { return nil }
        context = g_main_context_new()
        mainLoop = g_main_loop_new(context, 0)
    }

    deinit {
        g_main_loop_unref(mainLoop)
        g_main_context_unref(context)
    }

    func setTimer(_ deadline: ContinuousClock.Instant) {
        // Zero would stop the timer.
        let (seconds, attoseconds) = max(ContinuousClock.now.duration(to: deadline), .nanoseconds(1)).components
        ble_timer_set(timer.rawValue, Int(clamping: seconds), Int(attoseconds / 1_000_000_000))
    }

    /// Reads the timer after it has expired, so that it is not reported again.
    func clearTimer() {
        var expirations: UInt64 = 0
        _ = read(timer.rawValue, &expirations, 8)
    }
}

/// Lets a thread wait for others without a descriptor.
///
/// Safe to share: everything is protected by the mutex.
final class ThreadParking: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<GMutex>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<GCond>.allocate(capacity: 1)
    private var isUnparked = false

    init() {
        g_mutex_init(mutex)
        g_cond_init(condition)
    }

    deinit {
        g_cond_clear(condition)
        g_mutex_clear(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Returns after ``unpark()``, even if that was called before, or at the deadline.
    func park(until deadline: ContinuousClock.Instant?) {
        g_mutex_lock(mutex)
        defer { g_mutex_unlock(mutex) }
        while !isUnparked {
            guard let deadline else {
                g_cond_wait(condition, mutex)
                continue
            }
            // In microseconds, at most an hour at a time: this clock and the deadline's differ by the time for which
            // the machine was suspended.
            let left = min(ContinuousClock.now.duration(to: deadline).milliseconds, 3_600_000) * 1000
            guard left > 0 else { return }
            _ = g_cond_wait_until(condition, mutex, g_get_monotonic_time() + left)
        }
        isUnparked = false
    }

    func unpark() {
        g_mutex_lock(mutex)
        isUnparked = true
        g_cond_signal(condition)
        g_mutex_unlock(mutex)
    }
}
