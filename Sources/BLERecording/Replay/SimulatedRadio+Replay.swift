public import BLE
public import BLESimulation
public import Logging

extension SimulatedRadio {
    /// Creates a radio with the peripherals of a recording, which do again what they did.
    ///
    /// ```swift
    /// let recording = try Recording(lines: Data(contentsOf: URL(filePath: "night.jsonl")))
    /// let clock = ManualClock()
    /// let radio = try await SimulatedRadio(replaying: recording, clock: clock)
    /// let central = try await Central(backend: .simulated(radio), configuration: .init(clock: clock))
    /// ```
    ///
    /// From now on, each advertisement is received when it was received, and the adapter changes as it did. What
    /// answers a program follows the program: the third read of a characteristic has the result and the delay of the
    /// third read in the recording, the second link ends as long after its beginning, and a subscription has the values
    /// of that subscription. After the last of a kind, reads return the last value, and the rest succeeds. Written
    /// values are not compared: ``Recording/differences(from:)`` of a new recording does that.
    ///
    /// A pairing that succeeded does so without prompts. Handles are those of the recording if its services have the
    /// attributes that the specification requires of them.
    ///
    /// Throws `invalidArgument` if a peripheral's id is not a device address.
    public init(
        replaying recording: Recording, clock: any Clock<Duration> = ContinuousClock(),
        logger: Logger = Logger(label: "ble")
    ) async throws(BLEError) {
        self.init(clock: clock, logger: logger)
        let peripherals = recording.peripherals.filter(\.wasThere)
        if let strange = peripherals.first(where: { !$0.id.isAddress }) { throw .notAnAddress(strange.id) }
        // The first state is there from the beginning.
        if let first = recording.entries.first(where: { $0.what == .adapterState })?.text.flatMap(AdapterState.init) {
            become(first)
        }
        var steps = recording.adapterSteps
        for recorded in peripherals {
            let replay = Replay(recorded, clock)
            if let appeared = recorded.appeared, !recorded.isKnown {
                steps.append(ReplayStep(time: appeared) { await $0.add(replay) })
            } else {
                await add(replay)
            }
        }
        for entry in recording.entries {
            guard entry.what == .advertisement, let id = entry.peripheral, let advertisement = entry.advertisement
            else { continue }
            steps.append(
                ReplayStep(time: entry.time) {
                    await SimulatedPeripheral(id: id, radio: $0).setAdvertisement(advertisement)
                })
        }
        if let last = recording.entries.map(\.time).max() {
            steps.append(
                ReplayStep(time: last) { _ in
                    logger.notice("the recording is over: its peripherals advertise nothing new")
                })
        }
        // The sort keeps the order of what happened at the same time.
        play(steps.sorted { $0.time < $1.time })
    }

    private func add(_ replay: Replay) async {
        let recorded = replay.recorded
        // Before a central can find it, because what happens to each connect is counted.
        let peripheral = SimulatedPeripheral(id: recorded.id, radio: self)
        await peripheral.replay(recorded.connects, of: .connect)
        await peripheral.replay(recorded.discoveries, of: .discover)
        await peripheral.replay(recorded.pairings, of: .pair)
        add(replay.definition, isKnown: recorded.isKnown) { await replay.link($0) }
    }

    /// Does what a recording did by itself, at its times.
    private func play(_ steps: [ReplayStep]) {
        let (clock, elapsed) = (clock, Central.stopwatch(clock))
        timeline = Task(executorPreference: taskExecutor) { [weak self] in
            for step in steps {
                let rest = step.time - elapsed()
                if rest > .zero, (try? await clock.sleep(for: rest)) == nil { return }
                guard let radio = self else { return }
                await step.body(radio)
            }
        }
    }
}

/// What a recording does by itself at a time.
private struct ReplayStep: Sendable {
    let time: Duration
    let body: @Sendable (SimulatedRadio) async -> Void
}

extension Recording {
    /// The changes of the adapter.
    fileprivate var adapterSteps: [ReplayStep] {
        entries.compactMap { entry in
            switch entry.what {
            case .stackLost: ReplayStep(time: entry.time) { await $0.stop() }
            case .adapterState:
                entry.text.flatMap(AdapterState.init).map { state in
                    ReplayStep(time: entry.time) { await $0.become(state) }
                }
            default: nil
            }
        }
    }
}

extension SimulatedRadio {
    fileprivate func become(_ state: AdapterState) {
        switch state {
        case .resetting: stop()
        case .unavailable:
            restart()
            setPresent(false)
        case .poweredOff, .poweredOn:
            restart()
            setPresent(true)
            setPowered(state == .poweredOn)
        }
    }
}

extension SimulatedPeripheral {
    /// Has calls end as they did.
    fileprivate func replay(_ outcomes: [ReplayedPeripheral.Outcome], of event: SimulatedEvent) async {
        for (index, outcome) in outcomes.enumerated() {
            let failure: BLEError? = if case .failure(let error) = outcome.result { error } else { nil }
            if let failure, [.timedOut, .cancelled, .connectionCancelled, .shutDown].contains(failure.code) {
                // The program gave up.
                await ignore(event, .nth(index + 1))
                continue
            }
            if outcome.delay > .zero { await delay(event, .nth(index + 1), by: outcome.delay) }
            if let failure { await fail(event, .nth(index + 1), with: failure) }
        }
    }
}
