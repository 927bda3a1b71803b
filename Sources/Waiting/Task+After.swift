extension Task where Success == Void, Failure == Never {
    /// Runs `work` on an actor after a pause, unless the task is cancelled before that, on the actor or elsewhere. Does
    /// not retain the actor.
    ///
    /// - Parameter executor: where it sleeps and wakes up. Nil for the global executor.
    public static func after<Owner: Actor>(
        _ pause: Duration, clock: any Clock<Duration>, on owner: Owner, executor: (any TaskExecutor)? = nil,
        _ work: @escaping @Sendable (isolated Owner) async -> Void
    ) -> Task {
        Task(executorPreference: executor) { [weak owner] in
            guard (try? await clock.sleep(for: pause)) != nil else { return }
            await owner?.unlessCancelled(work)
        }
    }
}

extension Actor {
    /// Asks on the actor: the task may have been cancelled while it waited for its turn.
    fileprivate func unlessCancelled(_ work: @Sendable (isolated Self) async -> Void) async {
        if !Task.isCancelled { await work(self) }
    }
}
