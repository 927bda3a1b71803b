import Synchronization

/// Runs tasks only when it is told to, on the caller's thread: once it has nothing left to run, they all wait.
///
/// Tasks that are started with it as their `executorPreference` take their steps in ``run(atMost:)``, so that a test
/// can say between which of them something happens.
public final class StepwiseExecutor: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    public init() {}

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Runs what is ready and what becomes ready by that, at most `limit` jobs. True when nothing is left to run.
    @discardableResult
    public func run(atMost limit: Int = 1000) -> Bool {
        for _ in 0..<limit {
            guard let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return true }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
        return jobs.withLock { $0.isEmpty }
    }
}
