internal import BLE

/// The central that holds something that one central uses at a time.
struct Holder: Sendable {
    /// The maximum silence of the holder, after which another central may take its place.
    static let silenceTimeout = Duration.seconds(30)
    /// The time after which the program's handler of a request is considered to hang, and another request may take the
    /// place. Longer than clients wait for a device that erases its flash.
    static let handlerTimeout = Duration.seconds(120)

    /// The central. Nil before the first request, and after the end of the link.
    private(set) var central: DeviceID?
    private var clock: (any Clock<Duration>)?
    private var stopwatch: @Sendable () -> Duration = { .zero }

    /// The time since the last request, or since its handler has returned.
    var elapsed: Duration { stopwatch() }

    /// Whether a central may use it.
    ///
    /// - Parameter isBusy: whether a handler of the program runs for the last request.
    func isAvailable(to central: DeviceID, isBusy: Bool) -> Bool {
        guard !isBusy else { return elapsed > Self.handlerTimeout }
        return self.central == nil || self.central == central || elapsed > Self.silenceTimeout
    }

    /// Records a request of a central, which is the holder from then on.
    mutating func take(_ central: DeviceID, clock: any Clock<Duration>) {
        self.central = central
        self.clock = clock
        stopwatch = Central.stopwatch(clock)
    }

    /// Records that the handler of the last request has returned. The silence begins then.
    mutating func handlerReturned() {
        if let clock { stopwatch = Central.stopwatch(clock) }
    }

    /// Records the end of a link.
    mutating func release(_ central: DeviceID) {
        if self.central == central { self.central = nil }
    }
}
