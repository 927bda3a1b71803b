internal import Logging
internal import Waiting

extension PeripheralHost {
    // MARK: Serving

    /// Advertises and serves a definition until the task is cancelled, which throws `cancelled`.
    ///
    /// Registers anew after every loss of Bluetooth or the adapter. Several definitions can be served at once.
    ///
    /// Throws `invalidArgument` for a definition that cannot be served; see ``diagnostics(for:)``. Throws `poweredOff`,
    /// `adapterNotFound` or `bluetoothLost` unless ``Configuration/waitsForBluetooth`` is set, `busy` if no advertising
    /// set is free, `shutDown` with the host, and what the system answers.
    ///
    /// - Parameter isAdvertised: whether to advertise, too.
    public func serve(_ definition: PeripheralDefinition, isAdvertised: Bool = true) async throws(BLEError) {
        let number = try await begin(definition, isAdvertised)
        let user = user(number)
        do throws(BLEError) {
            try await user.wait()
        } catch {
            await endServing(number)
            throw error
        }
    }

    /// Serves a definition while `body` runs. `body` receives a handle for its values.
    ///
    /// Otherwise like ``serve(_:isAdvertised:)``. The body is not cancelled if the host is shut down; the handle's
    /// methods throw `shutDown` then.
    public func withServed<Value>(
        _ definition: PeripheralDefinition, isAdvertised: Bool = true,
        isolation: isolated (any Actor)? = #isolation, _ body: (ServedPeripheral) async throws -> Value
    ) async throws -> Value {
        let number = try await begin(definition, isAdvertised)
        do {
            let value = try await body(ServedPeripheral(application: number, host: self))
            await endServing(number)
            return value
        } catch {
            await endServing(number)
            throw error
        }
    }

    private func user(_ number: Int) -> Outcome<Void> {
        let user = registrations.user(of: number)
        // The host may have been shut down meanwhile.
        if isShutDown { user.deliver(.failure(.hostShutDown)) }
        return user
    }

    private func begin(_ definition: PeripheralDefinition, _ isAdvertised: Bool) async throws(BLEError) -> Int {
        try checkRunning()
        if let problem = diagnostics(for: definition).first(where: \.isError) {
            throw BLEError(.invalidArgument, problem.message, isRetryable: false, remedy: problem.remedy)
        }
        let parameters = definition.advertising ?? AdvertisingParameters(definition.advertisement)
        if isAdvertised { try parameters.validate() }
        try await waitUntilOn()
        // Now, because another definition may have come meanwhile.
        try checkHandles(of: definition)
        let number = number()
        // Requests may arrive before the stack has answered.
        registrations.serve(definition, as: number)
        do throws(BLEError) {
            try await backend.register(definition.services, as: number)
            _ = registrations.servicesBegan(number)
            try await publishChannels(of: definition, number)
            if isAdvertised { try await beginAdvertising(parameters, number) }
            try checkRunning()
        } catch {
            await endServing(number)
            throw isShutDown ? .hostShutDown : error
        }
        logger.info("serving", metadata: ["services": "\(definition.services.map(\.uuid))"])
        return number
    }

    /// Throws `invalidArgument` if a definition has fixed handles of another one that is served.
    private func checkHandles(of definition: PeripheralDefinition) throws(BLEError) {
        for service in definition.services {
            guard let handles = service.handles else { continue }
            for other in registrations.definitions.flatMap(\.services)
            where other.handles?.overlaps(handles) == true {
                throw BLEError(
                    .invalidArgument, "the handles of the service overlap those of one that is served",
                    service: service.uuid, isRetryable: false, remedy: "Choose another handle.")
            }
        }
    }

    /// Ends what was registered, also in a cancelled task.
    private func endServing(_ number: Int) async {
        endSubscriptions(of: number)
        endRequests(requests.numbers(for: number), BLEError(.disconnected, "it is no longer served"))
        values.removeAll(of: number)
        // Before the first suspension: a renewal must not begin it again.
        let wasAdvertised = registrations.remove(number)
        await unpublishChannels(of: number)
        guard !isShutDown else { return }
        await Task { [backend] in
            if wasAdvertised { await backend.stopAdvertising(number) }
            await backend.unregister(number)
        }.value
    }

    /// Throws the error for an adapter that is not on, or waits for it if the configuration says so.
    private func waitUntilOn() async throws(BLEError) {
        guard adapter.state != .poweredOn else { return }
        guard configuration.waitsForBluetooth else {
            throw adapter.error ?? BLEError(.bluetoothLost, "Bluetooth is restarting")
        }
        for try await state in adapterStates() where state == .poweredOn { return }
        try checkRunning()
    }

    // MARK: Advertising

    /// Advertises until the task is cancelled, which throws `cancelled`, or until the duration of the parameters has
    /// passed. Nothing is served. Several advertisements can be on the air at once.
    ///
    /// Throws `invalidArgument` for what does not fit a packet; see ``AdvertisingParameters/budget(limit:)``. Otherwise
    /// like ``serve(_:isAdvertised:)``.
    public func advertise(_ parameters: AdvertisingParameters) async throws(BLEError) {
        try checkRunning()
        try parameters.validate()
        try await waitUntilOn()
        let number = number()
        try await beginAdvertising(parameters, number)
        let user = user(number)
        do throws(BLEError) {
            // It may have ended already.
            if registrations.isAdvertised(number) { try await user.wait() }
            await endServing(number)
        } catch {
            await endServing(number)
            throw error
        }
    }

