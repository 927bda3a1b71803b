internal import CGLib
internal import Synchronization
internal import Waiting

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// One thread with a GLib main context, to which the bus connection delivers and on which actors can run.
///
/// A callback of the connection enters an actor that returns this loop as its `unownedExecutor` without a switch of
/// threads: the callback already runs on the actor's executor.
///
/// The thread lives as long as the loop object, so that a job enqueued late still runs.
package final class EventLoop: SerialExecutor {
    private let core: Core

    package init(name: String = "dbus") {
        core = Core()
        core.start(name: name)
    }

    deinit {
        core.stop()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        core.enqueue(.isolated(UnownedJob(job), asUnownedSerialExecutor()))
    }

    fileprivate func enqueue(_ job: UnownedJob, of executor: LoopTaskExecutor) {
        core.enqueue(.task(job, executor.asUnownedTaskExecutor()))
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    package func isIsolatingCurrentContext() -> Bool? {
        core.isCurrentThread
    }

    package func checkIsolated() {
        precondition(core.isCurrentThread, "not on the event loop's thread")
    }

    /// Whether the current thread is the loop's.
    package var isCurrent: Bool { core.isCurrentThread }

    /// Runs `work` on the loop's thread, soon. May be called from any thread.
    package func perform(_ work: @escaping @Sendable () -> Void) {
        core.enqueue(.closure(work))
    }

    /// Runs the enqueued work before the loop's next turn. Only for sources, on the loop's thread.
    func runPending() {
        core.runQueue()
    }

    /// Calls `work` on the loop's thread each time that the loop was busy with tasks and events for longer than
    /// `threshold`, with that time. Nothing else could happen meanwhile.
    package func onStall(longerThan threshold: Duration = .seconds(1), _ work: @escaping @Sendable (Duration) -> Void) {
        core.onStall(threshold, work)
    }

    /// The main context that sources are attached to.
    var context: OpaquePointer { core.context }

    /// The continuous clock, with sleeps that end on the loop's thread.
    package var clock: LoopClock { LoopClock(self) }

    func addTimer(_ deadline: ContinuousClock.Instant, _ work: @escaping @Sendable () -> Void) -> UInt64 {
        core.addTimer(deadline, work)
    }

    func removeTimer(_ number: UInt64) { core.removeTimer(number) }

    /// The number of sleeps and calls that are to come.
    var timerCount: Int { core.timerCount }

    /// Calls `work` once on the loop's thread after `duration`, unless the returned timer is cancelled first.
    package func schedule(after duration: Duration, _ work: @escaping @Sendable () -> Void) -> LoopTimer {
        LoopTimer(core, addTimer(.now + duration, work))
    }
}

/// A task executor on an event loop's thread. Consumers of streams that prefer it avoid a switch between threads.
///
/// It is separate from the loop because a job must run as the kind of job that it was enqueued as. If a task's job ran
/// as isolated to the loop's actors, it would be enqueued again at each step that is not.
package final class LoopTaskExecutor: TaskExecutor {
    private let loop: EventLoop

    package init(_ loop: EventLoop) {
        self.loop = loop
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        loop.enqueue(UnownedJob(job), of: self)
    }
}

/// Work for the loop's thread.
private enum Work: Sendable {
    case isolated(UnownedJob, UnownedSerialExecutor)
    case task(UnownedJob, UnownedTaskExecutor)
    case closure(@Sendable () -> Void)
}

/// The state that the loop and its thread share. Both retain it, so that neither outlives what it uses.
///
/// Safe to share: the queue is protected by a mutex, the GLib context is thread-safe, the batch is used only on the
/// thread, and the rest is atomic or written before the thread starts.
private final class Core: @unchecked Sendable {
    let context: OpaquePointer
    private let mainLoop: OpaquePointer
    private let queue = Mutex<Queue>(Queue())
    /// The thread's identity, which the thread stores before it runs anything.
    private let thread = Atomic<UInt>(0)
    private let hasWork = Atomic<Bool>(false)
    private var batch: [Work] = []
    private let timers = Mutex(TimerQueue<ContinuousClock.Instant, @Sendable () -> Void>())
    /// Expires at the next deadline. Set from any thread, which does not wake the loop.
    private let timer: FileDescriptor

    private struct Queue {
        var work: [Work] = []
    }

    private struct StallWatch {
        let threshold: Duration
        let report: @Sendable (Duration) -> Void
    }

    private let stallWatch = Mutex<StallWatch?>(nil)

    init() {
        context = g_main_context_new()
        mainLoop = g_main_loop_new(context, 0)
        timer = FileDescriptor(owning: ble_timer_create())
        precondition(timer.rawValue >= 0, "no timer can be created")
    }

    deinit {
        g_main_loop_unref(mainLoop)
        g_main_context_unref(context)
    }

    var isCurrentThread: Bool {
        thread.load(ordering: .relaxed) == UInt(pthread_self())
    }

    func start(name: String) {
        var actions = BLESourceActions()
        // The source is destroyed with the context, which this object owns.
        actions.context = Unmanaged.passUnretained(self).toOpaque()
        actions.ready = {
            Unmanaged<Core>.fromOpaque($0!).takeUnretainedValue().hasWork.load(ordering: .acquiring) ? 1 : 0
        }
        actions.run = { context, _ in Unmanaged<Core>.fromOpaque(context!).takeUnretainedValue().runQueue() }
        g_source_unref(ble_source_attach(context, -1, GIOCondition(rawValue: 0), actions))

        var expiry = BLESourceActions()
        expiry.context = Unmanaged.passUnretained(self).toOpaque()
        expiry.ready = { _ in 0 }
        expiry.run = { context, _ in Unmanaged<Core>.fromOpaque(context!).takeUnretainedValue().expire() }
        g_source_unref(ble_source_attach(context, timer.rawValue, G_IO_IN, expiry))

        let thread = g_thread_new(name, { Core.main($0!) }, Unmanaged.passRetained(self).toOpaque())
        g_thread_unref(thread)
    }

    private static let main: @Sendable (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = { argument in
        let core = Unmanaged<Core>.fromOpaque(argument).takeRetainedValue()
        core.thread.store(UInt(pthread_self()), ordering: .relaxed)
        g_main_context_push_thread_default(core.context)
        g_main_loop_run(core.mainLoop)
        while core.runBatch() {}
        g_main_context_pop_thread_default(core.context)
        return nil
    }

    func stop() {
        enqueue(.closure { [self] in g_main_loop_quit(mainLoop) })
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

    private func setTimer(_ deadline: ContinuousClock.Instant) {
        // Zero would stop it.
        let (seconds, attoseconds) = max(ContinuousClock.now.duration(to: deadline), .nanoseconds(1)).components
        ble_timer_set(timer.rawValue, Int(clamping: seconds), Int(attoseconds / 1_000_000_000))
    }

    private func expire() {
        var expirations: UInt64 = 0
        _ = read(timer.rawValue, &expirations, 8)
        let due = timers.withLock { timers in
            let due = timers.takeDue(at: .now)
            if let next = timers.next { setTimer(next) }
            return due
        }
        for work in due { work() }
        // What they have enqueued here runs without another turn of the loop.
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

    func enqueue(_ work: Work) {
        let wasEmpty = queue.withLock { queue in
            queue.work.append(work)
            return queue.work.count == 1
        }
        guard wasEmpty else { return }
        hasWork.store(true, ordering: .releasing)
        if !isCurrentThread { g_main_context_wakeup(context) }
    }

    /// The maximum number of batches to run before the loop looks at its descriptors again.
    private static let batchesPerTurn = 16

    /// Runs the enqueued work, and what that enqueues: a task that goes from actor to actor takes a dozen steps, and each
    /// turn of the loop is a system call.
    func runQueue() {
        guard hasWork.load(ordering: .acquiring) else { return }
        let start = ContinuousClock.now
        var batches = 0
        while batches < Self.batchesPerTurn, runBatch() { batches += 1 }
        checkStall(since: start)
    }

    /// Runs what is enqueued now. Returns false if there was nothing.
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

/// A one-shot timer on an event loop, which is cancelled with its last reference.
package final class LoopTimer: Sendable {
    private let core: Core
    private let number: UInt64

    fileprivate init(_ core: Core, _ number: UInt64) { (self.core, self.number) = (core, number) }

    deinit { cancel() }

    package func cancel() { core.removeTimer(number) }
}

extension Duration {
    /// The duration in whole milliseconds, rounded up, so that a short wait never becomes zero.
    package var milliseconds: Int {
        let (seconds, attoseconds) = components
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? Int.max : Int(clamping: product.addingReportingOverflow(fraction).partialValue)
    }
}
