internal import Logging
internal import Waiting

/// Links: each is made with the radio that the choice puts first, and belongs to it until it ends.
extension RadiosBackend {
    /// The radio that has the link to a peripheral. Without a link, the one that would know it.
    func radio(of id: Peripheral.ID) -> Int {
        choice.holder(of: id) ?? choice.bonds(of: id).min() ?? choice.source(of: id)
            ?? members.firstIndex { $0.isOn } ?? 0
    }

    func backend(of id: Peripheral.ID) -> any CentralBackend { members[radio(of: id)].backend }

    private var states: [RadioChoice.RadioState] {
        members.indices.map { radio in
            let isOn = members[radio].isOn && !members[radio].isRestarting
            return RadioChoice.RadioState(isOn: isOn, freeSlots: isOn ? freeSlots(of: radio) : nil)
        }
    }

    /// Whether a radio's stack has a link to a peripheral, of any program. Nil if it does not know the peripheral.
    private func isLinked(_ id: Peripheral.ID, on radio: Int) -> Bool? {
        guard members[radio].state != nil else { return nil }
        return members[radio].backend.assumeIsolated { $0.knownPeripherals() }.first { $0.id == id }?.isConnected
    }

    /// The ways to a peripheral, the best first.
    func paths(to id: Peripheral.ID) -> [RadioPath] {
        choice.paths(to: id, states, now: elapsed()).map { path in
            RadioPath(
                radio: names[path.radio], rssi: path.rssi.map { Int($0.rounded()) }, age: path.age,
                interval: path.interval, freeSlots: path.freeSlots, score: Int(path.score.rounded()),
                obstacle: path.obstacle)
        }
    }

    /// The radio that has a link to a peripheral.
    func linkRadio(of id: Peripheral.ID) -> String? { choice.holder(of: id).map { names[$0] } }

    /// Sets the radios that may have a link to a peripheral. Nil for all.
    ///
    /// Throws `invalidArgument` if there is no such radio.
    func setRadios(_ allowed: Set<String>?, for id: Peripheral.ID) throws(BLEError) {
        if let allowed {
            let unknown = allowed.subtracting(names)
            guard unknown.isEmpty, !allowed.isEmpty else {
                throw BLEError(
                    .invalidArgument, "there is no radio \(unknown.sorted().joined(separator: ", "))",
                    peripheral: id, isRetryable: false, remedy: "Choose of \(names.joined(separator: ", ")).")
            }
        }
        choice.setRadios(allowed.map { allowed in Set(names.indices.filter { allowed.contains(names[$0]) }) }, for: id)
        endWaits()
    }

    // MARK: Connecting

    /// How long an attempt takes at most while there is another radio to try that knows the peripheral: at least this,
    /// and two advertising intervals.
    private static let attemptLimit = Duration.seconds(5)

