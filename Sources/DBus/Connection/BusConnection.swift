internal import Loop
internal import Waiting

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A connection to a bus: signals, answers, and calls of served objects, received in the order in which the bus sends
/// them. The handler of a call begins at once; what it does on an actor follows the messages that were received
/// together.
///
/// Reads each message in place, as a `BusCarrier` brings it; see Docs/Decisions/0009 and 0010 for the reasons.
///
/// Safe to share because everything except `init` and ``output`` happens on the loop's thread, which each entry point
/// checks.
final class BusConnection: @unchecked Sendable {
    let loop: EventLoop
    private let onSignal: @Sendable (IncomingMessage) -> Void
    private let onOwner: @Sendable (String?) -> Void
    /// The service whose messages are accepted; nil accepts those of every sender.
    private var service: NameOwner?
    private let onLoss: @Sendable () -> Void
    private var carrier: (any BusCarrier)?
    /// Retains the connection until it is closed.
    private var watch: DescriptorWatch?
    private var buffer = ReceiveBuffer()
    /// The descriptors that came with messages in the buffer, an array for each message that has any.
    private var descriptors = Fifo<[FileDescriptor]>()
    /// What any thread may send with.
    let output: MessageOutput
    private let calls: PendingCalls
    /// The objects that are served.
    let served: ServedObjects
    /// The state of the handshake; nil when messages follow.
    private var handshake: (state: Handshake, outcome: BusOutcome<Void>)?
    private var pace = ReadingPace()
    /// Ends a pause of reading.
    private var pause: LoopTimer?
    /// The number of messages received so far.
    private var receivedCount = 0
    /// The name that the bus has given the connection.
    private(set) var uniqueName: String?
    /// The id of the bus.
    private var busID = ""

    /// The maximum number of messages to deliver before the loop does its other work.
    private static let messagesPerTurn = 64

    /// - Parameters:
    ///   - service: the name of the only service to call and to accept messages from; nil accepts those of every
    ///     sender.
    ///   - onOwner: called when the name has a new owner, in order with the signals.
    init(
        loop: EventLoop, service: String?, refusals: CallRefusals,
        onSignal: @escaping @Sendable (IncomingMessage) -> Void,
        onOwner: @escaping @Sendable (String?) -> Void, onLoss: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        self.service = service.map { NameOwner(of: $0) }
        self.onSignal = onSignal
        self.onOwner = onOwner
        self.onLoss = onLoss
        calls = PendingCalls(loop)
        served = ServedObjects(loop, refusals)
        let weak = WeakConnection()
        output = MessageOutput(
            onBacklog: { loop.perform { weak.connection?.updateWatch() } },
            onBreak: { loop.perform { weak.connection?.lose() } })
        weak.connection = self
    }

    /// Safe to share: set before it is shared, and used on the loop's thread only.
    private final class WeakConnection: @unchecked Sendable {
        weak var connection: BusConnection?
    }

    var isOpen: Bool { carrier != nil }

    static let closed = DBusError(.disconnected, message: "the connection to the bus is closed")

    // MARK: Opening and closing

    /// Connects, authenticates and calls `Hello`. Throws `.unreachable` if there is no bus at `address`,
    /// and `.exhausted` without descriptors.
    func open(_ address: BusAddress, timeout: Duration) async throws(DBusError) {
        do throws(LoopError) {
            try loop.prepare()
        } catch {
            throw DBusError(error)
        }
        try GLib.checkDescriptors()
        let (connected, authenticated) = (BusOutcome<BusSocket>(), BusOutcome<Void>())
        let referenced = BusOutcome<GDBusReference>()
        let timer = loop.schedule(after: timeout) {
            let late = DBusError(.timedOut, message: "no answer from the bus within \(timeout)")
            connected.deliver(.failure(late))
            referenced.deliver(.failure(late))
            authenticated.deliver(.failure(late))
        }
        defer { timer.cancel() }
        let text = try address.text
        do throws(DBusError) {
            switch address {
            case .existing(let connection): try await attach(connection, isShared: true)
            case .gdbus:
                try await attach(try await GDBusReference.connect(text, until: referenced), isShared: false)
            case .system, .address:
                attach(try await BusSocket.connect(text, until: connected))
                handshake = (Handshake(), authenticated)
                output.send(Handshake.start(userID: geteuid()))
                try await authenticated.wait()
                // A bus may hang up here on a user whom it does not accept.
                uniqueName = try await ask(.bus("Hello"), timeout: timeout) { (body) throws(DBusError) in
                    try body.string()
                }
            }
        } catch {
            throw error.kind == .disconnected
                ? DBusError(.unreachable, name: error.name, message: error.message) : error
        }
        guard let service else { return }
        // Subscribe before asking, so that no change is missed.
        try await addMatch(
            "type='signal',sender='\(NameOwner.bus)',interface='\(NameOwner.bus)',member='NameOwnerChanged',"
                + "arg0='\(service.name)'", timeout: timeout)
        _ = try await askOwner(timeout: timeout)
    }

