internal import Waiting

/// Requests of centrals.
extension PeripheralHost {
    /// The maximum length of an attribute's value (Core Specification 5.4, volume 3, part F, section 3.2.9).
    static let maximumLength = 512

    func read(_ attribute: ServedAttribute, _ received: AttributeRequest) async throws(ATTError) -> [UInt8] {
        let request = received.on(clock)
        // bluetoothd passes on what neither reads nor writes.
        guard characteristic(attribute)?.allows(attribute, .read) ?? true else { throw .readNotPermitted }
        guard request.offset >= 0 else { throw .invalidOffset }
        // A value that changes while it is read in parts would be read as a mixture.
        if request.offset > 0, values.isReading(attribute, by: request.central) {
            if authorization(of: attribute) != nil {
                try await answer(attribute, request) { (number) throws(ATTError) in
                    try await self.authorize(.read, attribute, request, number)
                }
            }
            if let rest = values.continueReading(attribute, by: request.central, from: request.offset) { return rest }
        }
        let value = try await answer(attribute, request) { (number) throws(ATTError) in
            try await self.authorize(.read, attribute, request, number)
            return try await self.wholeValue(of: attribute, request, number)
        }
        guard value.count <= Self.maximumLength else {
            report(
                BLEError(
                    .invalidLength, "a value of \(value.count) bytes cannot be read",
                    remedy: "An attribute has at most \(Self.maximumLength) bytes.", attribute: attribute, of: self))
            throw .unlikelyError
        }
        guard request.offset <= value.count else { throw .invalidOffset }
        // Its link may have ended meanwhile, or the definition.
        if request.offset == 0, request.link?.isUp ?? true, centrals.contains(request.central),
            characteristic(attribute) != nil
        {
            values.beginReading(value, of: attribute, by: request.central)
        }
        return Array(value.dropFirst(request.offset))
    }

    /// Answers a request before its deadline, which counts from now for everything that it waits for.
    private func answer<Value: Sendable>(
        _ attribute: ServedAttribute, _ request: AttributeRequest,
        _ work: (_ number: Int) async throws(ATTError) -> Value
    ) async throws(ATTError) -> Value {
        guard !isShutDown, registrations.definition(attribute.application) != nil else { throw .unlikelyError }
        // The end of the link may have overtaken it: what the central had is freed already.
        guard request.link?.isUp ?? true else { throw .unlikelyError }
        centralConnected(request.central, attMTU: request.attMTU)
        let number = number()
        requests.begin(number, for: attribute.application, from: request.central)
        let timeout = requestTimeout
        let expiry = Expiry(after: timeout, clock: deadlineClock) { [weak self] in
            Task { await self?.requestTimedOut(number, attribute, timeout) }
        }
        defer {
            expiry.cancel()
            requests.remove(number)
        }
        return try await work(number)
    }

    /// The configuration's limit, or a little less than that of the stack, after which an answer would be in vain.
    private var requestTimeout: Duration { min(configuration.requestTimeout, backend.limits.requestTimeout * 0.8) }

    private func requestTimedOut(_ number: Int, _ attribute: ServedAttribute, _ timeout: Duration) {
        guard let end = requests.end(number) else { return }
        let error = BLEError(
            .timedOut, "a request was not answered within \(timeout)", attribute: attribute, of: self)
        report(error)
        end(error)
    }

    /// Ends requests, whatever they wait for.
    func endRequests(_ numbers: [Int], _ error: BLEError) {
        for number in numbers { requests.end(number)?(error) }
    }

    /// Waits for an outcome, or the end of the request.
    private func wait<Value: Sendable>(
        _ outcome: Outcome<Value>, _ number: Int
    ) async throws(ATTError) -> Value {
        try checkPending(number)
        requests.wait(number) { outcome.deliver(.failure($0)) }
        defer { requests.wait(number, end: nil) }
        do throws(BLEError) {
            return try await outcome.wait()
        } catch {
            throw .unlikelyError
        }
    }

    /// Throws if a request has ended.
    private func checkPending(_ number: Int) throws(ATTError) {
        guard requests.isPending(number) else { throw .unlikelyError }
    }

    private func authorization(of attribute: ServedAttribute) -> CharacteristicDefinition.AuthorizationHandler? {
        attribute.descriptor == nil ? characteristic(attribute)?.authorize : nil
    }

    /// Asks the definition, if it decides on requests.
    private func authorize(
        _ access: AttributeAccess, _ attribute: ServedAttribute, _ request: AttributeRequest, _ number: Int
    ) async throws(ATTError) {
        guard let authorize = authorization(of: attribute) else { return }
        try await run(number) { () throws(ATTError) in try await authorize(access, request) }
    }

    /// Returns the current value, from the handler if there is one.
    private func wholeValue(
        of attribute: ServedAttribute, _ request: AttributeRequest, _ number: Int
    ) async throws(ATTError) -> [UInt8] {
        if let stored = try storedValue(of: attribute) { return stored }
        guard let handler = characteristic(attribute)?.reader(at: attribute) else { throw .invalidHandle }
        return try await run(number) { () throws(ATTError) in try await handler(request) }
    }

