internal import BLE
internal import Synchronization
internal import Waiting

/// The packets that have arrived for one reader, up to a number of bytes.
final class PacketInbox: Sendable {
    private struct State {
        var packets = Fifo<[UInt8]>()
        var size = 0
        /// The reader that waits.
        var reader: Outcome<Bool>?
        /// The producer that waits for room.
        var producer: Outcome<Void>?
        var end: BLEError?
        /// Told of the end.
        var onEnd: (@Sendable (BLEError) -> Void)?
    }

    private let state = Mutex(State())
    private let capacity: Int
    /// What a packet takes besides its bytes, so that the number of empty packets is bounded, too.
    private static let overhead = 32

    /// - Parameter window: the maximum number of bytes that the other side may send, for which there is room in any
    ///   packets.
    init(window: Int) { capacity = 4 * min(max(1, window), TransferReceiver.maximumWindow) + 65_536 }

    /// Adds a packet if there is room. Returns whether it was added.
    @discardableResult func offer(_ packet: [UInt8]) -> Bool {
        let (isAdded, reader) = state.withLock { state -> (Bool, Outcome<Bool>?) in
            guard state.end == nil, state.size < capacity else { return (false, nil) }
            state.packets.append(packet)
            state.size += packet.count + Self.overhead
            defer { state.reader = nil }
            return (true, state.reader)
        }
        reader?.deliver(.success(true))
        return isAdded
    }

    /// Adds a packet when there is room. Returns false if the inbox has ended.
    func add(_ packet: [UInt8]) async throws(BLEError) -> Bool {
        while !offer(packet) {
            let outcome = Outcome<Void>()
            let mustWait = state.withLock { state in
                guard state.end == nil, state.size >= capacity else { return false }
                state.producer = outcome
                return true
            }
            if mustWait { try await outcome.wait() }
            if state.withLock({ $0.end != nil }) { return false }
        }
        return true
    }

    /// Returns the oldest packet, if there is one.
    func poll() -> [UInt8]? {
        let (packet, producer) = state.withLock { state -> ([UInt8]?, Outcome<Void>?) in
            guard let packet = state.packets.popFirst() else { return (nil, nil) }
            state.size -= packet.count + Self.overhead
            guard state.size < capacity else { return (packet, nil) }
            defer { state.producer = nil }
            return (packet, state.producer)
        }
        producer?.deliver(.success(()))
        return packet
    }

    /// Waits for a packet. Nil at the timeout. Throws the error with which the inbox has ended, after its packets.
    func next(within timeout: Duration?, clock: any Clock<Duration>) async throws(BLEError) -> [UInt8]? {
        while true {
            if let packet = poll() { return packet }
            let outcome = Outcome<Bool>()
            let end = state.withLock { state -> BLEError? in
                if state.packets.isEmpty, let end = state.end { return end }
                if state.packets.isEmpty { state.reader = outcome } else { outcome.deliver(.success(true)) }
                return nil
            }
            if let end { throw end }
            let expiry = timeout.map { limit in
                Expiry(after: limit, clock: clock) { outcome.deliver(.success(false)) }
            }
            defer { expiry?.cancel() }
            guard try await outcome.wait() else { return poll() }
        }
    }

    /// Ends the inbox, once.
    func finish(_ error: BLEError) {
        let (reader, producer, onEnd) = state.withLock {
            state -> (Outcome<Bool>?, Outcome<Void>?, (@Sendable (BLEError) -> Void)?) in
            guard state.end == nil else { return (nil, nil, nil) }
            state.end = error
            defer { (state.reader, state.producer, state.onEnd) = (nil, nil, nil) }
            return (state.reader, state.producer, state.onEnd)
        }
        reader?.deliver(.success(true))
        producer?.deliver(.success(()))
        onEnd?(error)
    }

    /// Waits for the result of work, and no longer than until the inbox has ended or the task is cancelled. The work
    /// goes on.
    func wait<Value>(for outcome: Outcome<Value>) async throws(BLEError) -> Value {
        let end = state.withLock { state in
            state.onEnd = { outcome.deliver(.failure($0)) }
            return state.end
        }
        defer { state.withLock { $0.onEnd = nil } }
        if let end { outcome.deliver(.failure(end)) }
        return try await outcome.wait()
    }
}