    /// Makes a link with the first radio that can, in the order of the choice.
    ///
    /// Throws the error of the first radio, if it is not that it does not know the peripheral.
    package func connect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        // An attempt that a disconnect has ended may not have returned yet.
        while attempts[peripheral] == nil, choice.isConnecting(peripheral) { try await wait(for: nextChange()) }
        if let holder = choice.holder(of: peripheral), attempts[peripheral] == nil {
            do throws(BLEError) {
                return try await members[holder].backend.connect(peripheral)
            } catch {
                // If there is no link any more, the next attempt is free to choose.
                if isLinked(peripheral, on: holder) != true { choice.linkIsDown(peripheral, on: holder) }
                throw error
            }
        }
        guard attempts[peripheral] == nil, choice.holder(of: peripheral) == nil else {
            throw BLEError(.busy, "an earlier attempt to connect has not ended yet", peripheral: peripheral)
        }
        let number = nextAttempt()
        attempts[peripheral] = number
        defer { if attempts[peripheral] == number { attempts[peripheral] = nil } }
        await learnBonds(of: peripheral)
        var tried: Set<Int> = []
        var expired: Set<Int> = []
        var failure: BLEError?
        while true {
            guard attempts[peripheral] == number else { throw Self.ended }
            if Task.isCancelled { throw .cancelled }
            let links = members.indices.map { isLinked(peripheral, on: $0) }
            var states = states
            for radio in states.indices { states[radio].isLinked = links[radio] == true }
            let paths = choice.paths(to: peripheral, states, now: elapsed())
            let open = paths.filter { $0.obstacle == nil && !tried.contains($0.radio) }
            guard let path = open.first ?? paths.first(where: { $0.obstacle == nil && expired.contains($0.radio) })
            else {
                if failure == nil, adapterState() == .resetting { throw Self.restarting }
                guard failure == nil, mayReturn(paths) else { throw Self.error(failure, paths, names) }
                try await wait(for: nextChange())
                await learnBonds(of: peripheral)
                continue
            }
            tried.insert(path.radio)
            // In the step of the choice: a restart of the radio, and other attempts, see this one from now on.
            guard choice.beginConnecting(peripheral, on: path.radio) else {
                throw BLEError(.busy, "another radio has the link", peripheral: peripheral)
            }
            // One that does not know the peripheral would fail at once.
            let isLast = !open.dropFirst().contains { $0.age != nil || links[$0.radio] != nil }
            // When the others have failed, the best gets what time is left.
            if open.isEmpty { expired = [] }
            do throws(BLEError) {
                if try await connect(peripheral, over: path, number, isLast: isLast) { return }
                expired.insert(path.radio)
                throw BLEError(
                    .connectionFailed, "the peripheral has not answered the radio within \(Self.limit(of: path))")
            } catch {
                guard Self.mayPass(error) else { throw error }
                if failure == nil || failure?.code == .peripheralNotFound { failure = error }
                logger.debug(
                    "radio cannot connect",
                    metadata: ["radio": "\(names[path.radio])", "peripheral": "\(peripheral)", "error": "\(error)"])
            }
        }
    }

    /// Whether a radio restarts, or its stack, that may have the link, such as the one with the keys. The central waits
    /// by itself if the stacks of all do.
    private func mayReturn(_ paths: [RadioChoice.Path]) -> Bool {
        adapterState() != .resetting
            && paths.contains { path in
                path.obstacle == .off
                    && (members[path.radio].state == .resetting || members[path.radio].isRestarting)
            }
    }

    private static let restarting = BLEError(
        .bluetoothLost, "Bluetooth is restarting", remedy: "Try again once Bluetooth is running.")
    private static let ended = BLEError(.connectionCancelled, "a disconnect ended the attempt to connect")

    /// Whether another radio may succeed.
    private static func mayPass(_ error: BLEError) -> Bool {
        switch error.code {
        case .cancelled, .shutDown, .invalidArgument, .unauthorized, .connectionCancelled: false
        default: true
        }
    }

    /// The error if no radio may be tried, or none is left.
    private static func error(
        _ failure: BLEError?, _ paths: [RadioChoice.Path], _ names: [String]
    ) -> BLEError {
        if let failure {
            // A search would find it at once, with a radio that may not have the link.
            guard failure.code == .peripheralNotFound, paths.contains(where: { !$0.isStale }) else { return failure }
            return BLEError(
                .connectionFailed, "only radios that may not have the link hear the peripheral", cause: failure)
        }
        let reasons = paths.map { path in
            let reason =
                switch path.obstacle {
                case .off: "is off or gone"
                case .noSlot: "has no free slot"
                case .notAllowed: "is not allowed"
                case .keysElsewhere: "does not have the keys of the bond"
                case .heldByAnother, nil: "is not free"
                }
            return "\(names[path.radio]) \(reason)"
        }.sorted()
        let message = "no radio can connect: \(reasons.joined(separator: ", "))"
        let obstacles = Set(paths.map(\.obstacle))
        if obstacles.contains(.noSlot) {
            return BLEError(.busy, message, remedy: "End the link to another peripheral.")
        }
        if obstacles.contains(.off) { return BLEError(.poweredOff, message, remedy: "Switch it on, or plug it in.") }
        return BLEError(
            .invalidArgument, message, isRetryable: false,
            remedy: "Allow the radio that has the keys, or remove the bond.")
    }

    private static func limit(of path: RadioChoice.Path) -> Duration {
        max(attemptLimit, (path.interval ?? .zero) * 2)
    }

    /// Connects with a radio, on which the attempt has begun. Returns whether there is a link: false if the time is
    /// over that it has.
    private func connect(
        _ id: Peripheral.ID, over path: RadioChoice.Path, _ number: Int, isLast: Bool
    ) async throws(BLEError) -> Bool {
        let radio = path.radio
        logger.debug(
            "connecting over radio",
            metadata: ["radio": "\(names[radio])", "peripheral": "\(id)", "score": "\(Int(path.score.rounded()))"])
        defer { endWaits() }
        guard attempts[id] == number else {
            choice.endConnecting(id, on: radio, isLinked: false, hasFailed: false, now: elapsed())
            choice.didDisconnect(id, on: radio)
            throw Self.ended
        }
        do throws(BLEError) {
            try await connect(id, on: radio, limit: isLast ? nil : Self.limit(of: path))
            // A disconnect has ended the link already.
            guard attempts[id] == number else { throw Self.ended }
            choice.endConnecting(id, on: radio, isLinked: true, hasFailed: false, now: elapsed())
            return true
        } catch {
            // The radio's system may go on connecting, as bluetoothd does.
            let isGivenUp = attempts[id] != number || error.code == .cancelled || error.code == .timedOut
            if isGivenUp { await withdraw(id, from: radio) }
            let isEnded = attempts[id] != number
            let hasExpired = !isLast && error.code == .cancelled && !Task.isCancelled && !isEnded
            let hasFailed = hasExpired || !isEnded && Self.mayPass(error) && error.code != .peripheralNotFound
            choice.endConnecting(id, on: radio, isLinked: false, hasFailed: hasFailed, now: elapsed())
            if hasExpired { return false }
            throw isEnded ? Self.ended : error
        }
    }

    /// Connects with a radio. Throws `cancelled` at the limit, and returns only when the radio's call has.
    private func connect(_ id: Peripheral.ID, on radio: Int, limit: Duration?) async throws(BLEError) {
        let backend = members[radio].backend
        guard let limit else { return try await backend.connect(id) }
        let task = Task(executorPreference: taskExecutor) { () -> Result<Void, BLEError> in
            do throws(BLEError) {
                return .success(try await backend.connect(id))
            } catch {
                return .failure(error)
            }
        }
        let expiry = Expiry(after: limit, clock: configuredClock) { task.cancel() }
        defer { expiry.cancel() }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        try result.get()
    }

    /// Ends what a radio may still do for an attempt that was given up, also for a caller that is cancelled: no link is
    /// left when another radio is tried.
    private func withdraw(_ id: Peripheral.ID, from radio: Int) async {
        let backend = members[radio].backend
        let isDown = await Task(executorPreference: taskExecutor) {
            do throws(BLEError) {
                try await backend.disconnect(id)
                return true
            } catch {
                return false
            }
        }.value
        if isDown { choice.didDisconnect(id, on: radio) }
    }

    /// Ends the link, and each attempt that a radio may still make.
    package func disconnect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        // An attempt does not go on with another radio.
        attempts[peripheral] = nil
        endWaits()
        let holder = choice.holder(of: peripheral)
        let others = choice.begun(peripheral).subtracting(holder.map { [$0] } ?? []).sorted()
        var radios = (holder.map { [$0] } ?? []) + others
        if radios.isEmpty { radios = [radio(of: peripheral)] }
        var failure: BLEError?
        for radio in radios {
            do throws(BLEError) {
                try await members[radio].backend.disconnect(peripheral)
                choice.didDisconnect(peripheral, on: radio)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    // MARK: Bonds

    /// Asks the radios, also those that are off, which of them have keys of a peripheral. Those that are gone keep
    /// theirs.
    private func learnBonds(of id: Peripheral.ID) async {
        try? await onAll(where: \.isThere, tolerating: { _ in true }) { (me, radio) throws(BLEError) in
            await me.askForBond(of: id, on: radio)
        }
    }

    func learnBond(of id: Peripheral.ID, on radio: Int) {
        Task(executorPreference: taskExecutor) { await self.askForBond(of: id, on: radio) }
    }

    private func askForBond(of id: Peripheral.ID, on radio: Int) async {
        guard members[radio].isThere else { return }
        do throws(BLEError) {
            let isPaired = try await members[radio].backend.pairingState(id).isPaired
            if members[radio].isThere { setBonded(isPaired, id, on: radio) }
        } catch {
            // Other errors do not say whether it has keys.
            guard error.code == .peripheralNotFound, members[radio].isThere else { return }
            setBonded(false, id, on: radio)
        }
    }

    /// Records whether a radio has keys. Attempts that wait for the radio with the keys may go on if that changes.
    private func setBonded(_ isBonded: Bool, _ id: Peripheral.ID, on radio: Int) {
        let former = choice.bonds(of: id)
        choice.setBonded(isBonded, id, on: radio)
        if choice.bonds(of: id) != former { endWaits() }
    }

    package func pair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        let radio = radio(of: peripheral)
        try await members[radio].backend.pair(peripheral)
        setBonded(true, peripheral, on: radio)
    }

    /// Removes the bonds of all radios.
    package func unpair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        for radio in members.indices {
            // One that is gone keeps its keys, and says so when it is back.
            if members[radio].isThere {
                try await members[radio].backend.unpair(peripheral)
            }
            setBonded(false, peripheral, on: radio)
        }
    }

    package func pairingState(_ peripheral: Peripheral.ID) async throws(BLEError) -> PairingState {
        try await ofFirst(peripheral) { (backend) throws(BLEError) in try await backend.pairingState(peripheral) }
    }

    package func systemProperties(_ peripheral: Peripheral.ID) async throws(BLEError) -> [String: SystemValue] {
        try await ofFirst(peripheral) { (backend) throws(BLEError) in try await backend.systemProperties(peripheral) }
    }

    /// Changes the setting with all radios that know the peripheral.
    package func set(_ setting: PeripheralSetting, to value: Bool, for peripheral: Peripheral.ID) async throws(BLEError)
    {
        try await onAll(
            where: \.isThere, tolerating: { $0.code == .peripheralNotFound }
        ) { (me, radio) throws(BLEError) in
            try await me.members[radio].backend.set(setting, to: value, for: peripheral)
        }
    }

    /// The result of the peripheral's radio, or of the first other that knows the peripheral.
    private func ofFirst<Value: Sendable>(
        _ id: Peripheral.ID, _ work: (any CentralBackend) async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        let own = radio(of: id)
        // The others cannot answer for the radio with the keys.
        while members[own].state == .resetting, adapterState() != .resetting { try await wait(for: nextChange()) }
        do throws(BLEError) {
            return try await work(members[own].backend)
        } catch {
            guard error.code == .peripheralNotFound else { throw error }
            for radio in members.indices where radio != own && members[radio].isOn {
                if let value = try? await work(members[radio].backend) { return value }
            }
            throw error
        }
    }
}
