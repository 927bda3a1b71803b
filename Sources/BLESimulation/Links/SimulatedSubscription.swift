internal import BLE
internal import Waiting

/// A central's subscription to a characteristic.
final class SimulatedSubscription {
    /// What it has in common with the subscriptions of other centrals on the adapter.
    let run: SubscriptionRun
    /// Receives a value. Returns false if there is no room for another.
    let deliver: @Sendable ([UInt8]) -> Bool
    /// Whether the values use a channel, which holds values for which the reader has no room.
    let isChannel: Bool
    private var waiting: [[UInt8]] = []
    private var isPaused = false

    /// The approximate capacity of a socket of bluetoothd.
    static let capacity = 200

    init(_ run: SubscriptionRun, isChannel: Bool, deliver: @escaping @Sendable ([UInt8]) -> Bool) {
        self.run = run
        self.isChannel = isChannel
        self.deliver = deliver
    }

    /// Delivers a value from the peripheral. Returns false if the channel is full: then the value is lost.
    func take(_ value: [UInt8]) -> Bool {
        if isPaused {
            guard waiting.count < Self.capacity else { return false }
            waiting.append(value)
        } else {
            isPaused = !deliver(value) && isChannel
        }
        return true
    }

    /// Resumes delivery when there is room again.
    func resume() {
        isPaused = false
        while !isPaused, !waiting.isEmpty { isPaused = !deliver(waiting.removeFirst()) }
    }

    /// Delivers the waiting values, even without room.
    func drain() {
        for value in waiting { _ = deliver(value) }
        waiting = []
    }
}

/// A run of a definition's subscription handler, for all centrals of an adapter that are subscribed.
final class SubscriptionRun {
    let number: Int
    var task: Task<Void, Never>?
    /// The waits for the handler to start. Nil once it has.
    private var starting: [Outcome<Void>]? = []

    init(number: Int) { self.number = number }

    /// Returns the start of the handler. Nil if it has started.
    func start() -> Outcome<Void>? {
        guard starting != nil else { return nil }
        let start = Outcome<Void>()
        starting?.append(start)
        return start
    }

    /// Records that the handler has started, or has refused at once.
    func didStart(_ result: Result<Void, BLEError>) {
        let waiting = starting ?? []
        starting = nil
        for start in waiting { start.deliver(result) }
    }
}
