internal import Logging
internal import Synchronization

/// What is on show for one pairing: one thing at a time, each in the place of the one before it.
///
/// The first is always shown. One that is still waiting for its predecessor when another follows, or when all is over, never is.
final class Showing: Sendable {
    private struct Display {
        let show: @Sendable () async -> Void
        let begun = Outcome<Void>()
    }

    private struct State {
        var isOver = false
        /// Somebody takes what waits.
        var isTaken = false
        /// One has been taken, and whoever shows it has not been called yet.
        var isBeginning = false
        var hasBegun = false
        var current: Task<Void, Never>?
        var waiting: Display?
    }

    private let state = Mutex(State())
    /// All is over, and nothing will be shown any more.
    let ended = Outcome<Void>()

    /// Shows the next, in the place of the last. Returns once it has begun to be shown, or never will.
    func next(_ show: @escaping @Sendable () async -> Void) async {
        let display = Display(show: show)
        let (isFirst, superseded) = state.withLock { state in
            guard !state.isOver else { return (false, display as Display?) }
            let superseded = state.waiting
            state.waiting = display
            state.current?.cancel()
            let isFirst = !state.isTaken
            state.isTaken = true
            return (isFirst, superseded)
        }
        superseded?.begun.deliver(.success(()))
        if isFirst { Task { @concurrent in await showAll() } }
        try? await display.begun.wait()
    }

    func end() {
        let (dropped, isEnded) = state.withLock { state in
            state.isOver = true
            state.current?.cancel()
            let dropped = state.hasBegun ? state.waiting : nil
            if state.hasBegun { state.waiting = nil }
            return (dropped, !state.isBeginning && state.waiting == nil)
        }
        dropped?.begun.deliver(.success(()))
        if isEnded { ended.deliver(.success(())) }
    }

    private func showAll() async {
        while let display = take() {
            // Called before anything else happens, so that nothing said later overtakes it.
            let task = Task.immediate { await display.show() }
            let isOver = state.withLock { state in
                state.isBeginning = false
                state.current = task
                if state.isOver || state.waiting != nil { task.cancel() }
                return state.isOver
            }
            display.begun.deliver(.success(()))
            if isOver { ended.deliver(.success(())) }
            await task.value
        }
    }

    private func take() -> Display? {
        state.withLock { state in
            state.current = nil
            guard let display = state.waiting else {
                state.isTaken = false
                return nil
            }
            state.waiting = nil
            state.isBeginning = true
            state.hasBegun = true
            return display
        }
    }
}

/// What goes on in a central about pairing.
struct Pairings {
    /// A question that somebody has been asked.
    struct Question {
        let peripheral: Peripheral.ID
        let outcome: Outcome<PairingAnswer>
    }

    /// How many callers pair with a peripheral.
    var running: [Peripheral.ID: Int] = [:]
    /// Links that were made to pair, and that nobody else has asked for.
    var provisional: Set<Peripheral.ID> = []
    var questions: [Int: Question] = [:]
    /// What is shown for a peripheral.
    var showing: [Peripheral.ID: Showing] = [:]
    /// The last that the delegate was told has ended; what has ended next follows.
    var telling: Task<Void, Never>?

    /// At the end of the central, whose delegate is told nothing any more.
    func finish() {
        for question in questions.values { question.outcome.deliver(.failure(.shutDown)) }
        for shown in showing.values { shown.end() }
    }
}

extension Central {
    func pair(_ id: Peripheral.ID, timeout: Duration) async throws(BLEError) {
        let begun = elapsed()
        if try await pairingState(id).isPaired { throw BLEError.alreadyPaired.at(id) }
        pairings.running[id, default: 0] += 1
        if case .maintained = policy(id) {
        } else if connections[id]?.machine.isIdle ?? true {
            pairings.provisional.insert(id)
        }
        _ = beginScope(id)
        defer {
            connections[id]?.scopes -= 1
            considerIdle(id)
            tidy(id)
        }
        do throws(BLEError) {
            try await establish(id, timeout: min(timeout, configuration.connectTimeout))
            // Not failed by the link's end: what the backend says of it is the better reason.
            try await perform(timeout: timeout - (elapsed() - begun), name: "pairing", using: .pairing(id)) {
                (backend) throws(BLEError) in try await backend.pair(id)
            }
            pairings.provisional.remove(id)
            pairingEnded(id)
        } catch {
            let isLast = pairingEnded(id)
            if isLast, pairings.provisional.remove(id) != nil { try? await disconnect(id) }
            throw error.at(id)
        }
    }

    /// One of the callers is done. True when it was the last.
    @discardableResult private func pairingEnded(_ id: Peripheral.ID) -> Bool {
        let left = (pairings.running[id] ?? 1) - 1
        pairings.running[id] = left > 0 ? left : nil
        if left == 0 { endPrompts { $0 == id } }
        return left == 0
    }

    func unpair(_ id: Peripheral.ID) async throws(BLEError) {
        do throws(BLEError) {
            guard try await pairingState(id).isPaired else { return }
        } catch  where error.code == .peripheralNotFound {
            return
        }
        try await disconnect(id)
        do throws(BLEError) {
            try await perform(timeout: configuration.operationTimeout, name: "unpairing", using: .pairing(id)) {
                (backend) throws(BLEError) in try await backend.unpair(id)
            }
        } catch {
            throw error.at(id)
        }
    }

    func pairingState(_ id: Peripheral.ID) async throws(BLEError) -> PairingState {
        try checkRunning()
        do throws(BLEError) {
            return try await perform(timeout: configuration.operationTimeout, name: "asking for the pairing") {
                [weak self] (backend) throws(BLEError) in
                // A Bluetooth that is being restarted is waited for.
                try await self?.untilAdapterHasSettled()
                return try await backend.pairingState(id)
            }
        } catch {
            throw error.at(id)
        }
    }

