public import Testing

/// A suite that runs in the guest only, test after test. A test that makes no progress for a minute fails, after a
/// report of what each process waits for (`Scripts/guest/report`).
public struct InGuest: SuiteTrait, TestTrait, TestScoping {
    public var isRecursive: Bool { true }

    @concurrent public func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil, Guest.isHere else { return try await body() }
        try await withUnsafeCurrentTask { task in
            // The task exists until the end of `body`, and is not used later.
            nonisolated(unsafe) let task = task
            GuestProgress.shared.begin(test.displayName ?? test.name) { task?.cancel() }
            defer {
                if let steps = GuestProgress.shared.end() {
                    Issue.record("no progress; its last steps: \(steps)")
                }
            }
            try await body()
        }
    }
}

extension Trait where Self == InGuest {
    /// Watches the progress of a test in the guest.
    public static var inGuest: Self { InGuest() }
}
