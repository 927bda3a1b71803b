import Foundation
public import Testing

/// How long tests wait in real time for what ought to come.
///
/// `BLE_TEST_PATIENCE` says how many times as long as usual; `Scripts/test` waits longer under a sanitizer. What is meant to
/// expire does not ask.
public enum Patience {
    /// At least 1.
    public static let factor = max(
        1, ProcessInfo.processInfo.environment["BLE_TEST_PATIENCE"].flatMap { Int($0) } ?? 1)

    /// For one step that takes no time to speak of, such as a call over a private bus: usually 10 s.
    public static let step = Duration.seconds(10 * factor)
}

extension Trait where Self == TimeLimitTrait {
    /// Ends a test after so many minutes, or later when there is more ``Patience``.
    public static func timeLimit(minutes: Int) -> Self { .timeLimit(.minutes(minutes * Patience.factor)) }
}
