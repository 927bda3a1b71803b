internal import Loop
internal import Synchronization
internal import Waiting

/// The sending side of a connection. Any thread may send; messages go out whole, in the order of the calls.
///
/// What the socket does not accept at once waits here, and the loop writes it as soon as the socket has room. What is
/// sent while the loop handles messages is held until it has handled them, and written together.
final class MessageOutput: Sendable {
    enum Sending {
        case accepted
        /// The socket has no room. The message is not sent.
        case full
        case closed
    }

    private struct Part {
        var bytes: ArraySlice<UInt8>
        /// To send with the first byte.
        var descriptors: [FileDescriptor]
    }

    /// The maximum number of bytes that wait, beyond which the connection is given up: the bus no longer reads.
    private static let capacity = 64 << 20
    /// The number of held bytes that are written at once.
    private static let heldCapacity = 16 << 10
    /// The maximum number of descriptors with a message, by the default configuration of dbus-daemon.
    private static let maximumDescriptors = 16

    private struct State {
        var carrier: (any BusCarrier)?
        var passesDescriptors = false
        /// Whether what is sent is held.
        var isHeld = false
        /// Whether the socket has not accepted all that it was given.
        var isFull = false
        /// The number of bytes in the backlog.
        var waitingCount = 0
        /// What was not written yet, in order.
        var backlog: [Part] = []
        /// The senders that wait until the socket has room.
        var waiters: [BusOutcome<Void>] = []

        mutating func append(_ bytes: [UInt8], _ descriptors: [FileDescriptor]) {
            waitingCount += bytes.count
            // A message with descriptors is sent by itself.
            if descriptors.isEmpty, let last = backlog.indices.last, backlog[last].descriptors.isEmpty {
                backlog[last].bytes += bytes
            } else {
                backlog.append(Part(bytes: bytes[...], descriptors: descriptors))
            }
        }

        /// Writes the backlog as far as the socket has room. Returns false if the socket is broken.
        mutating func write(to carrier: any BusCarrier) -> Bool {
            var written = 0
            defer {
                backlog.removeFirst(written)
                isFull = !backlog.isEmpty
            }
            while written < backlog.count {
                let part = backlog[written]
                guard let count = carrier.write(part.bytes, part.descriptors) else { return false }
                waitingCount -= count
                guard count == part.bytes.count else {
                    backlog[written].bytes.removeFirst(count)
                    if count > 0 { backlog[written].descriptors = [] }
                    return true
                }
                written += 1
            }
            return true
        }
    }

    private let state = Mutex(State())
    private let lastSerial = Atomic<UInt32>(0)
    /// Called from any thread when something waits for the loop: to be written, or because the socket is broken.
    private let onBacklog: @Sendable () -> Void
    private let onBreak: @Sendable () -> Void

    init(onBacklog: @escaping @Sendable () -> Void, onBreak: @escaping @Sendable () -> Void) {
        (self.onBacklog, self.onBreak) = (onBacklog, onBreak)
    }

    func open(_ carrier: any BusCarrier) { state.withLock { $0.carrier = carrier } }

    /// Ends all waits. What has not been written is lost.
    func close() {
        let waiters = state.withLock { state in
            defer { state = State() }
            return state.waiters
        }
        for waiter in waiters { waiter.deliver(.failure(BusConnection.closed)) }
    }

    /// Whether something waits until the socket has room.
    var hasBacklog: Bool { state.withLock { $0.isFull } }

    /// Whether the bus passes descriptors.
    var passesDescriptors: Bool {
        get { state.withLock { $0.passesDescriptors } }
        set { state.withLock { $0.passesDescriptors = newValue } }
    }

    /// Throws `.malformed` if descriptors cannot be sent. A bus disconnects a sender of too many.
    func check(_ descriptors: [FileDescriptor]) throws(DBusError) {
        guard !descriptors.isEmpty else { return }
        guard passesDescriptors else {
            throw DBusError(.malformed, message: "this bus does not pass descriptors")
        }
        guard descriptors.count <= Self.maximumDescriptors else {
            throw DBusError(.malformed, message: "\(descriptors.count) descriptors are more than a bus passes")
        }
    }

