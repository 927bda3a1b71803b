internal import BLE
internal import Waiting

/// The discovery session that a connection has with bluetoothd, and the wishes that it serves: a central's scan, and
/// its connections to peripherals of which bluetoothd has no object.
///
/// One call at a time brings what bluetoothd has closer to what is wanted. Each follows from what is known then,
/// whatever has become of the call before it, and whether or not somebody still waits for it: a start that was not
/// answered in time may have begun a session, so the next call is a stop.
struct DiscoverySession {
    enum Call: Equatable {
        /// Sets the filter, or without one, clears it.
        case setFilter(DiscoveryFilter?)
        case start, stop
    }

    enum Step: Equatable {
        case call(Call)
        case pause(Duration)
    }

    /// What bluetoothd has.
    private enum Held { case nothing, session, unknown }

    private struct Wish {
        let filter: DiscoveryFilter
        /// Succeeds when bluetoothd scans with it.
        let start: Outcome<Void>
        /// The filter with which bluetoothd has scanned for it before, as long as the change can be given up.
        var former: DiscoveryFilter?
        var hasStarted = false
        /// Whether the call that is under way, or was the last, was made when it was there.
        var isAsked = false
    }

    /// Refusals in a row.
    private struct Refusals {
        let pauses: Backoff
        let limit: Duration
        private var count = 0
        private var first: Duration?

        init(pauses: Backoff, limit: Duration) { (self.pauses, self.limit) = (pauses, limit) }

        /// Adds a refusal. Returns the pause before the next attempt; nil if there is to be none.
        mutating func add(at now: Duration) -> Duration? {
            count += 1
            let first = first ?? now
            self.first = first
            return now - first < limit ? pauses.pause(afterFailures: count) : nil
        }

        mutating func reset() { (count, first) = (0, nil) }
    }

    private var wishes: [Int: Wish] = [:]
    private var lastWish = 0
    private var held = Held.nothing
    /// The filter that bluetoothd has; nil if it has none, or that is unknown.
    private var filter: DiscoveryFilter?
    private var mayHaveFilter = false
    /// The step that is under way.
    private var current: Step?
    /// Whether the session has ended since the call that is under way.
    private var isOutdated = false
    /// The pause before the next call.
    private var pause: Duration?
    /// Whether nothing more is tried until something else is wanted.
    private var hasGivenUp = false
    /// Those who wait until there is no session that nobody wants.
    private var ends: [Outcome<Void>] = []
    /// The kernel may still be scanning for a bluetoothd that has died, which takes 10.24 s.
    private var refusedStarts = Refusals(pauses: Backoff(every: .milliseconds(500)), limit: .seconds(15))
    /// bluetoothd refuses to stop until it has answered a start, for which D-Bus lets it take 25 s, and when the kernel
    /// is stopping already, in order to scan with the filters of fewer programs.
    private var refusedStops = Refusals(
        pauses: Backoff(initial: .milliseconds(10), factor: 2, maximum: .milliseconds(500)), limit: .seconds(30))

    static let disappeared = BLEError.lost("the adapter disappeared while the scan was starting")

    // MARK: What is wanted

    /// Adds a wish, or changes one. Returns its number, and the wait for bluetoothd to scan with the filter. If that
    /// fails, the wish ends, or has its former filter again.
    mutating func want(_ filter: DiscoveryFilter, _ wish: Int? = nil) -> (wish: Int, start: Outcome<Void>) {
        if !isStarting {
            refusedStarts.reset()
            refusedStops.reset()
        }
        if wish == nil { lastWish += 1 }
        let (number, start) = (wish ?? lastWish, Outcome<Void>())
        // What bluetoothd is told.
        let filter = DiscoveryFilter(
            services: filter.services, minimumRSSI: filter.minimumRSSI, transport: filter.transport)
        let earlier = wishes[number]
        let former = earlier?.hasStarted == true ? earlier?.filter : earlier?.former
        wishes[number] = Wish(filter: filter, start: start, former: former)
        earlier?.start.deliver(.failure(.cancelled))
        wantsChanged()
        return (number, start)
    }

    /// Gives the start of a wish up: it ends, or has its former filter again, also if bluetoothd has just answered.
    mutating func giveUpStart(_ number: Int, _ error: BLEError = .cancelled) {
        guard let wish = wishes[number], !wish.hasStarted || wish.former != nil else { return }
        wish.start.deliver(.failure(error))
        wishes[number] = wish.former.map { Wish(filter: $0, start: wish.start, former: nil, hasStarted: true) }
        wantsChanged()
    }

    /// Ends a wish, if it is there. A wait for its start fails with the error.
    mutating func end(_ wish: Int, _ error: BLEError = .cancelled) {
        guard let wish = wishes.removeValue(forKey: wish) else { return }
        wish.start.deliver(.failure(error))
        wantsChanged()
    }

    /// Ends all wishes.
    mutating func endAll(_ error: BLEError) {
        for wish in wishes.values { wish.start.deliver(.failure(error)) }
        wishes = [:]
        wantsChanged()
    }

    private mutating func wantsChanged() {
        hasGivenUp = false
        settle()
    }

    /// Handles the end of the session without a stop: bluetoothd, the adapter or the connection is gone. All wishes end
    /// with it.
    mutating func void(_ error: BLEError) {
        (held, filter, mayHaveFilter) = (.nothing, nil, false)
        pause = nil
        refusedStarts.reset()
        refusedStops.reset()
        if case .call = current { isOutdated = true }
        endAll(error)
    }

