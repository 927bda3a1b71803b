internal import Waiting

/// One thread that waits for descriptors, timers and work, to which sockets and buses deliver and on which actors can
/// run.
///
/// Such a callback enters an actor that returns this loop as its `unownedExecutor` without a switch of
/// threads: the callback already runs on the actor's executor.
///
/// The thread lives as long as the loop object, so that a job enqueued late still runs. Only watches need file
/// descriptors: tasks run and sleeps end without any.
package final class EventLoop: SerialExecutor {
    let core: LoopCore

    package init(name: String = "loop") {
        core = LoopCore()
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

    /// Runs the enqueued work before the loop's next turn. Only for watches, on the loop's thread.
    package func runPending() {
        core.runQueue()
    }

    /// Calls `work` on the loop's thread, with the duration, each time tasks and events have kept the loop busy for
    /// longer than `threshold`. Nothing else could run meanwhile.
    package func onStall(longerThan threshold: Duration = .seconds(1), _ work: @escaping @Sendable (Duration) -> Void) {
        core.onStall(threshold, work)
    }

    /// Makes what the loop watches descriptors with, if there were no descriptors for it when the loop was made. Called
    /// on the loop's thread.
    ///
    /// Throws `.exhausted`. Tasks run and sleeps end even on a loop without descriptors.
    package func prepare() throws(LoopError) {
        checkIsolated()
        guard core.prepare() else { throw .exhausted }
    }

    /// The continuous clock, with sleeps that end on the loop's thread.
    package var clock: LoopClock { LoopClock(self) }

    func addTimer(_ deadline: ContinuousClock.Instant, _ work: @escaping @Sendable () -> Void) -> UInt64 {
        core.addTimer(deadline, work)
    }

    func removeTimer(_ number: UInt64) { core.removeTimer(number) }

    /// The number of pending sleeps and calls.
    package var timerCount: Int { core.timerCount }

    /// Calls `work` once on the loop's thread after `duration`, unless the returned timer is cancelled first.
    package func schedule(after duration: Duration, _ work: @escaping @Sendable () -> Void) -> LoopTimer {
        LoopTimer(core, addTimer(.now + duration, work))
    }
}

/// An actor that runs on an event loop.
package protocol EventLoopActor: Actor {
    /// The loop, which is the actor's executor.
    nonisolated var loop: EventLoop { get }
}

extension EventLoop {
    /// Returns the loop of the first of these actors that runs on one, for another that shares its thread.
    package static func first(of actors: [any Actor]) -> EventLoop? {
        actors.lazy.compactMap { ($0 as? any EventLoopActor)?.loop }.first
    }
}

/// A task executor on an event loop's thread. Consumers of streams that prefer it avoid a switch between threads.
///
/// It is separate from the loop because a job must run as the kind of job that it was enqueued as. If a task's job ran
/// as isolated to the loop's actors, it would be enqueued again at each step that is not isolated to them.
package final class LoopTaskExecutor: TaskExecutor {
    private let loop: EventLoop

    package init(_ loop: EventLoop) {
        self.loop = loop
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        loop.enqueue(UnownedJob(job), of: self)
    }
}

/// A one-shot timer on an event loop, which is cancelled with its last reference.
package final class LoopTimer: Sendable {
    private let core: LoopCore
    private let number: UInt64

    fileprivate init(_ core: LoopCore, _ number: UInt64) { (self.core, self.number) = (core, number) }

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