    /// Returns the serial number of a new message.
    func nextSerial() -> UInt32 {
        let serial = lastSerial.wrappingAdd(1, ordering: .relaxed).newValue
        // 0 is not a valid serial number.
        return serial == 0 ? nextSerial() : serial
    }

    /// Sends a message, even if others wait for the socket.
    ///
    /// - Returns: false if the connection is closed.
    @discardableResult func send(_ bytes: [UInt8], _ descriptors: [FileDescriptor] = []) -> Bool {
        switch send(bytes, descriptors, waits: true) {
        case .accepted, .full: true
        case .closed: false
        }
    }

    /// Sends a message, unless others wait for the socket.
    func sendIfRoom(_ bytes: [UInt8]) -> Sending { send(bytes, [], waits: false) }

    private func send(_ bytes: [UInt8], _ descriptors: [FileDescriptor], waits: Bool) -> Sending {
        enum Event { case backlog, broken }
        let (result, event): (Sending, Event?) = state.withLock { state in
            guard let carrier = state.carrier else { return (.closed, nil) }
            let wasFull = state.isFull
            if wasFull, !waits { return (.full, nil) }
            if state.backlog.isEmpty, !state.isHeld {
                guard let count = carrier.write(bytes[...], descriptors) else {
                    state.carrier = nil
                    return (.closed, .broken)
                }
                if count == bytes.count { return (.accepted, nil) }
                state.append(Array(bytes[count...]), count == 0 ? descriptors : [])
                state.isFull = true
                return (.accepted, .backlog)
            }
            state.append(bytes, descriptors)
            var isBroken = state.waitingCount > Self.capacity
            if !wasFull, state.waitingCount > Self.heldCapacity { isBroken = !state.write(to: carrier) }
            if isBroken {
                state.carrier = nil
                return (.closed, .broken)
            }
            return (.accepted, state.isFull && !wasFull ? .backlog : nil)
        }
        switch event {
        case .backlog: onBacklog()
        case .broken: onBreak()
        case nil: break
        }
        return result
    }

    /// Holds what is sent from now on until ``release()``.
    func hold() { state.withLock { $0.isHeld = true } }

    /// Writes what was held. Returns false if the socket is broken.
    func release() -> Bool {
        let (isWhole, isFull): (Bool, Bool) = state.withLock { state in
            state.isHeld = false
            guard let carrier = state.carrier, !state.isFull, !state.backlog.isEmpty else { return (true, false) }
            return (state.write(to: carrier), state.isFull)
        }
        if isFull { onBacklog() }
        return isWhole
    }

    /// Writes the backlog as far as the socket has room. Returns false if the socket is broken.
    func flush() -> Bool {
        let (isWhole, waiters): (Bool, [BusOutcome<Void>]) = state.withLock { state in
            guard let carrier = state.carrier else { return (true, []) }
            guard state.write(to: carrier) else { return (false, []) }
            guard !state.isFull else { return (true, []) }
            defer { state.waiters = [] }
            return (true, state.waiters)
        }
        for waiter in waiters { waiter.deliver(.success(())) }
        return isWhole
    }

    /// Waits until the socket has accepted what was sent. Throws `.disconnected` if the connection is closed, and
    /// `.cancelled`.
    func room() async throws(DBusError) {
        let waiter: BusOutcome<Void>? = try state.withLock { (state) throws(DBusError) in
            guard state.carrier != nil else { throw BusConnection.closed }
            guard state.isFull else { return nil }
            let waiter = BusOutcome<Void>()
            state.waiters.append(waiter)
            return waiter
        }
        guard let waiter else { return }
        do throws(DBusError) {
            try await waiter.wait()
        } catch {
            state.withLock { state in state.waiters.removeAll { $0 === waiter } }
            throw error
        }
    }
}
