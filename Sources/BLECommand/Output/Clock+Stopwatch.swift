extension Clock<Duration> {
    /// Returns a function for the time since now.
    func stopwatch() -> () -> Duration {
        let start = now
        return { start.duration(to: now) }
    }
}
