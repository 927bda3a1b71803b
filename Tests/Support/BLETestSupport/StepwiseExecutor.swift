import Synchronization

/// Runs tasks only on demand, on the caller's thread. When it has nothing left to run, all of them wait.
///
/// Tasks that are started with it as their `executorPreference` take their steps in ``run(atMost:)``, so that a test
/// can decide between which steps something happens.
public final class StepwiseExecutor: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    public init() {}

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Runs the jobs that are ready, and those that become ready meanwhile, at most `limit`. Returns true when none is
    /// left.
    @discardableResult
    public func run(atMost limit: Int = 1000) -> Bool {
        for _ in 0..<limit {
            guard let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return true }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
        return jobs.withLock { $0.isEmpty }
    }
}
