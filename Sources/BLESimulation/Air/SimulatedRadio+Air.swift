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

    func setLoss(_ probability: Double, _ id: Peripheral.ID) {
        guard let device = peripherals[id] else { return }
        device.air.loss = probability
        eventsChanged(of: device)
        linkPending(id)
    }

    func setLossSeed(_ seed: UInt64, _ id: Peripheral.ID) {
        let own = id.seed(seed)
        peripherals[id]?.air.seed = own
        peripherals[id]?.air.random = SeededGenerator(seed: own)
    }

    func setConnection(_ parameters: ConnectionEvents.Parameters?, _ id: Peripheral.ID) {
        guard let device = peripherals[id] else { return }
        device.air.connection = parameters
        for link in device.links.values.map(\.shared) {
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
        for link in device.links.values.sorted(by: { $0.number < $1.number }) { startEvents(device, link.shared) }
    }

    func setScanResponse(_ response: Advertisement?, _ id: Peripheral.ID) {
        peripherals[id]?.air.scanResponse = response
        updateAdvertising(id, anew: true)
    }

    /// Carries out the steps of a script at their times, those of the present at once.
    func play<Value: Sendable>(
        _ steps: [(seconds: Double, value: Value)],
        _ apply: @escaping @Sendable (isolated SimulatedRadio, Value) -> Void
    ) {
        for (seconds, value) in steps {
            if seconds <= 0 {
                apply(self, value)
            } else {
                _ = Task.after(.seconds(seconds), clock: clock, on: self, executor: tasks) { apply($0, value) }
            }
        }
    }

    // MARK: Advertisements

    /// Returns what an adapter knows of a peripheral's content. What it has received once, it keeps.
    ///
    /// - Parameter isActive: whether it receives the scan response now.
    func content(of device: SimulatedDevice, on adapter: String, isActive: Bool = false) -> Advertisement {
        guard let response = device.air.scanResponse else { return device.advertisement }
        if isActive { device.records[adapter, default: SimulatedRecord()].hasScanResponse = true }
        let isKnown = device.records[adapter]?.hasScanResponse == true
        return isKnown ? device.advertisement.adding(response) : device.advertisement
    }

    // MARK: Links

    /// Waits until a request or an answer has crossed a link. Throws if the link ends before that. Returns at once if
    /// the peripheral's links have no connection events.
    func cross(_ id: Peripheral.ID, _ port: Int) async throws(BLEError) {
        try await crossing(id, port)?.wait()
    }

    /// Sends something over a link. Returns its arrival; nil if it has arrived.
    func crossing(_ id: Peripheral.ID, _ port: Int) -> Outcome<Void>? {
        guard let device = peripherals[id], device.air.hasEvents, let link = device.links[port] else { return nil }
        return crossing(device, link.shared)
    }

    func crossing(_ device: SimulatedDevice, _ link: SharedLink) -> Outcome<Void> {
        let arrival = Outcome<Void>()
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
                seed: device.air.seed &+ UInt64(link.maker), now: now)
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
        guard !Task.isCancelled, let device = peripherals[id],
            let link = device.links.values.first(where: { $0.shared.served == served })?.shared
        else { return nil }
        let now = time.now()
        switch link.events?.event(at: now, loss: device.air.loss) {
        case .timedOut?: for use in uses(of: link, device) { endUse(device, use, Self.linkLost) }
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
