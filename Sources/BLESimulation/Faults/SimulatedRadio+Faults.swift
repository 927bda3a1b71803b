internal import BLE
internal import Synchronization
internal import Waiting

/// Carries out what the ``FaultPlan`` decides.
extension SimulatedRadio {
    /// Where an event happens.
    struct Place {
        /// The id of the peripheral. Nil for an event of the radio.
        var peripheral: Peripheral.ID?
        /// The central. Nil for an event of a host, or of a link that several centrals may use.
        var port: Int?
        /// The link that the event is on. Nil if it is on none.
        var link: SharedLink?
    }

    /// An event that does not go on yet.
    struct Pause {
        let token: Int
        let place: Place
        let fault: FaultRecord
        /// Whether the event never happens.
        let isLoss: Bool
        let outcome: Outcome<Void>
        let expiry: Expiry?
    }

    /// The disturbances of an event, on their way.
    struct Course {
        fileprivate var disturbances: ArraySlice<FaultPlan.Disturbance>
        fileprivate let kind: SimulatedEvent.Kind
        fileprivate let place: Place
        /// What the event waits for now. Nil once it may happen.
        fileprivate(set) var pause: Pause?
        /// Whether the link is lost after the event.
        fileprivate(set) var losesLink = false
    }

    /// A test that waits until a fault has disturbed a number of events.
    struct FaultObserver {
        let fault: FaultRecord
        let count: Int
        let outcome: Outcome<Void>
    }

    // MARK: Tests

    func add(
        _ effect: FaultPlan.Effect, to event: SimulatedEvent, of peripheral: Peripheral.ID?,
        _ occurrence: SimulatedOccurrence
    ) -> FaultRecord {
        let record = faults.add(effect, to: event, of: peripheral, when: occurrence)
        updateIsDisturbed()
        log(fault: "\(effect) \(event.kind)\(event.central.map { " from \($0)" } ?? "")", of: peripheral)
        return record
    }

    /// A peripheral is gone, with its faults.
    func forgetFaults(of peripheral: Peripheral.ID) {
        faults.forget(peripheral)
        faultsChanged()
    }

    func removeFaults(of peripheral: Peripheral.ID?) {
        faults.removeAll(of: peripheral)
        faultsChanged()
        endPausesOfRemovedFaults()
    }

    func release(_ fault: FaultRecord) {
        faults.remove(fault)
        faultsChanged()
        endPausesOfRemovedFaults()
    }

    private func endPausesOfRemovedFaults() {
        for pause in orderedPauses(where: { !$0.isLoss && faults.isRemoved($0.fault) }) {
            pause.outcome.deliver(.success(()))
        }
    }

    func updateIsDisturbed() {
        isDisturbed.store(!faults.isEmpty || hasEvents || !isAuthorized, ordering: .relaxed)
    }

    private func faultsChanged() {
        updateIsDisturbed()
        for observer in faultObservers.values
        where observer.fault.count >= observer.count || !observer.fault.isActive {
            observer.outcome.deliver(.success(()))
        }
    }

    func disturbed(_ fault: FaultRecord, _ count: Int) async {
        guard fault.count < count, fault.isActive else { return }
        let token = number()
        let outcome = Outcome<Void>()
        faultObservers[token] = FaultObserver(fault: fault, count: count, outcome: outcome)
        defer { faultObservers[token] = nil }
        try? await outcome.wait()
    }

    // MARK: Events

    /// Decides what happens to an event.
    func disturbances(
        of kind: SimulatedEvent.Kind, at place: Place, handle: UInt16? = nil
    ) -> [FaultPlan.Disturbance] {
        guard !faults.isEmpty else { return [] }
        let peripheral = place.peripheral.map { peripherals.id(of: $0) }
        // Taken out, because a condition of a test may come back here.
        var plan = FaultPlan()
        swap(&plan, &faults)
        let found = plan.disturbances(
            of: kind, at: peripheral, isFrom: { central in isEvent(at: place, of: central) }
        ) { key in
            guard let peripheral, let handle else { return false }
            return peripherals[peripheral]?.attributes.handle(of: key) == handle
        }
        faults = plan
        faultsChanged()
        if isTracing { for disturbance in found { trace(disturbance, of: kind, at: peripheral, handle: handle) } }
        return found
    }

    /// Whether an event is one of a central, or of one of those that use its link.
    private func isEvent(at place: Place, of central: DeviceID) -> Bool {
        if let port = place.port { return Self.central(port) == central }
        guard let link = place.link, let device = place.peripheral.flatMap({ peripherals[$0] }) else { return false }
        return uses(of: link, device).contains { Self.central($0.port) == central }
    }

