internal import CLoop
internal import Dispatch
internal import Synchronization
internal import Waiting

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
    /// What the thread waits with. Empty while there are no descriptors for it.
    private let polling = AtomicLazyReference<LoopPolling>()
    /// What the thread waits with until then. It needs no descriptor.
    private let parking = DispatchSemaphore(value: 0)
    private let queue = Mutex<[LoopWork]>([])
    /// The thread's identity, which the thread stores before it runs anything.
    private let thread = Atomic<UInt>(0)
    private let hasWork = Atomic<Bool>(false)
    /// Whether the thread waits, or is about to, so that it has to be woken for work.
    private let isAsleep = Atomic<Bool>(false)
    private let timers = Mutex(Timers())

    private struct Timers {
        var queue = TimerQueue<ContinuousClock.Instant, @Sendable () -> Void>()
        /// The time at which the kernel's timer expires. Nil if it has.
        var expiry: ContinuousClock.Instant?
    }

    // Used only on the thread.
    private var batch: [LoopWork] = []
    /// Whether the thread should end.
    private var isStopped = false
    /// Whether there may be a deadline before the timer expires.
    private var hasNewDeadline = true
    /// The watches to call in the next turn in any case.
    private var due: [DescriptorWatch] = []
    private(set) var turnNumber: UInt64 = 0
    /// The watches that were cancelled since the thread last waited, which may have found them ready.
    private var cancelled: [DescriptorWatch] = []

    private struct StallWatch {
        let threshold: Duration
        let report: @Sendable (Duration) -> Void
    }

    private let stallWatch = Mutex<StallWatch?>(nil)

    var isCurrentThread: Bool { thread.load(ordering: .relaxed) == ble_thread_self() }

    func start(name: String) {
        _ = prepare()
        let isStarted = SystemThread.start(name) { self.run() }
        precondition(isStarted, "the process can have no more threads")
    }

    /// Makes what the thread waits with, unless it exists. Returns false if there are no descriptors. Called on the
    /// thread, or before it is started.
    func prepare() -> Bool {
        if polling.load() != nil { return true }
        guard let made = LoopPolling() else { return false }
        _ = polling.storeIfNil(made)
        return true
    }

    private func run() {
        thread.store(ble_thread_self(), ordering: .relaxed)
        while !isStopped {
            if let polling = polling.load() { turn(polling) } else { park() }
        }
        while runBatch() {}
    }

    func stop() { enqueue(.closure { [self] in isStopped = true }) }

    // MARK: Turns

    /// Waits for work, descriptors or the timer, runs the work, and calls each watch whose descriptor is ready once.
    private func turn(_ polling: LoopPolling) {
        // What they release may enqueue work.
        if !cancelled.isEmpty { cancelled.removeAll(keepingCapacity: true) }
        if hasNewDeadline {
            hasNewDeadline = false
            timers.withLock { setTimer(&$0, polling) }
        }
        let count = polling.wait(due.isEmpty && fallAsleep())
        isAsleep.store(false, ordering: .relaxed)
        // Work that was enqueued before something has arrived runs before it.
        runQueue()
        // What is due from here on is due in the next turn.
        turnNumber &+= 1
        let again = due
        if !again.isEmpty { due.removeAll(keepingCapacity: true) }
        let isExpired = polling.report(count) { watch, ready in
            // If it was cancelled in this turn, it is retained until the next one.
            Unmanaged<DescriptorWatch>.fromOpaque(watch).takeUnretainedValue().run(ready)
        }
        for watch in again { watch.run([]) }
        if isExpired { runDue() }
    }

    /// Waits for work or the next deadline without a descriptor.
    private func park() {
        if fallAsleep() {
            // At most an hour at a time: this clock and the deadline's differ by the time for which the machine was
            // suspended.
            let end = timers.withLock { $0.queue.next }.map { deadline in
                let left = min(ContinuousClock.now.duration(to: deadline), .seconds(3600))
                return DispatchTime.now() + .milliseconds(left.milliseconds)
            }
            _ = parking.wait(timeout: end ?? .distantFuture)
        }
        isAsleep.store(false, ordering: .relaxed)
        runQueue()
        runDue()
    }

    /// Announces that the thread is about to wait. Returns false if there is work.
    private func fallAsleep() -> Bool {
        guard !hasWork.load(ordering: .relaxed) else { return false }
        isAsleep.store(true, ordering: .sequentiallyConsistent)
        // Who enqueues work looks at the two in the opposite order, so that one of both sees what the other has stored.
        return !hasWork.load(ordering: .sequentiallyConsistent)
    }

    /// Ends the thread's current wait, or else the next one.
    private func wake() {
        if let polling = polling.load() { polling.wake() } else { parking.signal() }
    }

    // MARK: Descriptors

    /// Watches a descriptor for something instead of what it was watched for.
    func watch(
        _ descriptor: Int32, for new: DescriptorWatch.Readiness?, insteadOf old: DescriptorWatch.Readiness?,
        _ watch: DescriptorWatch
    ) -> WatchResult {
        guard let polling = polling.load() else { preconditionFailure("the loop has no descriptors") }
        return polling.watch(descriptor, for: new, insteadOf: old, Unmanaged.passUnretained(watch).toOpaque())
    }

    /// Has a watch called in the next turn.
    func runAgain(_ watch: DescriptorWatch) { due.append(watch) }

    /// Releases a watch that was cancelled, after this turn.
    func release(_ watch: DescriptorWatch) { cancelled.append(watch) }

    // MARK: Timers

    func addTimer(_ deadline: ContinuousClock.Instant, _ work: @escaping @Sendable () -> Void) -> UInt64 {
        timers.withLock { timers in
            let number = timers.queue.add(deadline, work)
            guard timers.queue.next == deadline else { return number }
            if isCurrentThread {
                hasNewDeadline = true
            } else if let polling = polling.load() {
                setTimer(&timers, polling)
                if !LoopPolling.timerWakes { polling.wake() }
            } else {
                parking.signal()
            }
            return number
        }
    }

    func removeTimer(_ number: UInt64) { timers.withLock { _ = $0.queue.remove(number) } }
    var timerCount: Int { timers.withLock { $0.queue.count } }

    /// Has the timer expire at the next deadline, unless it expires before. Does not wake the loop.
    private func setTimer(_ timers: inout Timers, _ polling: LoopPolling) {
        guard let next = timers.queue.next, timers.expiry.map({ next < $0 }) ?? true else { return }
        timers.expiry = next
        polling.setTimer(next)
    }

    private func runDue() {
        let due = timers.withLock { timers in
            timers.expiry = nil
            return timers.queue.takeDue(at: .now)
        }
        hasNewDeadline = true
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
            queue.append(work)
            return queue.count == 1
        }
        guard wasEmpty else { return }
        hasWork.store(true, ordering: .sequentiallyConsistent)
        // Only a thread that waits takes a system call to find it.
        if isAsleep.load(ordering: .sequentiallyConsistent), isAsleep.exchange(false, ordering: .acquiringAndReleasing)
        {
            wake()
        }
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
        queue.withLock { swap(&$0, &batch) }
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
