internal import Waiting

/// A handler of a definition that is running.
struct RunningHandler {
    /// The central that waits for its answer.
    let central: Peripheral.ID
    /// Ends the wait for it, and cancels it.
    let end: (BLEError) -> Void
}

/// The turns at a characteristic, in the order of arrival: one handler of a write runs at a time, and one indication is
/// on its way.
struct HandlerTurns {
    private var queues: [ServedAttribute: [Int]] = [:]
    private var waits: [Int: Outcome<Void>] = [:]

    /// Joins the queue of an attribute. Returns what to wait for; nil if there are `limit` in the queue already.
    mutating func join(_ attribute: ServedAttribute, _ number: Int, limit: Int) -> Outcome<Void>? {
        guard queues[attribute, default: []].count < limit else { return nil }
        let turn = Outcome<Void>()
        queues[attribute, default: []].append(number)
        if queues[attribute]?.count == 1 { turn.deliver(.success(())) } else { waits[number] = turn }
        return turn
    }

    /// Leaves the queue from any position.
    mutating func leave(_ attribute: ServedAttribute, _ number: Int) {
        waits[number] = nil
        guard let index = queues[attribute]?.firstIndex(of: number) else { return }
        queues[attribute]?.remove(at: index)
        guard let next = queues[attribute]?.first else {
            queues[attribute] = nil
            return
        }
        if index == 0 { waits.removeValue(forKey: next)?.deliver(.success(())) }
    }
}

/// Requests of centrals.
extension PeripheralHost {
    /// The maximum length of an attribute's value (Core Specification 5.4, volume 3, part F, section 3.2.9).
    static let maximumLength = 512

    func read(_ attribute: ServedAttribute, _ request: AttributeRequest) async throws(ATTError) -> [UInt8] {
        note(request)
        // bluetoothd passes on what neither reads nor writes.
        guard allows(attribute, .read) else { throw .readNotPermitted }
        let value: [UInt8]
        if request.offset > 0,
            let begun = applications[attribute.application]?.valueBeingRead(of: attribute, by: request.central)
        {
            // A value that changes while it is read in parts would be read as a mixture.
            value = begun
        } else {
            value = try await wholeValue(of: attribute, request)
            guard value.count <= Self.maximumLength else {
                report(
                    BLEError(
                        .invalidLength, "a value of \(value.count) bytes cannot be read",
                        remedy: "An attribute has at most \(Self.maximumLength) bytes.", attribute: attribute, of: self)
                )
                throw .unlikelyError
            }
            // What fits one response is not continued.
            if value.count >= (request.attMTU ?? 23) - 1 {
                applications[attribute.application]?.beginReading(value, of: attribute, by: request.central)
            }
        }
        guard request.offset <= value.count else { throw .invalidOffset }
        return Array(value.dropFirst(request.offset))
    }

    /// Returns the current value, from the handler if there is one.
    private func wholeValue(
        of attribute: ServedAttribute, _ request: AttributeRequest
    ) async throws(ATTError) -> [UInt8] {
        guard let application = applications[attribute.application], let stored = application.value(of: attribute)
        else { throw .invalidHandle }
        guard let handler = application.reader(of: attribute) else { return stored }
        return try await run(attribute, request.central) { () throws(ATTError) in try await handler(request) }
    }

    func write(
        _ value: [UInt8], to attribute: ServedAttribute, _ request: AttributeRequest
    ) async throws(ATTError) {
        note(request)
        guard allows(attribute, [.write, .writeWithoutResponse, .reliableWrite]) else { throw .writeNotPermitted }
        // The system asks for permission; the value follows.
        guard !request.isPrepared else { return }
        let number = number()
        guard let turn = writes.join(attribute, number, limit: configuration.waitingWrites + 1) else {
            report(
                BLEError(
                    .overflow, "\(configuration.waitingWrites) writes are waiting for the handler",
                    attribute: attribute, of: self))
            throw .insufficientResources
        }
        defer { writes.leave(attribute, number) }
        guard (try? await turn.wait()) != nil else { throw .unlikelyError }
        var value = value
        if request.offset > 0 {
            let present = try await wholeValue(of: attribute, request)
            guard request.offset <= present.count else { throw .invalidOffset }
            value = present.prefix(request.offset) + value + present.dropFirst(request.offset + value.count)
        }
        guard value.count <= Self.maximumLength else { throw .invalidAttributeValueLength }
        guard let application = applications[attribute.application], application.value(of: attribute) != nil else {
            throw .invalidHandle
        }
        if let handler = application.writer(of: attribute) {
            let whole = value
            try await run(attribute, request.central) { () throws(ATTError) in try await handler(whole, request) }
        } else {
            applications[attribute.application]?.setValue(value, of: attribute)
            if attribute.descriptor == nil { await notifyAll(value, from: attribute) }
        }
    }

    /// Whether a characteristic has one of the properties. Descriptors have none.
    private func allows(_ attribute: ServedAttribute, _ properties: CharacteristicProperties) -> Bool {
        guard let characteristic = applications[attribute.application]?.characteristic(attribute) else { return true }
        return attribute.descriptor != nil || !characteristic.properties.isDisjoint(with: properties)
    }

    private func note(_ request: AttributeRequest) {
        if centrals[request.central] == nil { observers.yield(.centralConnected(request.central)) }
        centrals[request.central] = .some(request.attMTU ?? centrals[request.central] ?? nil)
    }

    /// Runs a handler, off this actor's executor. It ends with its answer, its deadline, the central's link or the
    /// host.
    private func run<Value: Sendable>(
        _ attribute: ServedAttribute, _ central: Peripheral.ID,
        _ handler: @escaping @Sendable () async throws(ATTError) -> Value
    ) async throws(ATTError) -> Value {
        let outcome = Outcome<Result<Value, ATTError>>()
        let number = number()
        let task = Task { @concurrent in
            do throws(ATTError) {
                outcome.deliver(.success(.success(try await handler())))
            } catch {
                outcome.deliver(.success(.failure(error)))
            }
        }
        running[number] = RunningHandler(central: central) { outcome.deliver(.failure($0)) }
        let timeout = configuration.requestTimeout
        let timer = outcome.expire(after: timeout, clock: clock) {
            BLEError(.timedOut, "a handler did not answer a request within \(timeout)")
        }
        defer {
            timer.cancel()
            task.cancel()
            running[number] = nil
        }
        let result: Result<Value, ATTError>
        do throws(BLEError) {
            result = try await outcome.wait()
        } catch {
            if error.code == .timedOut { report(error.at(attribute, of: self)) }
            throw .unlikelyError
        }
        return try result.get()
    }
}

extension BLEError {
    init(
        _ code: Code, _ message: String, remedy: String? = nil, attribute: ServedAttribute,
        of host: isolated PeripheralHost
    ) {
        self = BLEError(code, message, remedy: remedy).at(attribute, of: host)
    }

    /// Returns the error with the attribute's place.
    func at(_ attribute: ServedAttribute, of host: isolated PeripheralHost) -> BLEError {
        guard let definition = host.applications[attribute.application]?.definition,
            definition.services.indices.contains(attribute.service)
        else { return self }
        var error = self
        error.service = definition.services[attribute.service].uuid
        error.characteristic = host.applications[attribute.application]?.characteristic(attribute)?.uuid
        return error
    }
}
