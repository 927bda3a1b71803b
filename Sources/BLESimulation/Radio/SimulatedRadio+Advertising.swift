internal import BLE
internal import Waiting

/// Peripherals advertise while a central scans, advertising is enabled, and they have room for a link.
///
/// One task waits for all advertisements, so that an advertisement does not need a task and a sleep of its own.
extension SimulatedRadio {
    /// The task that waits for the next advertisement.
    struct Pacer {
        let task: Task<Void, Never>
        /// The time until which the task waits.
        var deadline: Duration
    }

    /// The number of advertisements to deliver before other tasks, such as their readers, have their turn.
    private static let turn = 64

    /// Starts or stops advertising.
    ///
    /// - Parameter anew: whether a peripheral that advertises already does so again at once.
    func updateAdvertising(_ device: SimulatedDevice, anew: Bool = false) {
        let should = device.isAdvertising && device.hasRoom && isRunning && !scanners.isEmpty
        if !should || anew { endAdvertising(device) }
        guard should, device.next == nil else { return }
        let now = time.now()
        device.next = schedule.add(now.attoseconds, device)
        if pacer.map({ now < $0.deadline }) ?? true { startPacer(now) }
    }

    func endAdvertising(_ device: SimulatedDevice) {
        guard let number = device.next else { return }
        device.next = nil
        schedule.remove(number)
        guard schedule.count == 0 else { return }
        pacer?.task.cancel()
        pacer = nil
    }

    /// Ends all advertising: no central scans.
    func endAdvertising() {
        for device in schedule.takeDue(at: .max) { device.next = nil }
        pacer?.task.cancel()
        pacer = nil
    }

    private func startPacer(_ deadline: Duration) {
        pacer?.task.cancel()
        let task = Task(executorPreference: tasks) { [weak self, time] in
            while let next = await self?.advertiseDue() {
                guard (try? await time.sleep(until: next)) != nil else { return }
            }
        }
        pacer = Pacer(task: task, deadline: deadline)
    }

    /// Sends the advertisements that are due. Returns the next time; nil if there is none.
    private func advertiseDue() async -> Duration? {
        while !Task.isCancelled {
            let now = time.now()
            for device in schedule.takeDue(at: now.attoseconds, limit: Self.turn) where device.next != nil {
                device.next = schedule.add(device.nextAdvertisement(after: now).attoseconds, device)
                advertise(device)
            }
            guard let next = schedule.next.map(Duration.init(attoseconds:)) else {
                pacer = nil
                return nil
            }
            pacer?.deadline = next
            if next > now { return next }
            await executor.takeTurns()
        }
        return nil
    }

    /// Sends an advertisement, as the faults allow it.
    private func advertise(_ device: SimulatedDevice) {
        // The one that is held up is the next.
        if device.isAdvertisementHeld || device.losesAdvertisement() { return }
        guard !faults.isEmpty else { return deliver(device) }
        let place = Place(peripheral: device.id)
        let disturbances = disturbances(of: .advertisement, at: place)
        if disturbances.first?.isLoss == true { return }
        guard !disturbances.isEmpty else { return deliver(device) }
        guard let course = try? begin(disturbances.prefix { !$0.isLoss }, of: .advertisement, at: place) else { return }
        device.isAdvertisementHeld = true
        Task.immediate { await self.advertise(device, course, disturbances) }
    }

    private func advertise(
        _ device: SimulatedDevice, _ course: Course, _ disturbances: [FaultPlan.Disturbance]
    ) async {
        defer { device.isAdvertisementHeld = false }
        // It may have stopped to advertise meanwhile.
        guard (try? await endure(course)) != nil, device.next != nil, !disturbances.contains(where: \.isLoss) else {
            return
        }
        for _ in 0...disturbances.count(where: \.isDuplicate) { deliver(device) }
    }

    private func deliver(_ device: SimulatedDevice) {
        for port in scanners {
            guard let filter = port.filter, device.isHeard(on: filter.transport),
                device.isInRange(of: port.adapter)
            else { continue }
            let name = name(of: device, on: port.adapter)
            var advertisement = content(of: device, on: port.adapter, isActive: !filter.isPassive)
            // A change copies the content.
            if name != device.id, advertisement.addressType != .random { advertisement.addressType = .random }
            guard filter.services.isEmpty || !advertisement.services.isDisjoint(with: filter.services),
                filter.minimumRSSI.map({ (advertisement.rssi ?? -127) >= $0 }) ?? true
            else { continue }
            port.learn(name, of: device)
            if isTracing { trace(advertisement, from: name, to: port.number) }
            port.handle(.advertisementReceived(name, advertisement))
        }
    }
}

/// The time since the creation of this value, on a clock of any type.
struct ElapsedTime: Sendable {
    let now: @Sendable () -> Duration
    private let wait: @Sendable (Duration) async throws -> Void

    init(_ clock: some Clock<Duration>) {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        wait = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    }

    func sleep(until time: Duration) async throws { try await wait(time) }
}
