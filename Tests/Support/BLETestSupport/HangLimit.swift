public import Testing

/// The limits that only a hang reaches, however slow or busy the machine is.
public enum HangLimit {
    /// For one step that takes no time to speak of, such as a call over a private bus.
    public static let step = Duration.seconds(600)
    /// The same in seconds, for command lines.
    public static let stepSeconds = 600
}

extension Trait where Self == TimeLimitTrait {
    /// Ends a test that hangs, after 20 minutes.
    public static var hangLimit: Self { .timeLimit(.minutes(20)) }
}
