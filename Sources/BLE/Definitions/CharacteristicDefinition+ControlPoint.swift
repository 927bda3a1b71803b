internal import Synchronization
internal import Waiting

extension CharacteristicDefinition {
    /// Creates a control point, which indicates the result of `answer` for each request that is written to it.
    ///
    /// Requests are rejected with ``ATTError/improperlyConfigured`` while no central is subscribed, as specifications
    /// require, and with the error that `answer` throws. If `answer` returns nil, nothing is indicated. A central that
    /// has not confirmed a result receives the next one after it has. If that takes longer than a request may, its
    /// request is rejected, although `answer` has run.
    public static func controlPoint(
        _ characteristic: BluetoothUUID, security: AttributeSecurity = .open,
        answer: @escaping @Sendable (_ request: [UInt8]) async throws(ATTError) -> [UInt8]?
    ) -> CharacteristicDefinition {
        controlPoint(characteristic, security: security) { (value, _) throws(ATTError) in try await answer(value) }
    }

    /// Creates a control point whose answer depends on the request's central. Otherwise like
    /// ``controlPoint(_:security:answer:)``.
    ///
    /// - Parameter answering: receives the written value, and the request.
    public static func controlPoint(
        _ characteristic: BluetoothUUID, security: AttributeSecurity = .open,
        answering answer:
            @escaping @Sendable (_ value: [UInt8], _ request: AttributeRequest) async throws(ATTError) -> [UInt8]?
    ) -> CharacteristicDefinition {
        let subscribers = ControlPointSubscribers<Notifier>()
        return CharacteristicDefinition(
            characteristic, [.write, .indicate], security: security,
            onWrite: { (value, request) throws(ATTError) in
                guard let notifier = subscribers.find(request.central) else { throw .improperlyConfigured }
                if let bytes = try await answer(value, request) { await notifier.notify(bytes) }
            },
            onSubscribe: { notifier in try await subscribers.hold(notifier) })
    }

    /// Creates a control point whose requests and answers have the usual layout, that of ``ControlPoint``.
    ///
    /// ```swift
    /// enum BrewResult: UInt8, ControlPointResult {
    ///     case success = 1, notSupported = 2, failed = 4
    ///     var meaning: String? { "\(self)" }
    /// }
    /// let definition = CharacteristicDefinition.controlPoint(
    ///     BluetoothUUID(0xFF02), responseOpcode: 0x80, failure: BrewResult.failed
    /// ) { request in
    ///     guard request.opcode == 1 else { return .result(.notSupported) }
    ///     let seconds: UInt8 = try request.parameter()
    ///     try await request.attribute.clock.sleep(for: .seconds(Int(seconds)))
    ///     return .success()
    /// }
    /// ```
    ///
    /// The write of a request is answered at once, and the procedure runs afterwards, until its result is indicated or
    /// the central unsubscribes, which cancels it. Meanwhile, further requests of the central are rejected with
    /// ``ATTError/procedureInProgress``. Without a subscription, they are rejected with
    /// ``ATTError/improperlyConfigured``, and an empty one with ``ATTError/invalidAttributeValueLength``. Each central
    /// has its own procedure; what they share, such as a machine, is the matter of `perform`.
    ///
    /// If the system does not tell subscribers apart, there is one procedure for all centrals, all of them get its
    /// result, and a central that has not subscribed is answered like the others.
    ///
    /// The definition is for one place: if two devices or hosts had it, it would mix up their subscribers.
    ///
    /// - Parameters:
    ///   - responseOpcode: the first byte of every answer.
    ///   - failure: the result that is indicated when `perform` throws, unless it throws a ``ControlPointError``.
    ///   - perform: carries out a request. A procedure that takes longer than the 30 s that centrals usually wait
    ///     returns when it is accepted, and goes on elsewhere, which is also how another request can stop it.
    public static func controlPoint<Result: ControlPointResult>(
        _ characteristic: BluetoothUUID, security: AttributeSecurity = .open, responseOpcode: UInt8, failure: Result,
        perform: @escaping @Sendable (_ request: ControlPointRequest) async throws -> ControlPointAnswer<Result>
    ) -> CharacteristicDefinition {
        let subscribers = ControlPointSubscribers<ControlPointProcedures>()
        return CharacteristicDefinition(
            characteristic, [.write, .indicate], security: security,
            onWrite: { (value, request) throws(ATTError) in
                guard let procedures = subscribers.find(request.central) else { throw .improperlyConfigured }
                guard let opcode = value.first else { throw .invalidAttributeValueLength }
                let request = ControlPointRequest(
                    opcode: opcode, parameter: Array(value.dropFirst()), attribute: request)
                guard procedures.begin(request) else { throw .procedureInProgress }
            },
            onSubscribe: { notifier in
                let procedures = ControlPointProcedures()
                let number = subscribers.add(procedures, of: notifier.central)
                defer { subscribers.remove(notifier.central, number) }
                for try await request in procedures.requests {
                    let answer: ControlPointAnswer<Result>
                    do {
                        answer = try await perform(request)
                    } catch let error as ControlPointError<Result> {
                        answer = .result(error.result, error.parameter)
                    } catch {
                        answer = .result(failure)
                    }
                    try Task.checkCancellation()
                    // Before the answer, because the central may send its next request as soon as it has it.
                    if answer.work == nil { procedures.end() }
                    await notifier.notify([responseOpcode, request.opcode, answer.result.rawValue] + answer.parameter)
                    guard let work = answer.work else { continue }
                    do {
                        try await work(notifier)
                    } catch  where notifier.central == nil && !Task.isCancelled {
                        // The other centrals keep their control point.
                    }
                    procedures.end()
                }
            })
    }
}

