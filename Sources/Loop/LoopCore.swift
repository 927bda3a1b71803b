internal import CGLib
internal import Synchronization
internal import Waiting

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Work for the loop's thread.
enum LoopWork: Sendable {
    case isolated(UnownedJob, UnownedSerialExecutor)
    case task(UnownedJob, UnownedTaskExecutor)
    case closure(@Sendable () -> Void)
}

/// The state that the loop and its thread share. Both retain it, so that neither outlives what it uses.
///
/// Safe to share: state used by several threads is atomic or protected by a mutex, and the rest is used on the thread
/// only.
final class LoopCore: @unchecked Sendable {
    /// What the thread waits with; nil while there are no descriptors for it.
    private let polling = Mutex<LoopPolling?>(nil)
    /// What the thread waits with until then.
    private let parking = ThreadParking()
    private let queue = Mutex<Queue>(Queue())
    /// The thread's identity, which the thread stores before it runs anything.
    private let thread = Atomic<UInt>(0)
    private let hasWork = Atomic<Bool>(false)
    private var batch: [LoopWork] = []
    private let timers = Mutex(TimerQueue<ContinuousClock.Instant, @Sendable () -> Void>())
    /// Whether the thread should end. Used only on the thread.
    private var isStopped = false

    private struct Queue {
        var work: [LoopWork] = []
    }

    private struct StallWatch {
        let threshold: Duration
        let report: @Sendable (Duration) -> Void
    }

    private let stallWatch = Mutex<StallWatch?>(nil)

    var isCurrentThread: Bool {
        thread.load(ordering: .relaxed) == UInt(pthread_self())
    }

    var context: OpaquePointer {
        guard let polling = polling.withLock(\.self) else { preconditionFailure("the loop has no descriptors") }
        return polling.context
    }

    func start(name: String) {
        _ = makePolling()
        let thread = g_thread_new(name, { LoopCore.main($0!) }, Unmanaged.passRetained(self).toOpaque())
        g_thread_unref(thread)
    }

    /// Makes what the thread waits with, unless it exists. Returns false if there are no descriptors. Called on the
    /// thread.
    func prepare() -> Bool {
        if polling.withLock({ $0 != nil }) { return true }
        guard let made = makePolling() else { return false }
        // Connections that are opened on this thread deliver to it.
        g_main_context_push_thread_default(made.context)
        timers.withLock { if let next = $0.next { made.setTimer(next) } }
        return true
    }

    private func makePolling() -> LoopPolling? {
        guard let made = LoopPolling() else { return nil }
        // Sources are destroyed with the context, which this object owns.
        let me = Unmanaged.passUnretained(self).toOpaque()
        var actions = BLESourceActions()
        actions.context = me
        actions.ready = {
            Unmanaged<LoopCore>.fromOpaque($0!).takeUnretainedValue().hasWork.load(ordering: .acquiring) ? 1 : 0
        }
        actions.run = { context, _ in Unmanaged<LoopCore>.fromOpaque(context!).takeUnretainedValue().runQueue() }
        g_source_unref(ble_source_attach(made.context, -1, GIOCondition(rawValue: 0), actions))

        var expiry = BLESourceActions()
        expiry.context = me
        expiry.ready = { _ in 0 }
        expiry.run = { context, _ in Unmanaged<LoopCore>.fromOpaque(context!).takeUnretainedValue().expire() }
        g_source_unref(ble_source_attach(made.context, made.timer.rawValue, G_IO_IN, expiry))
        polling.withLock { $0 = made }
        return made
    }