    func set(_ setting: PeripheralSetting, _ value: Bool, _ id: Peripheral.ID) async throws(BLEError) {
        try checkRunning()
        do throws(BLEError) {
            try await perform(timeout: configuration.operationTimeout, name: "changing a setting") {
                [weak self] (backend) throws(BLEError) in
                try await self?.untilAdapterHasSettled()
                try await backend.set(setting, value, id)
            }
        } catch {
            throw error.at(id)
        }
    }
}

// MARK: Prompts

extension Central {
    /// BlueZ's own limit for the answer of an agent (`REQUEST_TIMEOUT` in its `src/agent.c`).
    private static let promptLimit = Duration.seconds(60)

    /// What the delegate, or the default in its place, says to a prompt.
    func answer(_ prompt: PairingPrompt, for id: Peripheral.ID) async -> PairingAnswer {
        let behavior = configuration.pairing
        guard !isShutDown, behavior.isDefaultAgent || concerns(id) else {
            logger.info("refused to pair: nobody here has asked for it", metadata: ["peripheral": "\(id)"])
            return .refuse
        }
        guard let delegate = behavior.delegate else {
            let isAccepted = isWanted(id) || behavior.acceptsPeripheralRequests
            return prompt == .authorizePairing && isAccepted ? .accept : .refuse
        }
        let peripheral = peripheral(id)
        switch prompt {
        case .show, .showPINCode:
            await show(prompt, delegate, peripheral)
            return .accept
        case .confirm, .enterPasskey, .enterPINCode, .authorizePairing, .authorizeService:
            return await ask(delegate, prompt, peripheral)
        }
    }

    /// Whether this central pairs with the peripheral, or has a link to it or makes one.
    private func concerns(_ id: Peripheral.ID) -> Bool {
        pairings.running[id] != nil || connectionState(id) != .disconnected
    }

    /// Whether something is under way here that a pairing may be for.
    private func isWanted(_ id: Peripheral.ID) -> Bool {
        pairings.running[id] != nil || operations.isAttributeUsed(on: id)
    }

    /// The delegate's answer; a refusal once it is not wanted any more.
    private func ask(
        _ delegate: any PairingDelegate, _ prompt: PairingPrompt, _ peripheral: Peripheral
    ) async -> PairingAnswer {
        let token = token()
        let outcome = Outcome<PairingAnswer>()
        pairings.questions[token] = Pairings.Question(peripheral: peripheral.id, outcome: outcome)
        let deadline = deadline(Self.promptLimit, "answering a question about pairing") {
            outcome.deliver(.failure($0))
        }
        let question = Task { @concurrent in
            outcome.deliver(.success(await prompt.put(to: delegate, for: peripheral)))
        }
        defer {
            question.cancel()
            deadline.cancel()
            pairings.questions[token] = nil
        }
        do throws(BLEError) {
            return try await outcome.wait()
        } catch {
            logger.debug("a question about pairing is void", metadata: ["why": "\(error.message)"])
            tell { await delegate.promptEnded(for: peripheral) }
            return .refuse
        }
    }

    /// Takes back what was shown and asked.
    func endPrompts(where matches: (Peripheral.ID) -> Bool) {
        for question in pairings.questions.values where matches(question.peripheral) {
            question.outcome.deliver(.failure(.cancelled))
        }
        guard let delegate = configuration.pairing.delegate else { return }
        for (id, shown) in pairings.showing where matches(id) {
            pairings.showing[id] = nil
            shown.end()
            let peripheral = peripheral(id)
            tell {
                // Not for its return: it may wait for this.
                try? await shown.ended.wait()
                await delegate.promptEnded(for: peripheral)
            }
        }
    }

    /// Has the delegate show something, in the place of what is shown for the peripheral. Returns once it does: only then can
    /// anybody enter it.
    private func show(_ prompt: PairingPrompt, _ delegate: any PairingDelegate, _ peripheral: Peripheral) async {
        let showing = pairings.showing[peripheral.id] ?? Showing()
        pairings.showing[peripheral.id] = showing
        await showing.next { _ = await prompt.put(to: delegate, for: peripheral) }
    }

    /// Tells the delegate, off this actor and one thing after the other.
    private func tell(_ what: @escaping @Sendable () async -> Void) {
        pairings.telling = Task { @concurrent [previous = pairings.telling] in
            await previous?.value
            await what()
        }
    }
}

extension PairingPrompt {
    /// Asks the delegate, or has it show something.
    func put(to delegate: any PairingDelegate, for peripheral: Peripheral) async -> PairingAnswer {
        switch self {
        case .confirm(let passkey): await delegate.confirm(passkey, for: peripheral) ? .accept : .refuse
        case .enterPasskey: await delegate.enterPasskey(for: peripheral).map { .passkey($0) } ?? .refuse
        case .show(let passkey, let entered): await shown(delegate.show(passkey, entered: entered, for: peripheral))
        case .enterPINCode: await delegate.enterPINCode(for: peripheral).map { .pinCode($0) } ?? .refuse
        case .showPINCode(let code): await shown(delegate.show(pinCode: code, for: peripheral))
        case .authorizePairing: await delegate.authorizePairing(with: peripheral) ? .accept : .refuse
        case .authorizeService(let service): await delegate.authorize(service, for: peripheral) ? .accept : .refuse
        }
    }

    private func shown(_: Void) -> PairingAnswer { .accept }
}
