internal import Waiting

/// A request of a central that is being answered.
struct PendingRequest {
    /// What it is for.
    let application: Int
    /// The central that waits for its answer.
    let central: Peripheral.ID
    /// Ends what it waits for: its turn, or its handler, which is cancelled.
    var end: (BLEError) -> Void = { _ in }
    /// Ends it, whatever it waits for.
    var failure: BLEError?
}

/// Requests of centrals.
extension PeripheralHost {
    /// The maximum length of an attribute's value (Core Specification 5.4, volume 3, part F, section 3.2.9).
    static let maximumLength = 512

    func read(_ attribute: ServedAttribute, _ request: AttributeRequest) async throws(ATTError) -> [UInt8] {
        // bluetoothd passes on what neither reads nor writes.
        guard allows(attribute, .read) else { throw .readNotPermitted }
        guard request.offset >= 0 else { throw .invalidOffset }
        // A value that changes while it is read in parts would be read as a mixture.
        if request.offset > 0, applications[attribute.application]?.isReading(attribute, by: request.central) == true {
            try await answer(attribute, request) { (number) throws(ATTError) in
                try await self.authorize(.read, attribute, request, number)
            }
        }
        if request.offset > 0,
            let rest = applications[attribute.application]?.continueReading(
                attribute, by: request.central, from: request.offset)
        {
            return rest
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
        // Its link may have ended meanwhile.
        if request.offset == 0, request.link?.isUp ?? true, centrals[request.central] != nil {
            applications[attribute.application]?.beginReading(value, of: attribute, by: request.central)
        }
        return Array(value.dropFirst(request.offset))
    }

    /// Answers a request before its deadline, which counts from now for everything that it waits for.
    private func answer<Value: Sendable>(
        _ attribute: ServedAttribute, _ request: AttributeRequest,
        _ work: (_ number: Int) async throws(ATTError) -> Value
    ) async throws(ATTError) -> Value {
        guard !isShutDown, applications[attribute.application] != nil else { throw .unlikelyError }
        // The end of the link may have overtaken it: what the central had is freed already.
        guard request.link?.isUp ?? true else { throw .unlikelyError }
        note(request)
        let number = number()
        requests[number] = PendingRequest(application: attribute.application, central: request.central)
        let timeout = requestTimeout
        let timer = Task { [weak self, clock] in
            guard (try? await clock.sleep(for: timeout)) != nil else { return }
            await self?.requestTimedOut(number, attribute, timeout)
        }
        defer {
            timer.cancel()
            requests[number] = nil
        }
        return try await work(number)
    }

    /// The configuration's limit, or a little less than that of the stack, after which an answer would be in vain.
    private var requestTimeout: Duration { min(configuration.requestTimeout, backend.limits.requestTimeout * 0.8) }

    private func requestTimedOut(_ number: Int, _ attribute: ServedAttribute, _ timeout: Duration) {
        guard requests[number] != nil else { return }
        let error = BLEError(
            .timedOut, "a request was not answered within \(timeout)", attribute: attribute, of: self)
        report(error)
        endRequest(number, error)
    }

    /// Ends a request, whatever it waits for.
    func endRequest(_ number: Int, _ error: BLEError) {
        requests[number]?.failure = error
        requests[number]?.end(error)
    }

    func endRequests(_ error: BLEError, where matches: (PendingRequest) -> Bool) {
        for (number, request) in requests where matches(request) { endRequest(number, error) }
    }

    /// Waits for an outcome, or the end of the request.
    private func wait<Value: Sendable>(
        _ outcome: Outcome<Value>, _ number: Int
    ) async throws(ATTError) -> Value {
        try checkPending(number)
        requests[number]?.end = { outcome.deliver(.failure($0)) }
        defer { requests[number]?.end = { _ in } }
        do throws(BLEError) {
            return try await outcome.wait()
        } catch {
            throw .unlikelyError
        }
    }

    /// Throws if a request has ended.
    private func checkPending(_ number: Int) throws(ATTError) {
        guard let request = requests[number], request.failure == nil else { throw .unlikelyError }
    }

    /// Asks the definition, if it decides on requests.
    private func authorize(
        _ access: AttributeAccess, _ attribute: ServedAttribute, _ request: AttributeRequest, _ number: Int
    ) async throws(ATTError) {
        guard attribute.descriptor == nil,
            let authorize = applications[attribute.application]?.characteristic(attribute)?.authorize
        else { return }
        try await run(number) { () throws(ATTError) in try await authorize(access, request) }
    }

    /// Returns the current value, from the handler if there is one.
    private func wholeValue(
        of attribute: ServedAttribute, _ request: AttributeRequest, _ number: Int
    ) async throws(ATTError) -> [UInt8] {
        guard let application = applications[attribute.application], let stored = application.value(of: attribute)
        else { throw .invalidHandle }
        guard let handler = application.reader(of: attribute) else { return stored }
        return try await run(number) { () throws(ATTError) in try await handler(request) }
    }

    func write(
        _ value: [UInt8], to attribute: ServedAttribute, _ request: AttributeRequest
    ) async throws(ATTError) {
        guard allows(attribute, [.write, .writeWithoutResponse, .reliableWrite]) else { throw .writeNotPermitted }
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
        let (turn, joined) = writes.wait(queue, number, limit: configuration.waitingWrites + 1)
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
        defer { writes.end(number) }
        try await wait(turn, number)
        try await authorize(.write, attribute, request, number)
        var value = value
        if request.offset > 0 {
            let present = try await wholeValue(of: attribute, request, number)
            guard request.offset <= present.count else { throw .invalidOffset }
            value = present.prefix(request.offset) + value + present.dropFirst(request.offset + value.count)
        }
        guard value.count <= Self.maximumLength else { throw .invalidAttributeValueLength }
        guard !isShutDown, let application = applications[attribute.application],
            application.value(of: attribute) != nil
        else { throw .unlikelyError }
        // What is rejected must not take effect.
        try checkPending(number)
        applications[attribute.application]?.endReading(attribute, by: request.central)
        if let handler = application.writer(of: attribute) {
            let whole = value
            try await run(number) { () throws(ATTError) in try await handler(whole, request) }
        } else {
            applications[attribute.application]?.setValue(value, of: attribute)
            if attribute.descriptor == nil { await notifyAll(value, from: attribute) }
        }
    }

    /// Whether a characteristic has one of the properties. A descriptor can always be read.
    private func allows(_ attribute: ServedAttribute, _ properties: CharacteristicProperties) -> Bool {
        guard let characteristic = applications[attribute.application]?.characteristic(attribute) else { return true }
        guard let descriptor = attribute.descriptor else {
            return !characteristic.properties.isDisjoint(with: properties)
        }
        guard properties != .read, characteristic.descriptors.indices.contains(descriptor) else { return true }
        return characteristic.descriptors[descriptor].isWritable
    }

    private func note(_ request: AttributeRequest) {
        if centrals[request.central] == nil { yield(.centralConnected(request.central)) }
        centrals[request.central] = .some(request.attMTU ?? centrals[request.central] ?? nil)
    }

    /// Runs a handler, off this actor's executor. Ends with its answer or with its request; a turn is kept until the
    /// handler has returned.
    private func run<Value: Sendable>(
        _ number: Int, _ handler: @escaping @Sendable () async throws(ATTError) -> Value
    ) async throws(ATTError) -> Value {
        try checkPending(number)
        let outcome = Outcome<Result<Value, ATTError>>()
        // The turn lasts until the handler has returned, even if the request ends before.
        writes.hold(number)
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
        requests[number]?.end = { error in
            outcome.deliver(.failure(error))
            task.cancel()
        }
        defer { requests[number]?.end = { _ in } }
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

    private func handlerReturned(_ number: Int) { writes.endHold(number) }
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
