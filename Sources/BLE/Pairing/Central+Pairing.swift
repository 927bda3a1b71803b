internal import Logging
internal import Waiting

extension Central {
    /// The maximum time for a backend to end a pairing whose caller has given up. bluetoothd takes about 2 s for a
    /// link.
    private static let endOfPairing = Duration.seconds(5)

    func pair(_ id: Peripheral.ID, timeout: Duration) async throws(BLEError) {
        let begun = elapsed()
        func rest() -> Duration { max(.zero, timeout - (elapsed() - begun)) }
        do throws(BLEError) {
            if try await pairingState(id, timeout: rest(), of: timeout, name: "pairing").isPaired {
                throw BLEError.alreadyPaired.at(id)
            }
        } catch  where error.code == .peripheralNotFound || error.code == .notSupported {
            // The system does not know the peripheral, so there is no bond, or it does not report bonds.
        }
        let link = link(id)
        if case .maintained = policy(id) {
        } else if !link.isWanted {
            link.pairing.makeLinkOnlyToPair()
        }
        link.pairing.addCaller()
        defer {
            considerIdle(id)
            removeLinkIfUnused(id)
        }
        do throws(BLEError) {
            let (left, limit) = (rest(), configuration.connectTimeout)
            try await establish(id, timeout: min(left, limit), of: left < limit ? timeout : nil)
            // Not failed by the end of the link: the backend's error is more specific. A backend may have to end the
            // link with the pairing, which the caller must not use meanwhile.
            try await perform(
                timeout: rest(), of: timeout, name: "pairing", as: .pair, using: .pairing(id),
                lingering: Self.endOfPairing
            ) { (backend) throws(BLEError) in try await backend.pair(id) }
            links[id]?.pairing.keepLink()
            if let link = links[id], !link.isInScope { link.keep() }
            pairingEnded(id)
        } catch {
            let isLast = pairingEnded(id)
            if isLast, let link = links[id], link.pairing.keepLink() {
                if link.isInScope || link.state == .connected { link.leaveToUsers() }
                if link.hasServed { try? await disconnect(id) }
            }
            throw error.at(id)
        }
    }

    /// Removes a caller of the pairing. Returns true if it was the last.
    @discardableResult private func pairingEnded(_ id: Peripheral.ID) -> Bool {
        let isLast = links[id]?.pairing.removeCaller() ?? true
        if isLast { endPrompts(of: id) }
        return isLast
    }

    func unpair(_ id: Peripheral.ID) async throws(BLEError) {
        do throws(BLEError) {
            guard try await pairingState(id).isPaired else { return }
        } catch  where error.code == .peripheralNotFound {
            return
        } catch  where error.code == .notSupported {
            // The system does not report bonds, but may remove one.
        }
        try await disconnect(id)
        do throws(BLEError) {
            try await perform(
                timeout: configuration.operationTimeout, name: "unpairing", as: .unpair, using: .pairing(id)
            ) {
                (backend) throws(BLEError) in try await backend.unpair(id)
            }
        } catch {
            throw error.at(id)
        }
    }

    /// - Parameters:
    ///   - timeout: the time limit; nil for the configuration's.
    ///   - total: the time that the caller has given for everything. Nil if it is `timeout`.
    func pairingState(
        _ id: Peripheral.ID, timeout: Duration? = nil, of total: Duration? = nil,
        name: String = "reading the pairing state"
    ) async throws(BLEError) -> PairingState {
        try checkRunning()
        do throws(BLEError) {
            return try await perform(timeout: timeout ?? configuration.operationTimeout, of: total, name: name) {
                [weak self] (backend) throws(BLEError) in
                // Waits while Bluetooth restarts.
                try await self?.waitWhileAdapterResets()
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
                try await self?.waitWhileAdapterResets()
                try await backend.set(setting, to: value, for: id)
            }
        } catch {
            throw error.at(id)
        }
    }
}

// MARK: Prompts

extension Central {
    /// Returns the delegate's answer to a prompt, or the default answer if there is no delegate.
    func answer(_ prompt: PairingPrompt, for id: Peripheral.ID) async -> PairingAnswer {
        let behavior = configuration.pairing
        guard !isShutDown, behavior.isDefaultAgent || concerns(id), !operations.isEnding(.pairing(id)) else {
            logger.info("pairing refused: not requested by this central", metadata: ["peripheral": "\(id)"])
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

    /// Whether this central is pairing with the peripheral, or is connected or connecting to it.
    private func concerns(_ id: Peripheral.ID) -> Bool {
        links[id]?.pairing.isInProgress == true || connectionState(id) != .disconnected
    }

    /// Whether this central has an operation in progress that may require the pairing.
    private func isWanted(_ id: Peripheral.ID) -> Bool {
        links[id].map { $0.pairing.isInProgress || $0.operations.mayPair } ?? false
    }

    /// Returns the delegate's answer, or a refusal if the answer is no longer wanted.
    private func ask(
        _ delegate: any PairingDelegate, _ prompt: PairingPrompt, _ peripheral: Peripheral
    ) async -> PairingAnswer {
        let token = token()
        let outcome = Outcome<PairingAnswer>()
        link(peripheral.id).pairing.addQuestion(token, outcome)
        let deadline = deadline(backend.limits.pairingPromptTimeout, "answering a pairing prompt", outcome)
        let question = Task { @concurrent in
            outcome.deliver(.success(await prompt.put(to: delegate, for: peripheral)))
        }
        defer {
            question.cancel()
            deadline.cancel()
            links[peripheral.id]?.pairing.removeQuestion(token)
            removeLinkIfUnused(peripheral.id)
        }
        do throws(BLEError) {
            return try await outcome.wait()
        } catch {
            logger.debug("pairing prompt ended without an answer", metadata: ["reason": "\(error.message)"])
            notifyDelegate { await delegate.promptEnded(for: peripheral) }
            return .refuse
        }
    }

    /// Withdraws the prompts for a peripheral.
    func endPrompts(of id: Peripheral.ID) {
        guard let display = links[id]?.pairing.withdraw(), let delegate = configuration.pairing.delegate else { return }
        let peripheral = peripheral(id)
        notifyDelegate {
            // Waits until nothing is shown, not until the delegate's method returns: it may wait for `promptEnded`.
            try? await display.ended.wait()
            await delegate.promptEnded(for: peripheral)
        }
    }

    /// Notifies the delegate, outside the central and in order.
    private func notifyDelegate(_ work: @escaping @Sendable () async -> Void) {
        delegateNotifications = Task { @concurrent [previous = delegateNotifications] in
            await previous?.value
            await work()
        }
    }

    /// Shows a prompt in place of the one shown for the peripheral. Returns once it is shown: only then can the user
    /// enter it.
    private func show(_ prompt: PairingPrompt, _ delegate: any PairingDelegate, _ peripheral: Peripheral) async {
        let display = link(peripheral.id).pairing.displayed()
        await display.next { _ = await prompt.put(to: delegate, for: peripheral) }
    }
}

extension PairingPrompt {
    /// Passes the prompt to the delegate and returns its answer.
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