    /// Returns where an event of a central happens.
    func place(_ peripheral: Peripheral.ID?, _ port: Int?) -> Place {
        let device = peripheral.flatMap { peripherals[$0] }
        return Place(
            peripheral: device?.id ?? peripheral, port: port, link: port.flatMap { device?.links[$0]?.shared })
    }

    /// What a request may do, after what disturbs it.
    struct Admission: Sendable {
        /// The link that the request is on. Nil if it is on none.
        let link: CentralLink?
        /// Whether the link is lost after it.
        let losesLink: Bool
    }

    /// Admits a request, after what disturbs it.
    func admit(
        _ kind: SimulatedEvent.Kind, at peripheral: Peripheral.ID?, handle: UInt16? = nil, _ port: Int?
    ) async throws(BLEError) -> Admission {
        try checkAuthorized()
        let place = place(peripheral, port)
        return Admission(link: place.link?.served, losesLink: try await admit(kind, at: place, handle: handle))
    }

    func admit(
        _ kind: SimulatedEvent.Kind, at place: Place, handle: UInt16? = nil
    ) async throws(BLEError) -> Bool {
        try checkAdapter(for: kind, at: place)
        // The first wait begins in the same step in which it is decided.
        return try await endure(
            begin(disturbances(of: kind, at: place, handle: handle)[...], of: kind, at: place))
    }

    /// Throws if an event needs an adapter, and that is not ready.
    private func checkAdapter(for kind: SimulatedEvent.Kind, at place: Place) throws(BLEError) {
        switch kind {
        case .scan, .connect: if let port = place.port { try checkReady(port) }
        case .register, .advertise:
            guard let host = place.peripheral, hosts[host] != nil else { throw .shutDown }
            try Self.check(adapterState(ofHost: host))
        default: break
        }
    }

    /// Admits a write without response. Returns whether it arrives, and whether the link is lost after it.
    func admitCommand(_ attribute: AttributeID, _ port: Int) async throws(BLEError) -> (arrives: Bool, losesLink: Bool)
    {
        try checkAuthorized()
        return try await admitCommand(at: place(attribute.peripheral, port), handle: attribute.handle)
    }

    func admitCommand(
        at place: Place, handle: UInt16
    ) async throws(BLEError) -> (arrives: Bool, losesLink: Bool) {
        let disturbances = disturbances(of: .write, at: place, handle: handle)
        let end = disturbances.firstIndex { if case .fail = $0.effect { true } else { $0.isLoss } }
        let losesLink = try await endure(
            begin(disturbances[..<(end ?? disturbances.endIndex)], of: .write, at: place))
        return (end == nil, losesLink)
    }

    /// The system's time limit for a call that needs no answer of a peripheral. Nil for others.
    private static func timeLimit(of kind: SimulatedEvent.Kind) -> Duration? {
        switch kind {
        case .scan, .disconnect, .register, .advertise: .seconds(25)
        default: nil
        }
    }

    /// Begins the disturbances that come before an event. What it waits for first is registered when this returns, so
    /// that nothing is missed before the caller waits.
    func begin(
        _ disturbances: ArraySlice<FaultPlan.Disturbance>, of kind: SimulatedEvent.Kind, at place: Place
    ) throws(BLEError) -> Course {
        var course = Course(disturbances: disturbances, kind: kind, place: place)
        try advance(&course)
        return course
    }

    /// Waits until an event may happen. Returns whether the link is lost after it.
    func endure(_ course: Course) async throws(BLEError) -> Bool {
        var course = course
        while let pause = course.pause {
            defer {
                pause.expiry?.cancel()
                pauses[pause.place.peripheral]?[pause.token] = nil
                if pauses[pause.place.peripheral]?.isEmpty == true { pauses[pause.place.peripheral] = nil }
            }
            try await pause.outcome.wait()
            if pause.isLoss { throw BLEError(.timedOut, "there was no answer") }
            try advance(&course)
        }
        return course.losesLink
    }

