public import Testing

/// Limits that only a hang reaches, even on a slow or busy machine.
public enum HangLimit {
    /// For one step that takes almost no time, such as a call over a private bus.
    public static let step = Duration.seconds(600)
    /// The same in seconds, for command lines.
    public static let stepSeconds = 600
}

extension Trait where Self == TimeLimitTrait {
    /// Ends a test that hangs, after 20 minutes.
    public static var hangLimit: Self { .timeLimit(.minutes(20)) }
}