    private func beginAdvertising(_ parameters: AdvertisingParameters, _ number: Int) async throws(BLEError) {
        if isTracing { trace(parameters) }
        registrations.advertise(parameters, as: number)
        do throws(BLEError) {
            try await backend.startAdvertising(parameters, as: number)
            try checkRunning()
        } catch {
            registrations.removeAdvertising(number)
            if error.code == .cancelled { await Task { [backend] in await backend.stopAdvertising(number) }.value }
            throw error
        }
        yield(.advertisingStarted)
        // It may have ended already.
        if !registrations.advertisingBegan(number) { yield(.advertisingEnded(nil)) }
    }

    func advertisingEnded(_ number: Int, _ error: BLEError?) {
        guard let end = registrations.advertisingEnded(number, isLoss: error != nil) else { return }
        if end.wasActive { yield(.advertisingEnded(error)) }
        if end.isOver { end.user?.deliver(.success(())) } else { renew() }
    }

    func applicationEnded(_ number: Int, _ error: BLEError) {
        guard registrations.servicesEnded(number) else { return }
        endSubscriptions(of: number)
        yield(.servicesLost(error))
        renew()
    }

    // MARK: Losses and returns

    func adapterChanged(_ state: AdapterState) {
        guard adapter.change(to: state) else { return }
        logger.debug("adapter", metadata: ["state": "\(state)"])
        switch state {
        case .poweredOn: renew()
        case .poweredOff:
            renewal?.cancel()
            loseLinks(adapter.error ?? .hostShutDown)
        case .unavailable: lose(adapter.error ?? .hostShutDown)
        case .resetting: renewal?.cancel()
        }
    }

    /// Handles the loss of everything that was registered.
    func lose(_ error: BLEError) {
        renewal?.cancel()
        loseLinks(error)
        endSubscriptions()
        for number in registrations.numbers where registrations.servicesEnded(number) { yield(.servicesLost(error)) }
    }

    /// Handles the end of all links and advertising.
    private func loseLinks(_ error: BLEError) {
        // If the stack does not tell subscribers apart, it does not say either that those with a bond remain
        // subscribed: their next link has no new subscription.
        endSubscriptions(subscriptions.all().filter { $0.central != nil })
        values.endReading()
        let reason: DisconnectReason = error.code == .bluetoothLost ? .bluetoothLost : .adapterGone
        for central in centrals.all { centralDisconnected(central, reason: reason) }
        endChannels(error)
        for number in registrations.numbers where registrations.loseAdvertising(number) {
            yield(.advertisingEnded(error))
        }
    }

    /// Registers what was lost, in the order in which it was begun. Goes on after errors, with pauses from 1 s up to
    /// 30 s.
    private func renew() {
        guard adapter.state == .poweredOn, !isShutDown else { return }
        let earlier = renewal
        earlier?.cancel()
        renewal = Task { [weak self, clock] in
            // One at a time: it may be registering what this one would register again.
            await earlier?.value
            var pauses = Backoff(initial: .seconds(1), factor: 2, maximum: .seconds(30)).pauses
            var attempts = 0
            while !Task.isCancelled, await self?.renewAll(isEarly: attempts < Self.earlyRenewals) == false {
                attempts += 1
                guard await pauses.wait(clock) else { return }
            }
        }
    }

    /// The number of renewals after which a stack that has just started offers everything: they take 15 s.
    private static let earlyRenewals = 4

    /// Returns whether nothing is left to register.
    ///
    /// - Parameter isEarly: whether the stack may not offer everything yet.
    private func renewAll(isEarly: Bool) async -> Bool {
        var isComplete = true
        for number in registrations.numbers where !Task.isCancelled {
            guard let definition = registrations.lostDefinition(number) else { continue }
            isComplete =
                await renew(number, .servicesRestored, isEarly) { [backend] () throws(BLEError) in
                    try await backend.register(definition.services, as: number)
                } && isComplete
        }
        for number in registrations.numbers where !Task.isCancelled {
            guard let parameters = registrations.lostAdvertising(number) else { continue }
            isComplete =
                await renew(number, .advertisingStarted, isEarly) { [backend] () throws(BLEError) in
                    try await backend.startAdvertising(parameters, as: number)
                } && isComplete
        }
        return isComplete
    }

    /// Returns false if it has to be tried again.
    private func renew(
        _ number: Int, _ event: PeripheralHostEvent, _ isEarly: Bool, _ register: () async throws(BLEError) -> Void
    ) async -> Bool {
        do throws(BLEError) {
            try await register()
        } catch {
            // After a cancellation, or if the adapter is lost again, the next renewal follows.
            guard !isShutDown, !Task.isCancelled, error.code != .cancelled, adapter.state == .poweredOn else {
                return true
            }
            logger.info("not restored", metadata: ["error": "\(error)"])
            let isPassing = [.poweredOff, .adapterNotFound, .bluetoothUnavailable, .failed].contains(error.code)
            // It was offered before.
            let isMissing = isEarly && error.code == .notSupported
            guard !error.isRetryable, !isPassing, !isMissing else { return false }
            registrations.fail(number, error)
            yield(.failed(error))
            return true
        }
        switch event {
        case .servicesRestored:
            guard registrations.servicesBegan(number) else { await backend.unregister(number); return true }
        default:
            guard registrations.advertisingBegan(number) else { await backend.stopAdvertising(number); return true }
        }
        yield(event)
        return true
    }
}
