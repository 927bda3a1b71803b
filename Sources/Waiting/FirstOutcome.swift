public import Synchronization

/// The errors of a module, for its waits.
public protocol WaitErrors: SendableMetatype {
    associatedtype Failure: Error
    /// The error of a wait that was cancelled.
    static var cancelled: Failure { get }
}

/// The result of a wait, delivered once: by completion, deadline, cancellation or the loss of the awaited object,
/// whichever is first.
///
/// One task waits for it. Cancelling that task delivers `cancelled`, so every wait ends.
///
/// Public and inlinable for the same reason as ``TimerQueue``.
public final class FirstOutcome<Value: Sendable, Errors: WaitErrors>: Sendable {
    public typealias Failure = Errors.Failure
    public typealias Result = Swift.Result<Value, Failure>

    @usableFromInline
    enum State {
        case open
        /// Resumed once: resuming changes the state.
        case awaited(UnsafeContinuation<Result, Never>)
        case delivered(Result)
    }

    @usableFromInline let state: Mutex<State>

    @inlinable
    public init() { state = Mutex(.open) }

    /// Delivers the result. Does nothing and returns false if a result was already delivered.
    @inlinable
    @discardableResult public func deliver(_ result: Result) -> Bool {
        let (waiting, isFirst): (UnsafeContinuation<Result, Never>?, Bool) = state.withLock { state in
            switch state {
            case .open:
                state = .delivered(result)
                return (nil, true)
            case .awaited(let continuation):
                state = .delivered(result)
                return (continuation, true)
            case .delivered:
                return (nil, false)
            }
        }
        waiting?.resume(returning: result)
        return isFirst
    }

    /// Whether no result was delivered yet.
    @inlinable
    public var isOpen: Bool {
        state.withLock { if case .delivered = $0 { false } else { true } }
    }

    /// Waits for the result on the caller's actor. The closures run there because the isolation is passed on.
    @inlinable
    public func wait(isolation: isolated (any Actor)? = #isolation) async throws(Failure) -> Value {
        let result = await withTaskCancellationHandler {
            await withUnsafeContinuation(isolation: isolation) { continuation in
                let early: Result? = state.withLock { state in
                    if case .delivered(let result) = state { return result }
                    state = .awaited(continuation)
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            _ = deliver(.failure(Errors.cancelled))
        }
        return try result.get()
    }
}

extension FirstOutcome {
    /// Runs `work` in a task of its own on the caller's actor, and waits for its result or another end, whichever is
    /// first. If another end is first, cancels the work and returns without waiting for it. The task retains the actor
    /// until the work ends.
    ///
    /// - Parameter executor: where the work runs instead when it is not on an actor. A sendable closure may leave the
    ///   caller's actor for the global executor.
    @inlinable
    public func race(
        isolation: isolated (any Actor)? = #isolation, executor: (any TaskExecutor)? = nil,
        _ work: @escaping @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let task: Task<Void, Never>
        if let executor {
            task = Task(executorPreference: executor) { await self.deliver(work) }
        } else {
            task = Task {
                // Captured, so that the task begins on the caller's actor.
                _ = isolation
                await self.deliver(work)
            }
        }
        defer { task.cancel() }
        return try await wait()
    }

    /// Runs `work` in the same way, with a time limit after which it throws `late`.
    public static func race(
        within limit: Duration, clock: any Clock<Duration>, isolation: isolated (any Actor)? = #isolation,
        executor: (any TaskExecutor)? = nil, _ late: @escaping @Sendable () -> Failure,
        _ work: @escaping @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let outcome = Self()
        let expiry = outcome.expire(after: limit, clock: clock, late)
        defer { expiry.cancel() }
        return try await outcome.race(executor: executor, work)
    }

    /// Runs `work` and delivers its result.
    @inlinable
    public func deliver(_ work: () async throws(Failure) -> Value) async {
        do throws(Failure) {
            deliver(.success(try await work()))
        } catch {
            deliver(.failure(error))
        }
    }

    /// Delivers an error after a duration, unless the returned expiry is cancelled first.
    @inlinable
    public func expire(
        after duration: Duration, clock: any Clock<Duration>, _ error: @escaping @Sendable () -> Failure
    ) -> Expiry {
        Expiry(after: duration, clock: clock) { self.deliver(.failure(error())) }
    }
}