    private static let main: @Sendable (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = { argument in
        let core = Unmanaged<LoopCore>.fromOpaque(argument).takeRetainedValue()
        core.thread.store(UInt(pthread_self()), ordering: .relaxed)
        if let polling = core.polling.withLock(\.self) {
            g_main_context_push_thread_default(polling.context)
        } else {
            core.runWithoutDescriptors()
        }
        if let polling = core.polling.withLock(\.self) {
            if !core.isStopped { g_main_loop_run(polling.mainLoop) }
            while core.runBatch() {}
            g_main_context_pop_thread_default(polling.context)
        }
        return nil
    }

    /// Runs enqueued work and expired timers, until the thread ends or can wait for descriptors.
    private func runWithoutDescriptors() {
        while polling.withLock({ $0 == nil }) {
            runQueue()
            runDue()
            if isStopped {
                while runBatch() {}
                return
            }
            guard !hasWork.load(ordering: .acquiring), polling.withLock({ $0 == nil }) else { continue }
            parking.park(until: timers.withLock { $0.next })
        }
    }

    /// Wakes the thread, from another one, to check its work and its deadlines.
    private func wake() {
        guard let polling = polling.withLock(\.self) else { return parking.unpark() }
        g_main_context_wakeup(polling.context)
    }

    func stop() {
        enqueue(
            .closure { [self] in
                isStopped = true
                polling.withLock { if let polling = $0 { g_main_loop_quit(polling.mainLoop) } }
            })
    }

    // MARK: Timers

    func addTimer(_ deadline: ContinuousClock.Instant, _ work: @escaping @Sendable () -> Void) -> UInt64 {
        timers.withLock { timers in
            let number = timers.add(deadline, work)
            if timers.next == deadline { setTimer(deadline) }
            return number
        }
    }

    func removeTimer(_ number: UInt64) { timers.withLock { _ = $0.remove(number) } }
    var timerCount: Int { timers.withLock { $0.count } }

    /// Sets the timer, without waking the loop. Called from any thread.
    private func setTimer(_ deadline: ContinuousClock.Instant) {
        guard let polling = polling.withLock(\.self) else { return parking.unpark() }
        polling.setTimer(deadline)
    }

    private func expire() {
        polling.withLock(\.self)?.clearTimer()
        runDue()
    }

    private func runDue() {
        let due = timers.withLock { timers in
            let due = timers.takeDue(at: .now)
            if let next = timers.next { polling.withLock(\.self)?.setTimer(next) }
            return due
        }
        for work in due { work() }
        // The work that they have enqueued runs without another turn of the loop.
        runQueue()
    }

    func onStall(_ threshold: Duration, _ report: @escaping @Sendable (Duration) -> Void) {
        stallWatch.withLock { $0 = StallWatch(threshold: threshold, report: report) }
    }

    private func checkStall(since start: ContinuousClock.Instant) {
        let time = ContinuousClock.now - start
        guard let watch = stallWatch.withLock({ $0 }), time > watch.threshold else { return }
        watch.report(time)
    }

    func enqueue(_ work: LoopWork) {
        let wasEmpty = queue.withLock { queue in
            queue.work.append(work)
            return queue.work.count == 1
        }
        guard wasEmpty else { return }
        hasWork.store(true, ordering: .releasing)
        if !isCurrentThread { wake() }
    }

    /// The maximum number of batches to run before the loop looks at its descriptors again.
    private static let batchesPerTurn = 16

    /// Runs the enqueued work, and the work that it enqueues: a task that moves from actor to actor takes a dozen
    /// steps, and each turn of the loop is a system call.
    func runQueue() {
        guard hasWork.load(ordering: .acquiring) else { return }
        let start = ContinuousClock.now
        var batches = 0
        while batches < Self.batchesPerTurn, runBatch() { batches += 1 }
        checkStall(since: start)
    }

    /// Runs the work that is enqueued now. Returns false if there was none.
    func runBatch() -> Bool {
        hasWork.store(false, ordering: .sequentiallyConsistent)
        queue.withLock { swap(&$0.work, &batch) }
        guard !batch.isEmpty else { return false }
        for work in batch {
            switch work {
            case .isolated(let job, let executor): job.runSynchronously(on: executor)
            case .task(let job, let executor): job.runSynchronously(on: executor)
            case .closure(let closure): closure()
            }
        }
        batch.removeAll(keepingCapacity: true)
        return true
    }
}