    /// Asks the bus for the owner of the service's name, and accepts that owner's messages from then on.
    func askOwner(timeout: Duration) async throws(DBusError) -> String? {
        guard let name = service?.name else { return nil }
        var owner: String?
        do throws(DBusError) {
            owner = try await ask(.bus("GetNameOwner", [.string(name)]), timeout: timeout) {
                [weak self] (body) throws(DBusError) in
                let owner = try body.string()
                // Here and not in the caller, because signals of the owner may follow immediately.
                self?.service?.learn(owner)
                return owner
            }
        } catch {
            guard error.name == "org.freedesktop.DBus.Error.NameHasNoOwner" else { throw error }
        }
        return owner
    }

    var owner: String? { service?.owner }

    /// The owner's name, with the id of the bus: another bus may give the same names.
    var ownerIdentity: String? { owner.map { "\($0) \(busID)" } }

    private func attach(_ connection: GDBusReference, isShared: Bool) async throws(DBusError) {
        let carrier = try GDBusCarrier(connection, isShared: isShared, loop: loop) { [served] in served.serves($0) }
        await carrier.open()
        attach(carrier)
        if isShared { calls.share() }
        output.passesDescriptors = connection.passesDescriptors
        uniqueName = connection.uniqueName
        busID = connection.busID
    }

    private func attach(_ carrier: any BusCarrier) {
        self.carrier = carrier
        output.open(carrier)
        watch = DescriptorWatch(carrier.descriptor, on: loop, for: .reading) { _, ready in self.run(ready) }
    }

    /// Closes immediately. Pending calls fail with `.disconnected`. The loss handler is not called.
    func close() {
        loop.checkIsolated()
        guard let carrier else { return }
        self.carrier = nil
        pause = nil
        watch?.cancel()
        watch = nil
        while let unread = descriptors.popFirst() { _ = DescriptorReaper.shared.close(unread) }
        _ = output.release()
        output.close()
        carrier.close()
        served.removeAll()
        handshake?.outcome.deliver(.failure(Self.closed))
        handshake = nil
        calls.close(Self.closed)
    }

    private func lose() {
        guard carrier != nil else { return }
        // While the connection is being opened, there is nothing to lose: the caller of `open` gets the error.
        let wasOpening = handshake != nil
        close()
        if !wasOpening { onLoss() }
    }

    // MARK: The socket

    private func run(_ ready: DescriptorWatch.Readiness) {
        output.hold()
        if output.hasBacklog { write() }
        // A socket that was closed is not waited for.
        let isOver = !ready.isDisjoint(with: .end)
        if isOver { endPause() }
        // Nothing is read while there are messages to deliver: the socket keeps what does not fit.
        if deliver(), isOver || mayRead() { read() }
        runPending()
    }

    /// Runs the work that messages have started, without another turn of the loop, and sends what was held meanwhile.
    private func runPending() {
        loop.runPending()
        if !output.release() { lose() }
    }

