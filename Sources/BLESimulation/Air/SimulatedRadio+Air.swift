internal import BLE
internal import Synchronization
internal import Waiting

/// Distance, losses and connection events. Without a test that asks for them, everything arrives at once.
extension SimulatedRadio {
    // MARK: Tests

    /// Sets the random delay of advertisements: each interval of each peripheral is up to 10 ms longer, as the
    /// specification requires (Core Specification 5.4, volume 6, part B, section 4.4.2.2.1). Otherwise, peripherals
    /// with the same interval advertise at the same moments.
    ///
    /// - Parameter seed: the same seed has the same delays. Nil ends them.
    public func setAdvertisingDelays(seed: UInt64?) {
        advertisingDelaySeed = seed
        for device in peripherals.all { setAdvertisingDelays(of: device) }
    }

    func setAdvertisingDelays(of device: SimulatedDevice) {
        device.air.delays = advertisingDelaySeed.map { SeededGenerator(seed: device.id.seed($0)) }
    }

    private func setLoss(_ probability: Double, _ id: Peripheral.ID) {
        guard let device = peripherals[id] else { return }
        device.air.loss = probability
        eventsChanged(of: device)
        linkPending(id)
    }

    func play(_ losses: [(seconds: Double, probability: Double)], seed: UInt64, _ id: Peripheral.ID) {
        setLossSeed(seed, id)
        play(losses.map { ($0.seconds, $0.probability) }, .loss, id) { $0.setLoss($1, id) }
    }

    private func setLossSeed(_ seed: UInt64, _ id: Peripheral.ID) {
        guard let device = peripherals[id] else { return }
        let own = id.seed(seed)
        device.air.seed = own
        device.air.random = SeededGenerator(seed: own)
        restartEvents(of: device)
    }

    func setConnection(_ parameters: ConnectionEvents.Parameters?, _ id: Peripheral.ID) {
        guard let device = peripherals[id] else { return }
        device.air.connection = parameters
        restartEvents(of: device)
    }

    /// Begins the connection events of a peripheral's links anew, according to its settings.
    private func restartEvents(of device: SimulatedDevice) {
        for link in device.orderedLinks.map(\.shared) {
            link.eventTask?.cancel()
            (link.eventTask, link.events) = (nil, nil)
            if !device.air.hasEvents { deliverCrossing(link) }
        }
        eventsChanged(of: device)
    }

    private func eventsChanged(of device: SimulatedDevice) {
        guard device.air.hasEvents else { return }
        hasEvents = true
        updateIsDisturbed()
        for link in device.orderedLinks { startEvents(device, link.shared) }
    }

    func setScanResponse(_ response: Advertisement?, _ id: Peripheral.ID) {
        guard let device = peripherals[id] else { return }
        device.air.scanResponse = response
        updateAdvertising(device, anew: true)
    }

    /// Carries out the steps of a script at their times, those of the present at once. Ends the peripheral's former
    /// script of the kind.
    func play<Value: Sendable>(
        _ steps: [(seconds: Double, value: Value)], _ kind: SimulatedDevice.Script, _ id: Peripheral.ID,
        _ apply: @escaping @Sendable (isolated SimulatedRadio, Value) -> Void
    ) {
        guard let device = peripherals[id] else { return }
        device.scripts.removeValue(forKey: kind)?.cancel()
        // Steps of the same moment stay in their order.
        let steps = steps.enumerated().sorted { ($0.element.seconds, $0.offset) < ($1.element.seconds, $1.offset) }
            .map { $0.element }
        let present = steps.prefix { $0.seconds <= 0 }
        for (_, value) in present { apply(self, value) }
        let later = steps.dropFirst(present.count)
        guard !later.isEmpty else { return }
        let start = time.now()
        device.scripts[kind] = Task(executorPreference: tasks) { [weak self, time] in
            for (seconds, value) in later {
                guard (try? await time.sleep(until: start + .seconds(seconds))) != nil else { return }
                await self?.unlessCancelled { apply($0, value) }
            }
        }
    }

    private func unlessCancelled(_ step: @Sendable (isolated SimulatedRadio) -> Void) {
        if !Task.isCancelled { step(self) }
    }

    // MARK: Advertisements

