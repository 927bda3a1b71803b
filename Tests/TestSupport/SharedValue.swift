import Synchronization

/// A value that a test shares with what it has called: handlers, tasks, other threads.
public final class SharedValue<Value: Sendable>: Sendable {
    private let storage: Mutex<Value>

    public init(_ value: Value) { storage = Mutex(value) }

    public var value: Value { storage.withLock { $0 } }

    /// Changes the value in place, undivided.
    @discardableResult
    public func change<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
        storage.withLock { body(&$0) }
    }
}