/// A request that a central has written to a control point.
public struct ControlPointRequest: Sendable {
    /// The procedure, whose numbers the specification of the control point defines.
    public let opcode: UInt8
    /// The bytes after the opcode.
    public let parameter: [UInt8]
    /// The request of the write: who asks, and the clock to wait on.
    public let attribute: AttributeRequest

    /// Decodes the whole parameter. Throws `invalidValue`.
    public func parameter<Value: ValueCodable>(as type: Value.Type = Value.self) throws(BLEError) -> Value {
        try Value(bytes: parameter)
    }
}

/// How a control point answers a request.
public struct ControlPointAnswer<Result: ControlPointResult>: Sendable {
    /// The result code.
    public let result: Result
    /// The bytes after the result code.
    public let parameter: [UInt8]
    /// Runs after the answer was sent. The end of the subscription cancels it.
    let work: (@Sendable (Notifier) async throws -> Void)?

    /// The procedure was carried out.
    ///
    /// - Parameter work: what follows the answer, such as sending results. Further requests are rejected meanwhile. An
    ///   error ends the subscription, as one of ``CharacteristicDefinition/SubscriptionHandler`` does, unless several
    ///   centrals have it that the system does not tell apart.
    public static func success(
        _ parameter: [UInt8] = [], then work: (@Sendable (_ notifier: Notifier) async throws -> Void)? = nil
    ) -> Self {
        Self(result: .success, parameter: parameter, work: work)
    }

    /// The procedure was carried out, with a typed parameter. Throws `invalidValue` if that cannot be encoded.
    public static func success(
        _ parameter: some ValueCodable, then work: (@Sendable (_ notifier: Notifier) async throws -> Void)? = nil
    ) throws(BLEError) -> Self {
        success(try parameter.encoded(), then: work)
    }

    /// The procedure has another result.
    public static func result(_ result: Result, _ parameter: [UInt8] = []) -> Self {
        Self(result: result, parameter: parameter, work: nil)
    }
}

/// The procedures of one subscriber, of which one runs at a time.
private final class ControlPointProcedures: Sendable {
    let requests: BoundedStream<ControlPointRequest>
    private let producer: BoundedStream<ControlPointRequest>.Producer
    private let isBusy = Mutex(false)

    init() {
        (requests, producer) = BoundedStream.make(policy: .dropNewest(capacity: 1))
    }

    /// Begins a procedure. Returns false while one runs.
    func begin(_ request: ControlPointRequest) -> Bool {
        let wasBusy = isBusy.withLock { isBusy in
            defer { isBusy = true }
            return isBusy
        }
        guard !wasBusy else { return false }
        producer.yield(request)
        return true
    }

    func end() { isBusy.withLock { $0 = false } }
}

/// What a control point has for each of its subscribers.
package final class ControlPointSubscribers<Entry: Sendable>: Sendable {
    private struct State {
        /// The entries, by central. Nil for centrals that the system does not distinguish.
        var entries: [DeviceID?: (entry: Entry, number: Int)] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// Creates a control point's subscribers, none at first.
    package init() {}

    /// Returns the entry of a central.
    package func find(_ central: DeviceID) -> Entry? {
        state.withLock { ($0.entries[central] ?? $0.entries[.none])?.entry }
    }

    /// Adds the entry of a subscription, and returns its number.
    func add(_ entry: Entry, of central: DeviceID?) -> Int {
        state.withLock { state in
            state.last += 1
            state.entries[central] = (entry, state.last)
            return state.last
        }
    }

    /// Removes a subscription, unless the central's next one has already replaced it.
    func remove(_ central: DeviceID?, _ number: Int) {
        state.withLock { if $0.entries[central]?.number == number { $0.entries[central] = nil } }
    }
}

extension ControlPointSubscribers<Notifier> {
    /// Adds a subscription, and waits until the task is cancelled, which removes it.
    package func hold(_ notifier: Notifier) async throws {
        let number = add(notifier, of: notifier.central)
        defer { remove(notifier.central, number) }
        try await Outcome<Void>().wait()
    }
}