    /// Returns the current value, unless there is a handler for it.
    private func storedValue(of attribute: ServedAttribute) throws(ATTError) -> [UInt8]? {
        guard let characteristic = characteristic(attribute), let initial = characteristic.value(at: attribute) else {
            throw .invalidHandle
        }
        guard characteristic.reader(at: attribute) == nil else { return nil }
        return values[attribute] ?? initial
    }

    /// Whether an attribute has no handlers: a write of it stores the value, and waits for nothing before.
    private func isOnlyStored(_ attribute: ServedAttribute) -> Bool {
        guard let characteristic = characteristic(attribute) else { return false }
        return characteristic.writer(at: attribute) == nil && characteristic.reader(at: attribute) == nil
            && authorization(of: attribute) == nil
    }

    func write(
        _ value: [UInt8], to attribute: ServedAttribute, _ received: AttributeRequest
    ) async throws(ATTError) {
        let request = received.on(clock)
        let isAllowed = characteristic(attribute)?.allows(attribute, [.write, .writeWithoutResponse, .reliableWrite])
        guard isAllowed ?? true else { throw .writeNotPermitted }
        guard request.offset >= 0 else { throw .invalidOffset }
        try await answer(attribute, request) { (number) throws(ATTError) in
            // The system asks for permission; the value follows.
            guard !request.isPrepared else {
                return try await self.authorize(.write, attribute, request, number)
            }
            try await self.write(value, to: attribute, request, number)
        }
    }

    private func write(
        _ value: [UInt8], to attribute: ServedAttribute, _ request: AttributeRequest, _ number: Int
    ) async throws(ATTError) {
        let queue = AttributeOfCentral(attribute: attribute, central: request.central)
        let (turn, joined) = requests.writes.wait(queue, number, limit: configuration.waitingWrites + 1)
        if case .full(let isFirst) = joined {
            // Reported once, not for each write of a flood.
            if isFirst {
                report(
                    BLEError(
                        .overflow, "\(configuration.waitingWrites) writes of \(request.central) wait for the handler",
                        attribute: attribute, of: self))
            }
            throw .insufficientResources
        }
        defer { requests.writes.end(number) }
        // What is only stored takes effect in the step in which it joins: a read that follows a command takes no fewer
        // steps to get here, and must not overtake it.
        if !isOnlyStored(attribute) {
            try await wait(turn, number)
            try await authorize(.write, attribute, request, number)
        }
        var value = value
        if request.offset > 0 {
            let present: [UInt8]
            if let stored = try storedValue(of: attribute) {
                present = stored
            } else {
                present = try await wholeValue(of: attribute, request, number)
            }
            guard request.offset <= present.count else { throw .invalidOffset }
            value = present.prefix(request.offset) + value + present.dropFirst(request.offset + value.count)
        }
        guard value.count <= Self.maximumLength else { throw .invalidAttributeValueLength }
        guard !isShutDown, let characteristic = characteristic(attribute), characteristic.value(at: attribute) != nil
        else { throw .unlikelyError }
        // What is rejected must not take effect.
        try checkPending(number)
        values.endReading(attribute, by: request.central)
        if let handler = characteristic.writer(at: attribute) {
            let whole = value
            try await run(number) { () throws(ATTError) in try await handler(whole, request) }
        } else {
            guard attribute.descriptor == nil else {
                values[attribute] = value
                return
            }
            await notifyAll(value, from: attribute, keep(value, in: attribute))
        }
    }

    /// Runs a handler, off this actor's executor. Ends with its answer or with its request; a turn is kept until the
    /// handler has returned.
    private func run<Value: Sendable>(
        _ number: Int, _ handler: @escaping @Sendable () async throws(ATTError) -> Value
    ) async throws(ATTError) -> Value {
        try checkPending(number)
        let outcome = Outcome<Result<Value, ATTError>>()
        // The turn lasts until the handler has returned, even if the request ends before.
        requests.writes.hold(number)
        let task = Task { @concurrent [weak self] in
            let result: Result<Value, ATTError>
            do throws(ATTError) {
                // The request may have ended before the handler begins.
                if Task.isCancelled { throw .unlikelyError }
                result = .success(try await handler())
            } catch {
                result = .failure(error)
            }
            if !outcome.deliver(.success(result)) { await self?.handlerReturned(number) }
        }
        // Cancelled before anything else is told that the request has ended, and not before the outcome is decided:
        // what a cancelled handler returns is no answer.
        requests.wait(number) { error in
            outcome.deliver(.failure(error))
            task.cancel()
        }
        defer { requests.wait(number, end: nil) }
        let result: Result<Value, ATTError>
        do throws(BLEError) {
            result = try await outcome.wait()
        } catch {
            task.cancel()
            throw .unlikelyError
        }
        handlerReturned(number)
        return try result.get()
    }

    private func handlerReturned(_ number: Int) { requests.writes.endHold(number) }
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
        guard let place = host.place(of: attribute) else { return self }
        var error = self
        (error.service, error.characteristic) = (place.service, place.characteristic)
        return error
    }
}
