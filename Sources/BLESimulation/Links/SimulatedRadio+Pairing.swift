internal import BLE
internal import Waiting

/// A bond between a peripheral and an adapter of this machine.
struct SimulatedBond {
    let security: AttributeSecurity
}

/// What an adapter of this machine knows of a peripheral.
struct SimulatedRecord {
    var bond: SimulatedBond?
    /// The address under which it was paired. Nil for its identity address.
    var name: Peripheral.ID?
    /// The scan response that it has received.
    var scanResponse: Advertisement?
    /// Whether the peripheral has lost its half of the bond.
    var isBondLost = false
    var isTrusted = false
    var isBlocked = false
}

/// Pairing as in bluetoothd and the Linux kernel. The contract specifies this behavior.
extension SimulatedRadio {
    /// The maximum time that either side waits for the other side's next step: 30 s (Core Specification 5.4, volume 3,
    /// part H, section 3.4).
    private static let stepTimeout = Duration.seconds(30)

    func pair(_ id: Peripheral.ID, _ port: Int) async throws(BLEError) {
        try checkReady(port)
        guard record(of: id, port).bond == nil else { throw .alreadyPaired }
        let device = try device(id, port)
        guard let link = device.links[port], !link.shared.isPairing else {
            throw BLEError(.busy, "another pairing is in progress")
        }
        let method = device.pairing
        link.shared.isPairing = true
        do throws(BLEError) {
            try await runPairing(id, device, link, isRequested: true)
        } catch {
            // The central may have left a link that others use.
            if case .rejected = method, device.links[port] === link {
                endLink(device, link.shared, Self.authenticationFailed)
            }
            throw error
        }
    }

    private static let authenticationFailed = BLEError(.disconnected, "the link ended: pairing failed")

    /// Raises the security of the link to the level that an attribute or a channel requires. May start pairing without
    /// a call to `pair`.
    ///
    /// - Parameter id: that by which the central knows the peripheral.
    func secure(
        _ link: SimulatedLink, of device: SimulatedDevice, as id: Peripheral.ID, _ security: AttributeSecurity
    ) async throws(BLEError) {
        try check(link, of: device)
        guard link.shared.security < security else { return }
        if record(of: id, link.port).bond != nil {
            // The bond is not secure enough, and BlueZ does not replace it: the link stalls.
            guard link.shared.security == .open else { try await stall(device, link) }
            // The peripheral has lost its half of the bond.
            throw BLEError(.insufficientEncryption)
        }
        if link.shared.isPairing {
            try await waitForPairingEnd(link)
        } else {
            link.shared.isPairing = true
            do throws(BLEError) {
                try await runPairing(id, device, link, isRequested: false)
            } catch {
                try await handlePairingFailure(error, id, device, link)
            }
        }
        try check(link, of: device)
        guard link.shared.security >= security else { throw BLEError(.insufficientAuthentication) }
    }

    /// Handles the failure of a pairing that an operation has started. A refusal on either side ends the link
    /// immediately. Otherwise the link stalls.
    private func handlePairingFailure(
        _ error: BLEError, _ id: Peripheral.ID, _ device: SimulatedDevice, _ link: SimulatedLink
    ) async throws(BLEError) {
        switch error.code {
        case .cancelled, .disconnected: throw error
        case .pairingRequired:
            // The operation fails before the link ends.
            let (served, own) = (link.shared.served, device.id)
            Task { self.endLink(served, own, error) }
            throw error
        default:
            if case .rejected = device.pairing {
                endLink(device, link.shared, Self.authenticationFailed)
                throw Self.authenticationFailed
            }
            try await stall(device, link)
        }
    }

    private func endLink(_ served: CentralLink, _ id: Peripheral.ID, _ error: BLEError) {
        if let device = peripherals[id], let link = device.link(served) { endLink(device, link, error) }
    }

    /// Waits until the link ends or the caller gives up, because BlueZ sends nothing on a link that it could not
    /// secure.
    private func stall(_ device: SimulatedDevice, _ link: SimulatedLink) async throws(BLEError) -> Never {
        try await onLink(link, device) { while (try? await Outcome<Void>().wait()) != nil {} }
        throw Self.authenticationFailed
    }