    /// Carries out disturbances up to the next one that waits.
    private func advance(_ course: inout Course) throws(BLEError) {
        let hasWaited = course.pause != nil
        course.pause = nil
        let place = course.place
        // What it needs may have been lost meanwhile.
        if hasWaited { try check(course) }
        while let disturbance = course.disturbances.popFirst() {
            if faults.isRemoved(disturbance.fault) { continue }
            switch disturbance.effect {
            case .delay(let duration): course.pause = try pause(course, disturbance, for: duration)
            case .hold: course.pause = try pause(course, disturbance, for: nil)
            // Without a limit, only the end of its link ends it.
            case .ignore: course.pause = try pause(course, disturbance, for: Self.timeLimit(of: course.kind))
            case .fail(let error):
                // The answer is lost with the link, whatever it is.
                guard course.losesLink, hasLink(at: place) else { throw error }
                loseLink(at: place)
                throw Self.linkLost
            case .dropLink(isBefore: true):
                // Without a link, there is only the failure.
                guard hasLink(at: place) else { throw BLEError(.failed, "a simulated fault") }
                loseLink(at: place)
                throw Self.linkLost
            case .dropLink(isBefore: false): course.losesLink = true
            case .duplicate, .random: break
            }
            if course.pause != nil { return }
        }
    }

    /// Throws if the central, the adapter or the link of an event is gone.
    private func check(_ course: Course) throws(BLEError) {
        let place = course.place
        if let port = place.port, ports[port] == nil { throw .shutDown }
        try checkAdapter(for: course.kind, at: place)
        if place.link != nil, !isUp(place) { throw Self.linkLost }
    }

    /// Begins to wait for a duration, or until the fault is released, or the link or the adapter is lost.
    private func pause(
        _ course: Course, _ disturbance: FaultPlan.Disturbance, for duration: Duration?
    ) throws(BLEError) -> Pause {
        // A condition of a fault may have changed something.
        try check(course)
        let place = course.place
        let outcome = Outcome<Void>()
        let pause = Pause(
            token: number(), place: place, fault: disturbance.fault, isLoss: disturbance.isLoss, outcome: outcome,
            expiry: duration.map { Expiry(after: $0, clock: clock) { outcome.deliver(.success(())) } })
        pauses[place.peripheral, default: [:]][pause.token] = pause
        return pause
    }

    /// Whether the link of an event is up, and its central uses it.
    func isUp(_ place: Place) -> Bool {
        guard let link = place.link, link.served.isUp else { return false }
        guard let port = place.port else { return true }
        return place.peripheral.flatMap { peripherals[$0] }?.links[port]?.shared === link
    }

    func failPauses(_ error: BLEError, where matches: (Pause) -> Bool) {
        for pause in orderedPauses(where: matches) { pause.outcome.deliver(.failure(error)) }
    }

    /// Fails the pauses of one peripheral.
    func failPauses(_ error: BLEError, of id: Peripheral.ID, where matches: (Pause) -> Bool = { _ in true }) {
        let own = pauses[id]?.values.filter(matches) ?? []
        for pause in own.sorted(by: { $0.token < $1.token }) { pause.outcome.deliver(.failure(error)) }
    }

    /// In the order in which they have begun.
    private func orderedPauses(where matches: (Pause) -> Bool) -> [Pause] {
        pauses.values.flatMap { $0.values.filter(matches) }.sorted { $0.token < $1.token }
    }

    static let linkLost = BLEError(.disconnected, "the link was lost", disconnectReason: .timeout)

    /// Loses the link of an event: that which it is on, otherwise that of its central, or all of its peripheral.
    func loseLink(at place: Place) {
        guard let device = place.peripheral.flatMap({ peripherals[$0] }) else { return }
        if let link = place.link {
            if isUp(place) { endLink(device, link, Self.linkLost) }
        } else if let port = place.port {
            if let link = device.links[port] { endLink(device, link.shared, Self.linkLost) }
        } else {
            endLinks(device, Self.linkLost)
        }
    }

    /// Loses a central's link, after the event that has made it.
    func loseLink(of port: Int, to peripheral: Peripheral.ID) { loseLink(at: place(peripheral, port)) }

    /// Loses the link that an event of a central was on, unless the central no longer uses it. Returns whether it was
    /// lost.
    func loseLink(_ link: CentralLink, of port: Int, to peripheral: Peripheral.ID) -> Bool {
        let place = place(peripheral, port)
        guard place.link?.served == link, isUp(place) else { return false }
        loseLink(at: place)
        return true
    }

    private func hasLink(at place: Place) -> Bool {
        guard place.link == nil else { return isUp(place) }
        guard let links = place.peripheral.flatMap({ peripherals[$0] })?.links else { return false }
        return place.port.map { links[$0] != nil } ?? !links.isEmpty
    }
}
