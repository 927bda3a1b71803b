internal import Synchronization

/// Runs the actors of a radio, and the tasks that prefer it, one step after the other.
///
/// The executor has no thread of its own: while there is work, a thread of the global executor runs it. A step that
/// causes another one, such as a call of a central to its backend, continues on this thread, because waking up another
/// thread would cost more than the step.
final class RadioExecutor: SerialExecutor {
    private enum Work: Sendable {
        case isolated(UnownedJob)
        case task(UnownedJob, UnownedTaskExecutor)
        case resume(UnsafeContinuation<Void, Never>)
    }

    private struct Queue {
        var work: [Work] = []
        /// Whether a task runs the work, or is about to.
        var isRunning = false
    }

    private let queue = Mutex(Queue())
    /// The identity of the thread that runs the work. Zero if no thread does.
    private let thread = Atomic<UInt>(0)
    /// The number of calls of ``takeSomeTurns()``.
    private let calls = Atomic<Int>(0)

    /// The number of steps that have run, or wait to run, without those that only wait for the others.
    private let steps = Atomic<Int>(0)

    var stepCount: Int { steps.load(ordering: .relaxed) }

    /// The number of steps to run before other tasks of the process have their turn.
    private static let turn = 4096

    func enqueue(_ job: consuming ExecutorJob) { enqueue(.isolated(UnownedJob(job))) }

    fileprivate func enqueue(_ job: consuming ExecutorJob, of executor: RadioTaskExecutor) {
        enqueue(.task(UnownedJob(job), executor.asUnownedTaskExecutor()))
    }

    private func enqueue(_ work: Work) {
        let isFirst = queue.withLock { queue in
            queue.work.append(work)
            if case .resume = work {} else { steps.add(1, ordering: .relaxed) }
            defer { queue.isRunning = true }
            return !queue.isRunning
        }
        if isFirst { Task.detached { await self.run() } }
    }

    /// Runs the waiting work, at every 64th call. For a task that would otherwise continue without a pause.
    func takeSomeTurns() async {
        if calls.wrappingAdd(1, ordering: .relaxed).newValue % 64 == 0 { await takeTurns() }
    }

    /// Runs the waiting work. `Task.yield()` would switch to the global executor.
    func takeTurns() async { await withUnsafeContinuation { enqueue(.resume($0)) } }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    func isIsolatingCurrentContext() -> Bool? { isCurrent }

    func checkIsolated() { precondition(isCurrent, "not on the radio's executor") }

    /// Whether the current thread runs the work.
    var isCurrent: Bool { thread.load(ordering: .relaxed) == Platform.currentThread }

    /// Runs the work until there is none.
    private func run() async {
        var batch: [Work] = []
        while runTurn(&batch) { await Task.yield() }
    }

    /// Returns false if there is no more work.
    private func runTurn(_ batch: inout [Work]) -> Bool {
        thread.store(Platform.currentThread, ordering: .relaxed)
        var count = 0
        while count < Self.turn {
            let isEmpty = queue.withLock { queue in
                swap(&queue.work, &batch)
                queue.isRunning = !batch.isEmpty
                // Reset before another thread can begin.
                if batch.isEmpty { thread.store(0, ordering: .relaxed) }
                return batch.isEmpty
            }
            if isEmpty { return false }
            for work in batch {
                switch work {
                case .isolated(let job): job.runSynchronously(on: asUnownedSerialExecutor())
                case .task(let job, let executor): job.runSynchronously(on: executor)
                case .resume(let continuation): continuation.resume()
                }
            }
            count += batch.count
            batch.removeAll(keepingCapacity: true)
        }
        thread.store(0, ordering: .relaxed)
        return true
    }
}

/// Runs tasks among the steps of a radio's actors.
///
/// It is separate from ``RadioExecutor`` because a job must run as the kind of job that it was enqueued as.
final class RadioTaskExecutor: TaskExecutor {
    private let executor: RadioExecutor

    init(_ executor: RadioExecutor) { self.executor = executor }

    func enqueue(_ job: consuming ExecutorJob) { executor.enqueue(job, of: self) }
}