    /// Runs a pairing until it ends, the link ends, or the caller gives up. The caller has set `isPairing`, in the step
    /// in which it has decided to pair.
    private func runPairing(
        _ id: Peripheral.ID, _ device: SimulatedDevice, _ link: SimulatedLink, isRequested: Bool
    ) async throws(BLEError) {
        let (port, shared, method) = (link.port, link.shared, device.pairing)
        defer {
            shared.isPairing = false
            for waiter in shared.pairingWaiters { waiter.deliver(.success(())) }
            shared.pairingWaiters = []
            ports[port]?.handle(.pairingEnded(id))
        }
        guard let central = ports[port] else { throw .shutDown }
        let (agent, adapter) = (central.pairing, central.adapter)
        guard let capability = agent.capability() else {
            throw .pairingFailed("there is no user on this side to confirm it")
        }
        let security: AttributeSecurity
        do throws(BLEError) {
            security = try await onLink(link, device) { @concurrent [clock] () throws(BLEError) in
                try await Self.negotiate(id, method, capability, agent, isRequested: isRequested, clock)
            }
        } catch {
            // After the time limit of a pairing, the kernel ends the link.
            if case .unanswered = method, error.code == .disconnected, device.links[port] === link {
                endLink(device, shared, error)
            }
            throw error
        }
        var record = device.records[adapter] ?? SimulatedRecord()
        (record.bond, record.isBondLost, record.name) = (SimulatedBond(security: security), false, link.name)
        device.records[adapter] = record
        shared.security = security
        // The identity address may be what another central waits for.
        linkPending(device.id)
    }

    /// Returns when the pairing on the link has ended, which it may have done already.
    private func waitForPairingEnd(_ link: SimulatedLink) async throws(BLEError) {
        guard link.shared.isPairing else { return }
        let outcome = Outcome<Void>()
        link.shared.pairingWaiters.append(outcome)
        let token = number()
        link.operations[token] = { outcome.deliver(.failure($0)) }
        defer { link.operations[token] = nil }
        try await outcome.wait()
    }

    /// Prompts the users on both sides, and returns the resulting security.
    private static func negotiate(
        _ id: Peripheral.ID, _ method: SimulatedPairing, _ capability: IOCapability, _ agent: PairingAgent,
        isRequested: Bool, _ clock: any Clock<Duration>
    ) async throws(BLEError) -> AttributeSecurity {
        let refused = isRequested ? BLEError.pairingFailed("refused on this side") : .pairingRefused
        switch method {
        case .rejected: throw .pairingFailed("the peripheral rejected pairing")
        case .unanswered:
            guard (try? await clock.sleep(for: stepTimeout)) != nil else { throw .cancelled }
            throw authenticationFailed
        default: break
        }
        let number = Passkey(.random(in: 0...999_999))!
        let model = AssociationModel(initiator: capability, responder: method.capability)
        switch model {
        case .justWorks:
            // The user is not asked to authorize a pairing that was requested here.
            if isRequested { return .encrypted }
            guard await agent.answer(id, .authorizePairing) == .accept else { throw refused }
            return .encrypted
        case .numericComparison:
            guard case .comparison(let agrees) = method else { break }
            async let theirs = agrees(number)
            guard await agent.answer(id, .confirm(number)) == .accept else { throw refused }
            guard await theirs else { throw .pairingFailed("the peripheral's user did not confirm the number") }
        case .passkeyEnteredOnInitiator:
            guard case .passkey(let entered) = await agent.answer(id, .enterPasskey) else { throw refused }
            guard entered == method.shown(number) else { throw .pairingFailed("the passkey is wrong") }
        case .passkeyEnteredOnResponder:
            guard case .keyboard(let enter) = method else { break }
            _ = await agent.answer(id, .show(number, entered: 0))
            guard await enter(number) == number else { throw .pairingFailed("the passkey is wrong") }
        case .passkeyEnteredOnBoth:
            guard case .keyboard(let enter) = method else { break }
            guard case .passkey(let entered) = await agent.answer(id, .enterPasskey) else { throw refused }
            guard await enter(entered) == entered else { throw .pairingFailed("the passkey is wrong") }
        }
        return .authenticated
    }

