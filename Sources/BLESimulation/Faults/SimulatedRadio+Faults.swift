internal import BLE
internal import Synchronization
internal import Waiting

/// Carries out what the ``FaultPlan`` decides.
extension SimulatedRadio {
    /// An event that does not go on yet.
    struct Pause {
        let peripheral: Peripheral.ID?
        let port: Int?
        let fault: Int
        /// Whether the event never happens.
        let isLoss: Bool
        let outcome = Outcome<Void>()
    }

    /// A test that waits until a fault has disturbed a number of events.
    struct FaultObserver {
        let fault: Int
        let count: Int
        let outcome: Outcome<Void>
    }

    // MARK: Tests

    func add(
        _ effect: FaultPlan.Effect, to event: SimulatedEvent, of peripheral: Peripheral.ID?,
        _ occurrence: SimulatedOccurrence
    ) -> Int {
        let number = faults.add(effect, to: event, of: peripheral, when: occurrence)
        updateIsDisturbed()
        log(fault: "\(effect) \(event.kind)", of: peripheral)
        return number
    }

    func removeFaults(of peripheral: Peripheral.ID?) {
        faults.removeAll(of: peripheral)
        faultsChanged()
        endPausesOfRemovedFaults()
    }

    func release(_ fault: Int) {
        faults.remove(fault)
        faultsChanged()
        endPausesOfRemovedFaults()
    }

    /// In the order in which they have begun.
    private func endPausesOfRemovedFaults() {
        for (_, pause) in pauses.sorted(by: { $0.key < $1.key }) where !pause.isLoss && faults.isRemoved(pause.fault) {
            pause.outcome.deliver(.success(()))
        }
    }

    func updateIsDisturbed() { isDisturbed.store(!faults.isEmpty || hasEvents, ordering: .relaxed) }

    private func faultsChanged() {
        updateIsDisturbed()
        for observer in faultObservers.values
        where faults.count(of: observer.fault) >= observer.count || !faults.isActive(observer.fault) {
            observer.outcome.deliver(.success(()))
        }
    }

    func disturbed(_ fault: Int, _ count: Int) async {
        guard faults.count(of: fault) < count, faults.isActive(fault) else { return }
        let token = number()
        let outcome = Outcome<Void>()
        faultObservers[token] = FaultObserver(fault: fault, count: count, outcome: outcome)
        defer { faultObservers[token] = nil }
        try? await outcome.wait()
    }

    // MARK: Events

    /// Decides what happens to an event.
    func disturbances(
        of kind: SimulatedEvent.Kind, at peripheral: Peripheral.ID?, handle: UInt16? = nil
    ) -> [FaultPlan.Disturbance] {
        guard !faults.isEmpty else { return [] }
        let peripheral = peripheral.map { peripherals.id(of: $0) }
        // Taken out, because a condition of a test may come back here.
        var plan = FaultPlan()
        swap(&plan, &faults)
        let found = plan.disturbances(of: kind, at: peripheral) { key in
            guard let peripheral, let handle else { return false }
            return peripherals[peripheral]?.attributes.handle(of: key) == handle
        }
        faults = plan
        faultsChanged()
        return found
    }

    /// Admits a request, after what disturbs it. Returns whether the link is lost after it.
    func admit(
        _ kind: SimulatedEvent.Kind, at peripheral: Peripheral.ID?, handle: UInt16? = nil, _ port: Int?
    ) async throws(BLEError) -> Bool {
        try await endure(
            disturbances(of: kind, at: peripheral, handle: handle), at: peripheral, port,
            link: linkNumber(peripheral, port), lossEndsAfter: Self.timeLimit(of: kind))
    }

    /// Admits a write without response. Returns whether it arrives, and whether the link is lost after it.
    func admitCommand(_ attribute: AttributeID, _ port: Int) async throws(BLEError) -> (arrives: Bool, losesLink: Bool)
    {
        let disturbances = disturbances(of: .write, at: attribute.peripheral, handle: attribute.handle)
        let end = disturbances.firstIndex { if case .fail = $0.effect { true } else { $0.isLoss } }
        let losesLink = try await endure(
            disturbances[..<(end ?? disturbances.endIndex)], at: attribute.peripheral, port,
            link: linkNumber(attribute.peripheral, port))
        return (end == nil, losesLink)
    }

    /// The system's time limit for a call that needs no answer of a peripheral. Nil for others.
    private static func timeLimit(of kind: SimulatedEvent.Kind) -> Duration? {
        switch kind {
        case .scan, .disconnect, .register, .advertise: .seconds(25)
        default: nil
        }
    }

    /// Lets disturbances happen that come before an event. Returns whether the link is lost after it.
    ///
    /// - Parameters:
    ///   - link: the number of the link that the event is on. Nil if it is on none.
    ///   - limit: after which time a lost event fails with `timedOut`. Nil if only its link ends it.
    func endure(
        _ disturbances: some Sequence<FaultPlan.Disturbance>, at peripheral: Peripheral.ID?, _ port: Int?,
        link: Int? = nil, lossEndsAfter limit: Duration? = nil
    ) async throws(BLEError) -> Bool {
        var losesLink = false
        for disturbance in disturbances where !faults.isRemoved(disturbance.fault) {
            switch disturbance.effect {
            case .delay(let duration):
                try await pause(disturbance.fault, peripheral, port, link: link, for: duration)
            case .hold: try await pause(disturbance.fault, peripheral, port, link: link)
            case .ignore:
                try await pause(disturbance.fault, peripheral, port, link: link, for: limit, isLoss: true)
                throw BLEError(.timedOut, "there was no answer")
            case .fail(let error): throw error
            case .dropLink(isBefore: true):
                // Without a link, there is only the failure.
                guard let peripheral, hasLink(peripheral, port) else {
                    throw BLEError(.failed, "a simulated fault")
                }
                loseLink(peripheral, port)
                throw Self.linkLost
            case .dropLink(isBefore: false): losesLink = true
            case .duplicate, .random: break
            }
        }
        return losesLink
    }

