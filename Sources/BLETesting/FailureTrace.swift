internal import Logging
public import Testing

/// Prints what happened on the simulated radios of a test if the test fails.
///
/// ```swift
/// @Test(.tracesFailures) func `a strap is connected to again`() async throws {
///     …
/// }
/// ```
///
/// It has the messages of each radio that the test creates, with a logger of ``LogRecords`` or without a logger, and of
/// other loggers of `LogRecords`. On a suite, each of its tests has a trace of its own. A test fails if it records an
/// issue that is not known, throws, or is cancelled at its time limit.
public struct FailureTrace: TestTrait, SuiteTrait, TestScoping {
    let limit: Int
    let output: @Sendable (String) -> Void

    /// True: each test of a suite has a trace of its own.
    public var isRecursive: Bool { true }

    /// Runs a test, and prints the trace if it fails.
    @concurrent public func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let records = LogRecords(limit: limit)
        let hasFailed = SharedValue(false)
        defer {
            if hasFailed.value || Task.isCancelled {
                output(records.report(of: test.displayName ?? test.name))
            }
        }
        let issues: IssueHandlingTrait = .compactMapIssues { issue in
            if issue.isFailure { hasFailed.change { $0 = true } }
            return issue
        }
        try await issues.provideScope(for: test, testCase: testCase) {
            do {
                try await withLogger(records.logger()) { _ in try await body() }
            } catch {
                hasFailed.change { $0 = true }
                throw error
            }
        }
    }
}

extension Trait where Self == FailureTrace {
    /// Prints the last 200 messages of the test's simulated radios if the test fails.
    public static var tracesFailures: Self { .tracesFailures() }

    /// Prints the last messages of the test's simulated radios if the test fails.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of messages, more than 0.
    ///   - output: receives the whole text. By default, it is printed.
    public static func tracesFailures(
        last limit: Int = 200, to output: @escaping @Sendable (String) -> Void = { print($0) }
    ) -> Self {
        precondition(limit > 0, "a trace of \(limit) messages")
        return FailureTrace(limit: limit, output: output)
    }
}

extension LogRecords {
    fileprivate func report(of test: String) -> String {
        let (messages, count) = (all, count)
        let title = messages.count < count ? "the last \(messages.count) of \(count)" : "\(count)"
        return (["The simulated radio in “\(test)”, \(title) messages:"] + messages.map { "    \($0)" })
            .joined(separator: "\n")
    }
}
