extension Actor {
    /// Runs `body` in the actor's isolation, like `assumeIsolated`, but in a tenth of the time: `assumeIsolated` asks
    /// each time, with a dynamic cast, whether the executor is the main one (Swift 6.3).
    ///
    /// All builds run the same code; in a debug build, `assumeIsolated` also checks the isolation.
    ///
    /// - Parameter isCurrent: whether the caller is known to run on the actor's executor. If false, `assumeIsolated`
    ///   checks, and traps if the caller runs elsewhere.
    @inlinable
    public nonisolated func enter<Value: Sendable>(
        isCurrent: Bool, _ body: (isolated Self) throws -> Value
    ) rethrows -> Value {
        guard isCurrent else { return try assumeIsolated(body) }
        #if DEBUG
            assumeIsolated { _ in }
        #endif
        typealias Entered = (Self) throws -> Value
        // An isolated parameter is passed like any other.
        return try withoutActuallyEscaping(body) { body in try unsafeBitCast(body, to: Entered.self)(self) }
    }

    /// Runs `body` with a value in the actor's isolation, in the same way. For what happens for each event: a `body`
    /// that captures nothing needs no memory.
    @inlinable
    public nonisolated func enter<Input: Sendable>(
        isCurrent: Bool, with input: Input, _ body: @escaping (isolated Self, Input) -> Void
    ) {
        #if DEBUG
            preconditionIsolated()
        #endif
        if !isCurrent { preconditionIsolated() }
        unsafeBitCast(Isolated(body: body), to: Entered<Self, Input>.self).body(self, input)
    }
}

/// A function of an actor. A structure, because a function itself would be wrapped in another one to be cast.
@usableFromInline
struct Isolated<Subject: Actor, Input> {
    @usableFromInline let body: (isolated Subject, Input) -> Void

    @inlinable
    init(body: @escaping (isolated Subject, Input) -> Void) { self.body = body }
}

/// The same function, whose caller is on the actor's executor. An isolated parameter is passed like any other.
@usableFromInline
struct Entered<Subject: Actor, Input> {
    @usableFromInline let body: (Subject, Input) -> Void
}