    private func read() {
        let (before, isBehind) = (receivedCount, receive())
        // Descriptors belong to messages that are here at least in part.
        if deliver(), buffer.isEmpty {
            buffer.shrink()
            if let unclaimed = descriptors.popFirst() { discard(unclaimed) }
        }
        guard let wait = pace.hasRead(receivedCount - before, isBehind: isBehind, at: .now), calls.isEmpty else {
            return
        }
        beginPause(wait)
    }

    /// Reads what is there. Returns whether there may be more.
    private func receive() -> Bool {
        guard let carrier else { return false }
        let space = buffer.space()
        switch carrier.read(into: space) {
        case .bytes(let count, let passed):
            buffer.received(count)
            if let passed { descriptors.append(passed) }
            return count == space.count
        case .nothingYet: return false
        case .over:
            lose()
            return false
        }
    }

    // MARK: Pauses

    /// How much later than it could be a message may be read, while messages are frequent and no call is pending.
    func setTolerance(_ tolerance: Duration) {
        let isLess = tolerance < pace.tolerance
        pace.tolerance = tolerance
        if isLess { endPause() }
    }

    /// Whether what has arrived is to be read now. Otherwise, it is read at the end of a pause.
    private func mayRead() -> Bool {
        guard pause == nil else { return false }
        guard handshake == nil, calls.isEmpty, let wait = pace.pause(at: .now) else { return true }
        beginPause(wait)
        return false
    }

    private func beginPause(_ duration: Duration) {
        guard carrier != nil, pause == nil else { return }
        pause = loop.schedule(after: duration) { [weak self] in self?.continueReading() }
        updateWatch()
    }

    private func continueReading() {
        withExtendedLifetime(self) {
            guard pause != nil else { return }
            pause = nil
            output.hold()
            if output.hasBacklog { write() }
            if deliver() { read() }
            if pause == nil { updateWatch() }
            runPending()
        }
    }

    /// Reads at once what has arrived and what follows. Called when a caller waits for it.
    func endPause() {
        guard pause != nil else { return }
        pause = nil
        updateWatch()
    }

    /// Writes what waits for the socket.
    private func write() {
        guard output.flush() else { return lose() }
        updateWatch()
    }

    private func updateWatch() {
        guard let watch, let carrier else { return }
        let reading: DescriptorWatch.Readiness = pause == nil ? .reading : []
        watch.readiness = carrier.isWritableWithRoom && output.hasBacklog ? reading.union(.writing) : reading
    }

    // MARK: Receiving

    /// Delivers complete messages. Returns true if none is left, and false if the connection's turn is over before.
    private func deliver() -> Bool {
        if handshake != nil, !shakeHands() { return true }
        do throws(DBusError) {
            for _ in 0..<Self.messagesPerTurn {
                guard carrier != nil, let message = try buffer.nextMessage() else { return carrier != nil }
                receive(message)
            }
        } catch {
            // After an invalid message, the start of the next one is unknown.
            lose()
            return false
        }
        // The buffer may have more.
        watch?.runAgain()
        return false
    }

    /// Continues the handshake. Returns true when messages follow.
    private func shakeHands() -> Bool {
        guard let line = buffer.nextLine(), let outcome = handshake?.outcome, let step = handshake?.state.receive(line)
        else { return false }
        switch step {
        case .send(let bytes):
            output.send(bytes)
            return false
        case .done(let bytes):
            output.passesDescriptors = handshake?.state.passesDescriptors ?? false
            busID = handshake?.state.busID ?? ""
            handshake = nil
            output.send(bytes)
            outcome.deliver(.success(()))
            return true
        case .fail(let reason):
            outcome.deliver(.failure(DBusError(.unreachable, message: reason)))
            return false
        }
    }

    private func receive(_ message: IncomingMessage) {
        receivedCount += 1
        // The bus sends the descriptors of each message by themselves. A message that has lost some, because this
        // process can have no more, comes with fewer.
        let descriptors = message.descriptorCount > 0 ? descriptors.popFirst() ?? [] : []
        var isTaken = false
        switch message.kind {
        case .signal:
            switch service?.judge(message) {
            case nil, .genuine: onSignal(message)
            case .changed(let owner): onOwner(owner)
            case .foreign: break
            }
        case .answer, .error: isTaken = calls.answered(message, descriptors, by: service, over: self)
        case .call:
            let isAdmitted = service.map { $0.owner.map { message.sender == $0 } ?? false } ?? true
            served.answer(message, isAdmitted: isAdmitted, over: output)
        case nil: break
        }
        if !isTaken { discard(descriptors) }
    }