    /// Returns what an adapter knows of a peripheral's content. A scan response that it has received once, it keeps.
    ///
    /// - Parameter isActive: whether it receives the scan response now.
    func content(of device: SimulatedDevice, on adapter: String, isActive: Bool = false) -> Advertisement {
        if let response = device.air.scanResponse, isActive, device.records[adapter]?.scanResponse != response {
            device.records[adapter, default: SimulatedRecord()].scanResponse = response
        }
        var advertisement = device.advertisement
        if !device.strengths.isEmpty, let strength = device.strengths[adapter] { advertisement.rssi = strength }
        guard !device.records.isEmpty, let response = device.records[adapter]?.scanResponse else {
            return advertisement
        }
        return advertisement.adding(response)
    }

    func setStrength(_ strength: Int?, _ id: Peripheral.ID, adapter: String) {
        guard let device = peripherals[id] else { return }
        device.strengths[adapter] = .some(strength)
        if strength == nil { endLinks(device, on: adapter, Self.linkLost) }
        linkPending(device.id)
    }

    // MARK: Links

    /// Waits until a request of a central, or its answer, has crossed the link. Throws if the link ends before that.
    /// Returns at once if the peripheral's links have no connection events.
    ///
    /// - Parameter link: what the request has crossed. Nil for the request itself.
    /// - Returns: the link. Nil if there is none, or another one.
    func cross(_ id: Peripheral.ID, _ port: Int, over link: CentralLink? = nil) async throws(BLEError) -> CentralLink? {
        guard let device = peripherals[id], let own = device.links[port]?.shared, link == nil || own.served == link
        else { return nil }
        try await crossing(device, own)?.wait()
        return own.served
    }

    /// Whether what is sent over a link waits for a connection event. What is sent later does not overtake what waits.
    func waits(_ device: SimulatedDevice, _ link: SharedLink) -> Bool {
        device.air.hasEvents || !link.crossing.isEmpty || !link.served.isUp
    }

    /// Sends something over a link. Returns its arrival, which fails if the link ends before; nil if it has arrived.
    func crossing(_ device: SimulatedDevice, _ link: SharedLink) -> Outcome<Void>? {
        guard waits(device, link) else { return nil }
        let arrival = Outcome<Void>()
        guard link.served.isUp else {
            arrival.deliver(.failure(Self.linkLost))
            return arrival
        }
        link.crossing.append(arrival)
        startEvents(device, link)
        return arrival
    }

    /// Starts the connection events of a link, which happen while anything waits for them or may be lost.
    func startEvents(_ device: SimulatedDevice, _ link: SharedLink) {
        guard link.eventTask == nil, device.air.loss > 0 || !link.crossing.isEmpty else { return }
        let now = time.now()
        var events =
            link.events
            ?? ConnectionEvents(
                device.air.connection ?? ConnectionEvents.Parameters(),
                seed: device.air.seed(ofLink: link.ordinal), now: now)
        events.resume(at: now)
        link.events = events
        let (first, id, served) = (events.next(after: now), device.id, link.served)
        link.eventTask = Task(executorPreference: tasks) { [weak self, time] in
            var next: Duration? = first
            while let deadline = next {
                guard (try? await time.sleep(until: deadline)) != nil else { return }
                next = await self?.connectionEvent(served, id)
            }
        }
    }

    /// Carries out a connection event. Returns the time of the next one; nil if nothing waits for it.
    private func connectionEvent(_ served: CentralLink, _ id: Peripheral.ID) -> Duration? {
        guard !Task.isCancelled, let device = peripherals[id], let link = device.link(served) else { return nil }
        let now = time.now()
        switch link.events?.event(at: now, loss: device.air.loss) {
        case .timedOut?: endLink(device, link, Self.linkLost)
        case .lost?: break
        case .received?, nil: deliverCrossing(link)
        }
        guard link.served.isUp, device.air.loss > 0 || !link.crossing.isEmpty else {
            link.eventTask = nil
            return nil
        }
        return link.events?.next(after: now)
    }

    private func deliverCrossing(_ link: SharedLink) {
        let arrived = link.crossing
        link.crossing = []
        for arrival in arrived { arrival.deliver(.success(())) }
    }
}
