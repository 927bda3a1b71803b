internal import Logging
internal import Waiting

/// Something that a host advertises.
struct HostedAdvertisement {
    let parameters: AdvertisingParameters
    /// Whether it belongs to a definition that is served, which goes on when the advertising ends.
    let isOfDefinition: Bool
    /// Whether it is on the air.
    var isActive = false
    /// Whether it has been on the air, so that it is started again after a loss.
    var hasBegun = false
}

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
        let user = Outcome<Void>()
        users[number] = user
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
        applications[number] = ServedApplication(definition)
        do throws(BLEError) {
            try await backend.register(definition.services, as: number)
            applications[number]?.setRegistered(true)
            try await publishChannels(of: definition, number)
            if isAdvertised { try await beginAdvertising(parameters, number, isOfDefinition: true) }
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
            for other in applications.values.flatMap(\.definition.services)
            where other.handles?.overlaps(handles) == true {
                throw BLEError(
                    .invalidArgument, "the handles of the service overlap those of one that is served",
                    service: service.uuid, isRetryable: false, remedy: "Choose another handle.")
            }
        }
    }

    /// Ends what was registered, also in a cancelled task.
    private func endServing(_ number: Int) async {
        users[number] = nil
        endSubscriptions(of: number)
        endRequests(BLEError(.disconnected, "it is no longer served")) { $0.application == number }
        applications[number] = nil
        await unpublishChannels(of: number)
        let wasAdvertised = advertisements.removeValue(forKey: number) != nil
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
        try await beginAdvertising(parameters, number, isOfDefinition: false)
        let user = user(number)
        do throws(BLEError) {
            // It may have ended already.
            if advertisements[number] != nil { try await user.wait() }
            await endServing(number)
        } catch {
            await endServing(number)
            throw error
        }
    }

    private func beginAdvertising(
        _ parameters: AdvertisingParameters, _ number: Int, isOfDefinition: Bool
    ) async throws(BLEError) {
        if isTracing { trace(parameters) }
        advertisements[number] = HostedAdvertisement(parameters: parameters, isOfDefinition: isOfDefinition)
        do throws(BLEError) {
            try await backend.startAdvertising(parameters, as: number)
            try checkRunning()
        } catch {
            advertisements[number] = nil
            if error.code == .cancelled { await Task { [backend] in await backend.stopAdvertising(number) }.value }
            throw error
        }
        yield(.advertisingStarted)
        guard advertisements[number] != nil else {
            // It has ended already.
            yield(.advertisingEnded(nil))
            return
        }
        advertisements[number]?.isActive = true
        advertisements[number]?.hasBegun = true
    }

    func advertisingEnded(_ number: Int, _ error: BLEError?) {
        guard let ended = advertisements[number] else { return }
        if ended.isActive { yield(.advertisingEnded(error)) }
        guard error != nil, ended.hasBegun else {
            advertisements[number] = nil
            if !ended.isOfDefinition { users[number]?.deliver(.success(())) }
            return
        }
        advertisements[number]?.isActive = false
        renew()
    }

    func applicationEnded(_ number: Int, _ error: BLEError) {
        guard applications[number]?.isRegistered == true else { return }
        endSubscriptions(of: number)
        applications[number]?.setRegistered(false)
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
        for number in applications.keys { endSubscriptions(of: number) }
        for number in applications.keys where applications[number]?.isRegistered == true {
            applications[number]?.setRegistered(false)
            yield(.servicesLost(error))
        }
    }

    /// Handles the end of all links and advertising.
    private func loseLinks(_ error: BLEError) {
        // If the stack does not tell subscribers apart, it does not say either that those with a bond remain
        // subscribed: their next link has no new subscription.
        for number in applications.keys {
            for (attribute, central) in applications[number]?.subscriptionsOfCentrals ?? [] {
                unsubscribed(attribute, central)
            }
            applications[number]?.forgetReaders()
        }
        for central in Array(centrals.keys) { centralDisconnected(central) }
        endChannels(error)
        for number in advertisements.keys where advertisements[number]?.isActive == true {
            advertisements[number]?.isActive = false
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
            while !Task.isCancelled, await self?.renewAll() == false {
                guard await pauses.wait(clock) else { return }
            }
        }
    }

    /// Returns whether nothing is left to register.
    private func renewAll() async -> Bool {
        var isComplete = true
        for number in applications.keys.sorted() where !Task.isCancelled {
            guard let application = applications[number], application.hasBegun, !application.isRegistered else {
                continue
            }
            isComplete =
                await renew(number, .servicesRestored) { [backend] () throws(BLEError) in
                    try await backend.register(application.definition.services, as: number)
                } && isComplete
        }
        for number in advertisements.keys.sorted() where !Task.isCancelled {
            guard let advertisement = advertisements[number], advertisement.hasBegun, !advertisement.isActive,
                applications[number]?.isRegistered != false
            else { continue }
            isComplete =
                await renew(number, .advertisingStarted) { [backend] () throws(BLEError) in
                    try await backend.startAdvertising(advertisement.parameters, as: number)
                } && isComplete
        }
        return isComplete
    }

    /// Returns false if it has to be tried again.
    private func renew(
        _ number: Int, _ event: PeripheralHostEvent, _ register: () async throws(BLEError) -> Void
    ) async -> Bool {
        do throws(BLEError) {
            try await register()
        } catch {
            // Whoever is cancelled, or has lost the adapter again, is followed by the next renewal.
            guard !isShutDown, !Task.isCancelled, error.code != .cancelled, adapter.state == .poweredOn else {
                return true
            }
            logger.info("not restored", metadata: ["error": "\(error)"])
            let isPassing = [.poweredOff, .adapterNotFound, .bluetoothUnavailable, .failed].contains(error.code)
            guard !error.isRetryable, !isPassing else { return false }
            users[number]?.deliver(.failure(error))
            yield(.failed(error))
            return true
        }
        switch event {
        case .servicesRestored:
            guard applications[number] != nil else { await backend.unregister(number); return true }
            applications[number]?.setRegistered(true)
        default:
            guard advertisements[number] != nil else { await backend.stopAdvertising(number); return true }
            advertisements[number]?.isActive = true
        }
        yield(event)
        return true
    }
}