    /// Runs work on a central's link until the work or the link ends, or the caller gives up.
    func onLink<Value: Sendable>(
        _ link: SimulatedLink, _ device: SimulatedDevice, executor: (any TaskExecutor)? = nil,
        _ work: @escaping @Sendable () async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        // It may have ended before this call had its turn.
        guard device.links[link.port] === link else { throw Self.noLink }
        let outcome = Outcome<Value>()
        let token = number()
        link.operations[token] = { outcome.deliver(.failure($0)) }
        defer { link.operations[token] = nil }
        return try await outcome.race(executor: executor, work)
    }

    // MARK: Bonds and settings

    /// What the adapter of a central knows of a peripheral.
    func record(of id: Peripheral.ID, _ port: Int) -> SimulatedRecord {
        peripherals[id]?.records[adapter(of: port)] ?? SimulatedRecord()
    }

    func adapter(of port: Int) -> String { ports[port]?.adapter ?? Self.adapterID }

    /// Removes the bond and the peripheral, for all centrals of the adapter.
    func unpair(_ id: Peripheral.ID, _ port: Int) throws(BLEError) {
        try checkReady(port)
        guard let device = peripherals[id], let adapter = ports[port]?.adapter else { return }
        endLinks(device, on: adapter, BLEError(.disconnected, "the link was ended by a call to unpair"))
        let name = name(of: device, on: adapter)
        device.records[adapter] = nil
        for port in orderedPorts where port.adapter == adapter && !port.forget([name]).isEmpty {
            port.handle(.peripheralRemoved(name))
        }
        removeNameIfUnused(name, of: device)
        updateAdvertising(device, anew: true)
    }

    func pairingState(_ id: Peripheral.ID, _ port: Int) throws(BLEError) -> PairingState {
        guard isRunning else { throw Self.lost }
        guard let device = peripherals[id], isKnown(id, port) else {
            throw BLEError(
                .peripheralNotFound, "the peripheral has not been discovered", remedy: "It may be out of range.")
        }
        let record = record(of: id, port)
        return PairingState(
            isPaired: record.bond != nil, isTrusted: record.isTrusted, isBlocked: record.isBlocked,
            identity: record.bond == nil ? id : device.id)
    }

    func set(_ setting: PeripheralSetting, _ value: Bool, _ id: Peripheral.ID, _ port: Int) throws(BLEError) {
        _ = try pairingState(id, port)
        guard let device = peripherals[id] else { return }
        let adapter = adapter(of: port)
        switch setting {
        case .trusted: device.records[adapter, default: SimulatedRecord()].isTrusted = value
        case .blocked:
            device.records[adapter, default: SimulatedRecord()].isBlocked = value
            if value {
                // Of all centrals of the adapter: bluetoothd blocks the device, not a client's use of it.
                let blocked = BLEError(.disconnected, "the link was ended: the peripheral is blocked")
                endLinks(device, on: adapter, blocked)
            } else {
                linkPending(device.id)
            }
        }
    }

    func isPaired(_ id: Peripheral.ID) -> Bool {
        peripherals[id]?.records.values.contains { $0.bond != nil } == true
    }

    func isPairing(_ id: Peripheral.ID) -> Bool {
        peripherals[id]?.links.values.contains { $0.shared.isPairing } == true
    }

    func setPairing(_ method: SimulatedPairing, _ id: Peripheral.ID) {
        peripherals[id]?.pairing = method
    }

    /// Removes the peripheral's half of the bond, which this machine does not notice.
    func loseBond(_ id: Peripheral.ID) {
        for (adapter, record) in peripherals[id]?.records ?? [:] where record.bond != nil {
            peripherals[id]?.records[adapter]?.isBondLost = true
        }
    }
}

extension SimulatedPairing {
    /// Returns the passkey that the peripheral shows: its fixed passkey if it has one, otherwise the given one.
    fileprivate func shown(_ number: Passkey) -> Passkey {
        if case .display(let passkey) = self { passkey } else { number }
    }
}