    /// The wait until bluetoothd has no session that nobody wants. Fails if bluetoothd does not end it, unless somebody
    /// wants one meanwhile.
    mutating func sessionEnd() -> Outcome<Void> {
        let end = Outcome<Void>()
        ends.append(end)
        if held == .unknown { hasGivenUp = false }
        settle()
        return end
    }

    /// Whether somebody waits for a start.
    private var isStarting: Bool { wishes.values.contains { !$0.hasStarted } }

    /// What to scan for; nil for nothing.
    private var target: DiscoveryFilter? {
        guard var target = wishes.values.first?.filter else { return nil }
        for wish in wishes.values.dropFirst() { target.formUnion(wish.filter) }
        return target
    }

    // MARK: Steps

    /// Whether bluetoothd has what is wanted, as far as that can be had.
    var isAtRest: Bool { current == nil && due == nil }

    private var due: Step? {
        if hasGivenUp { return nil }
        if let pause { return .pause(pause) }
        let wanted = target
        if held == .unknown || held == .session && wanted == nil { return .call(.stop) }
        guard let wanted else { return mayHaveFilter ? .call(.setFilter(nil)) : nil }
        if wanted != filter { return .call(.setFilter(wanted)) }
        return held == .nothing ? .call(.start) : nil
    }

    /// Begins the next step. Nil if there is none, or one is under way.
    mutating func begin() -> Step? {
        guard current == nil, let step = due else { return nil }
        current = step
        pause = nil
        guard case .call(let call) = step else { return step }
        if case .setFilter(.some) = call { mayHaveFilter = true }
        for wish in wishes.keys { wishes[wish]?.isAsked = true }
        return step
    }

    /// Ends the pause that is under way.
    mutating func endPause() {
        current = nil
        settle()
    }

    /// Ends the call that is under way with its answer.
    ///
    /// - Parameter now: a time of any clock that proceeds.
    mutating func answered(_ answer: Result<Void, BLEError>, at now: Duration) {
        guard case .call(let call) = current else { return }
        current = nil
        let isOutdated = isOutdated
        self.isOutdated = false
        switch (call, answer) {
        case (.setFilter(let filter?), .success):
            if !isOutdated { self.filter = filter }
        case (.setFilter(.some), .failure(let error)):
            filter = nil
            guard !isOutdated else { break }
            if isStarting {
                failStarts(error)
            } else {
                // A former filter: the session goes on with whatever filter bluetoothd has.
                hasGivenUp = !wishes.isEmpty
            }
        case (.setFilter(nil), _): (filter, mayHaveFilter) = (nil, false)
        case (.start, .success):
            held = isOutdated ? .unknown : .session
            refusedStarts.reset()
        case (.start, .failure(let error)): startFailed(error, isOutdated, at: now)
        case (.stop, .success): stopped()
        case (.stop, .failure) where isOutdated: stopped()
        case (.stop, .failure(let error)): stopFailed(error, at: now)
        }
        settle()
    }

    private mutating func startFailed(_ error: BLEError, _ isOutdated: Bool, at now: Duration) {
        switch error.code {
        // It may have begun, or another one of this client's stands in its way.
        case .busy, .timedOut, .cancelled: held = .unknown
        default: held = .nothing
        }
        guard !isOutdated else { return }
        if error.code == .busy, let pause = refusedStarts.add(at: now) {
            self.pause = pause
        } else {
            refusedStarts.reset()
            failStarts(error)
        }
    }

    private mutating func stopFailed(_ error: BLEError, at now: Duration) {
        switch error.code {
        // `Failed: No discovery started`, `NotReady` after a power-off, and the loss of what had it.
        case .scanFailed, .poweredOff, .adapterNotFound, .bluetoothLost: stopped()
        default:
            held = .unknown
            pause = refusedStops.add(at: now)
            // Who waits is told at once of what is not a refusal for now.
            if error.code != .busy { failAll(error) }
            if pause == nil { giveUp() }
        }
    }

    private mutating func stopped() {
        // `StopDiscovery` keeps the filter, unless the session was another one's.
        (held, filter) = (.nothing, nil)
        refusedStops.reset()
    }

    private mutating func giveUp() {
        refusedStops.reset()
        for wish in wishes.keys { wishes[wish]?.isAsked = true }
        failAll(
            BLEError(.busy, "bluetoothd does not end its scan for this program", remedy: "Shut down, and start again."))
        hasGivenUp = true
    }

    /// Gives up the starts for which the last call was made.
    private mutating func failStarts(_ error: BLEError) {
        for (number, wish) in wishes where wish.isAsked && !wish.hasStarted { giveUpStart(number, error) }
    }

    private mutating func failAll(_ error: BLEError) {
        failStarts(error)
        for end in ends { end.deliver(.failure(error)) }
        ends = []
    }

    /// Ends the waits for what is done.
    private mutating func settle() {
        if isAtRest, held == .session {
            for (number, wish) in wishes where !wish.hasStarted {
                // Who has given up before has yet to say so.
                if wish.start.deliver(.success(())) { wishes[number]?.former = nil }
                wishes[number]?.hasStarted = true
            }
        }
        guard isAtRest || !wishes.isEmpty else { return }
        for end in ends { end.deliver(.success(())) }
        ends = []
    }
}

extension DiscoveryFilter {
    /// Passes also what another filter passes.
    fileprivate mutating func formUnion(_ other: DiscoveryFilter) {
        services = services.isEmpty || other.services.isEmpty ? [] : services.union(other.services)
        minimumRSSI = minimumRSSI.flatMap { own in other.minimumRSSI.map { min(own, $0) } }
        if transport != other.transport { transport = .any }
    }
}