    /// Closes unrequested descriptors. If a sender sends them faster than they can be closed, the session ends.
    private func discard(_ descriptors: [FileDescriptor]) {
        if !DescriptorReaper.shared.close(descriptors) { lose() }
    }

    // MARK: Calls

    /// Makes a call whose answer is read in order with the signals.
    ///
    /// `read` runs on the loop's thread, between the signals that arrive before the answer and those that arrive after
    /// it.
    func ask<Value: Sendable>(
        _ call: MethodCall, timeout: Duration,
        read: @escaping @Sendable (inout MessageReader) throws(DBusError) -> Value
    ) async throws(DBusError) -> Value {
        try await calls.make(call, over: self, timeout: timeout) { (message, _) throws(DBusError) in
            var body = message.body
            return try read(&body)
        }
    }

    /// Starts a call whose answer is read in order with the signals; see `PendingCalls.start`.
    func start<Value>(
        _ call: MethodCall, timeout: Duration,
        read: @escaping (inout MessageReader) throws(DBusError) -> Value,
        completion: @escaping (Result<Value, DBusError>) -> Void
    ) throws(DBusError) -> PendingCall {
        try calls.start(call, over: self, timeout: timeout) { answer in
            completion(
                answer.reading { (message, _) throws(DBusError) in
                    var body = message.body
                    return try read(&body)
                })
        }
    }

    /// Ends a call that was not sent yet. Returns whether it was one.
    func withdraw(_ call: PendingCall) -> Bool { calls.withdraw(call) }

    /// Returns the calls that were sent and may still be answered.
    func unanswered(where matches: (PendingCall) -> Bool) -> [PendingCall] { calls.unanswered(where: matches) }

    /// The number of calls that will never be answered.
    var lostCount: Int { calls.lostCount }

    /// Fails calls that will never be answered.
    func lose(_ lost: [PendingCall], _ error: DBusError) { calls.lose(lost, error, over: self) }

    /// Notes that the answer to a call has been accepted.
    func answered(_ serial: UInt32) { carrier?.answered(serial) }

    /// Makes a call and returns its answer.
    func call(_ call: MethodCall, timeout: Duration) async throws(DBusError) -> MethodReply {
        try output.check(call.descriptors)
        return try await calls.make(call, over: self, timeout: timeout, onTurn: call.onTurn) {
            (message, descriptors) throws(DBusError) in
            var (body, values) = (message.body, [DBusValue]())
            while !body.isAtEnd { values.append(try body.value()) }
            return MethodReply(values, descriptors: descriptors)
        }
    }

    /// Asks the bus for the signals that match `rule`.
    func addMatch(_ rule: String, timeout: Duration) async throws(DBusError) {
        try await ask(.bus("AddMatch", [.string(rule)]), timeout: timeout) { _ in }
    }

    func removeMatch(_ rule: String, timeout: Duration) async throws(DBusError) {
        try await ask(.bus("RemoveMatch", [.string(rule)]), timeout: timeout) { _ in }
    }

    /// Makes a call that wants no answer.
    func send(_ call: MethodCall) throws(DBusError) {
        try output.check(call.descriptors)
        let message = try OutgoingMessage.call(call, serial: output.nextSerial(), wantsReply: false)
        guard output.send(message, call.descriptors) else { throw Self.closed }
    }

    /// Emits a signal: to the service, if there is only one, and to all subscribed connections otherwise.
    func emit(_ signal: OutgoingSignal, to destination: String?) throws(DBusError) {
        loop.checkIsolated()
        // Before the service has an owner, there is no receiver.
        if destination == nil, service != nil, owner == nil { return }
        guard output.send(try OutgoingMessage.signal(signal, to: destination ?? owner, serial: output.nextSerial()))
        else {
            throw Self.closed
        }
    }
}