    /// Waits for a duration, or until the fault is released, the link ends, or the caller gives up.
    private func pause(
        _ fault: Int, _ peripheral: Peripheral.ID?, _ port: Int?, link: Int?, for duration: Duration? = nil,
        isLoss: Bool = false
    ) async throws(BLEError) {
        // A call within the actor may let others have their turn before it is here.
        guard isLoss || !faults.isRemoved(fault) else { return }
        if let port, ports[port] == nil { throw .shutDown }
        if let link, linkNumber(peripheral, port) != link { throw Self.linkLost }
        let pause = Pause(
            peripheral: peripheral.map { peripherals.id(of: $0) }, port: port, fault: fault, isLoss: isLoss)
        let token = number()
        pauses[token] = pause
        defer { pauses[token] = nil }
        let expiry = duration.map { Expiry(after: $0, clock: clock) { pause.outcome.deliver(.success(())) } }
        defer { expiry?.cancel() }
        try await pause.outcome.wait()
    }

    func failPauses(_ error: BLEError, where matches: (Pause) -> Bool = { _ in true }) {
        for (_, pause) in pauses.sorted(by: { $0.key < $1.key }) where matches(pause) {
            pause.outcome.deliver(.failure(error))
        }
    }

    static let linkLost = BLEError(.disconnected, "the link was lost", disconnectReason: .timeout)

    /// - Parameter port: the central that has the link. Nil for all.
    func loseLink(_ peripheral: Peripheral.ID?, _ port: Int?) {
        guard let peripheral else { return }
        if let port { endLink(peripheral, port, Self.linkLost) } else { endLinks(peripheral, Self.linkLost) }
    }

    func linkNumber(_ peripheral: Peripheral.ID?, _ port: Int?) -> Int? {
        guard let peripheral, let port else { return nil }
        return peripherals[peripheral]?.links[port]?.number
    }

    private func hasLink(_ peripheral: Peripheral.ID, _ port: Int?) -> Bool {
        guard let links = peripherals[peripheral]?.links else { return false }
        return port.map { links[$0] != nil } ?? !links.isEmpty
    }

    // MARK: Values

    /// A value on its way to a central, behind a disturbed one.
    struct OutgoingValue {
        let value: [UInt8]
        let handle: UInt16
        let disturbances: [FaultPlan.Disturbance]
        /// Its arrival over the link. Nil if it has no connection events.
        let crossing: Outcome<Void>?
        /// Delivered when the value has arrived, or is lost.
        let arrival: Outcome<Void>?
    }

    /// Sends a value to a central, if that is subscribed to it.
    func send(
        _ value: [UInt8], _ handle: UInt16, _ device: SimulatedDevice, _ kind: SimulatedEvent.Kind,
        over link: SimulatedLink, arrival: Outcome<Void>? = nil
    ) {
        guard let subscription = link.subscriptions[handle] else {
            arrival?.deliver(.success(()))
            return
        }
        if isTracing { traceNotification(value, handle, device.id, to: link.port) }
        let disturbances = faults.isEmpty ? [] : disturbances(of: kind, at: device.id, handle: handle)
        if disturbances.first?.isLoss == true {
            if let arrival { link.unanswered.append(arrival) }
            return
        }
        guard !disturbances.isEmpty || !link.outgoing.isEmpty || device.air.hasEvents else {
            subscription.take(value)
            arrival?.deliver(.success(()))
            return
        }
        link.outgoing.append(
            OutgoingValue(
                value: value, handle: handle, disturbances: disturbances,
                crossing: device.air.hasEvents ? crossing(device, link.shared) : nil, arrival: arrival))
        if link.outgoing.count == 1 { Task.immediate { await self.sendOutgoing(device, link) } }
    }

    /// Sends the values that wait, one after the other, as long as the link lasts.
    private func sendOutgoing(_ device: SimulatedDevice, _ link: SimulatedLink) async {
        let (id, port) = (device.id, link.port)
        while device.links[port] === link, let next = link.outgoing.first {
            do throws(BLEError) {
                try await next.crossing?.wait()
                let losesLink = try await endure(
                    next.disturbances.prefix { !$0.isLoss }, at: id, port, link: link.number)
                guard device.links[port] === link else { return }
                if next.disturbances.contains(where: \.isLoss) {
                    if let arrival = next.arrival { link.unanswered.append(arrival) }
                } else {
                    for _ in 0...next.disturbances.count(where: \.isDuplicate) {
                        link.subscriptions[next.handle]?.take(next.value)
                    }
                    // With the link, its confirmation is lost.
                    if losesLink { loseLink(id, port) }
                    next.arrival?.deliver(.success(()))
                }
            } catch {
                next.arrival?.deliver(.failure(error))
            }
            if device.links[port] === link { link.outgoing.removeFirst() }
        }
    }
}
