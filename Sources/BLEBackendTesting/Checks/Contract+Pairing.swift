import BLE
import BLEProfiles
import Testing

extension Contract {
    /// Runs a check with a peripheral that pairs in a given way, without a bond before and after.
    func withPairing(
        _ method: PeerPairing, _ behavior: PairingBehavior = .justWorks,
        _ check: (Peripheral) async throws -> Void
    ) async throws {
        try await peer.setPairing(method)
        try await withCentral(pairing: behavior) { central in
            let strap = try await find(central).peripheral
            try await strap.unpair()
            #expect(try await find(central).peripheral == strap)
            let result: Result<Void, any Error>
            do { result = .success(try await check(strap)) } catch { result = .failure(error) }
            // A stack may take longer to end the link.
            try? await peer.disconnect()
            try? await strap.unpair()
            try await peer.loseBonds()
            try result.get()
        }
    }

    /// Begins work whose pairing asks a user. When it has ended, no prompt of that pairing is awaited any longer.
    private func failing(
        asking user: PairingUser, _ work: @escaping @Sendable () async throws -> Void
    ) async -> Task<BLEError?, Never> {
        await user.pairingBegins()
        let task = failing(work)
        return Task {
            let error = await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
            await user.pairingEnded(error)
            return error
        }
    }

    func justWorks() async throws {
        try await withPairing(.justWorks) { strap in
            #expect(try await strap.isPaired == false)
            try await strap.pair()
            #expect(try await strap.isPaired)
            #expect(await strap.connectionState == .connected)
            #expect(try await peer.bonds() == 1)
            #expect(try await strap.pairingState().identity == strap.id)
            #expect(try await strap.read(EchoStrap.secret) == Array("secret".utf8))
            let again = await error { try await strap.pair() }
            #expect(again?.code == .alreadyPaired)
            #expect(again?.peripheral == strap.id)
            // The bond also secures the next link.
            try await strap.disconnect()
            #expect(try await strap.read(EchoStrap.secret) == Array("secret".utf8))
            try await strap.unpair()
            #expect(await strap.connectionState == .disconnected)
            try await peer.until(connections: 0)
            #expect(try await strap.isPaired == false)
            try await strap.unpair()
            #expect(try await find(strap.central).peripheral == strap)
            #expect(try await strap.isPaired == false)
        }
    }

    /// Reads a value that requires pairing. The kernel may lose the answer; bluetoothd then ends the link after the
    /// Attribute Protocol's 30 s, and the read is repeated on a new link. The deadline of the read is later, so that
    /// the loss is always reported.
    private func readSecret(_ strap: Peripheral) async throws -> [UInt8] {
        do throws(BLEError) {
            return try await strap.read(EchoStrap.secret, timeout: .seconds(45))
        } catch {
            guard [.disconnected, .timedOut].contains(error.code) else { throw error }
        }
        // bluetoothd reports the failure of the read a moment before the end of the link.
        try await until(.disconnected, strap)
        return try await strap.read(EchoStrap.secret)
    }

    func pairingByReading() async throws {
        try await withPairing(.justWorks) { strap in
            let value = try await readSecret(strap)
            #expect(value == Array("secret".utf8))
            #expect(try await strap.isPaired)
        }
        let user = PairingUser()
        try await withPairing(.justWorks, .prompting(user)) { strap in
            let value = try await readSecret(strap)
            #expect(value == Array("secret".utf8))
            #expect(await user.events == [.authorize])
        }
    }

    func refusedPairingByReading() async throws {
        let user = PairingUser(authorizes: false)
        try await withPairing(.justWorks, .prompting(user)) { strap in
            try await strap.connect()
            let error = await error { _ = try await strap.read(EchoStrap.secret) }
            #expect(error?.code == .pairingRequired)
            #expect(error?.characteristic == EchoStrap.secret.key.characteristic)
            #expect(error?.remedy != nil)
            #expect(await user.events == [.authorize])
            // The link can no longer be used, but the next one can.
            try await until(.disconnected, strap)
            #expect(try await Battery(strap).level() == 87)
            #expect(try await strap.isPaired == false)
            // A pairing that this program requests needs no authorization.
            try await strap.pair()
            #expect(try await strap.read(EchoStrap.secret) == Array("secret".utf8))
        }
    }

    func unansweredQuestion() async throws {
        let user = PairingUser(hesitates: true)
        try await withPairing(.justWorks, .prompting(user)) { strap in
            let reading = await failing(asking: user) { _ = try await strap.read(EchoStrap.secret) }
            _ = try await user.until { $0 == .authorize }
            try await peer.loseLink()
            #expect(await reading.value?.code == .disconnected)
            _ = try await user.until { $0 == .ended }
            #expect(try await Battery(strap).level() == 87)
            #expect(try await strap.isPaired == false)
        }
    }

    func rejectedPairing() async throws {
        try await withPairing(.rejected) { strap in
            let error = await error { try await strap.pair() }
            #expect(error?.code == .pairingFailed)
            #expect(error?.peripheral == strap.id)
            try await until(.disconnected, strap)
            try await peer.until(connections: 0)
            #expect(try await Battery(strap).level() == 87)
            #expect(await self.error { try await strap.pair() }?.code == .pairingFailed)
            #expect(try await strap.isPaired == false)
        }
    }

    func enteredPasskey() async throws {
        let user = PairingUser(passkey: Passkey(654321))
        try await withPairing(.display, .prompting(user)) { strap in
            #expect(await error { try await strap.pair() }?.code == .pairingFailed)
            #expect(try await strap.isPaired == false)
            await user.set(passkey: nil)
            #expect(await error { try await strap.pair() }?.code == .pairingFailed)
            await user.set(passkey: EchoStrap.passkey)
            try await strap.pair()
            #expect(await user.events == [.enter, .enter, .enter])
            #expect(try await strap.read(EchoStrap.sealed) == Array("sealed".utf8))
            #expect(try await peer.bonds() == 1)
        }
    }

    func shownPasskey() async throws {
        let user = PairingUser()
        try await withPairing(.keyboard, .prompting(user, capability: .displayOnly)) { strap in
            let pairing = await failing(asking: user) { try await strap.pair() }
            guard case .show(let passkey) = try await user.until({ if case .show = $0 { true } else { false } }) else {
                return
            }
            try await peer.enter(passkey)
            #expect(await pairing.value == nil)
            _ = try await user.until { $0 == .ended }
            #expect(try await strap.read(EchoStrap.sealed) == Array("sealed".utf8))
        }
    }

    func comparison() async throws {
        let user = PairingUser(confirms: false)
        try await withPairing(.comparison, .prompting(user, capability: .displayYesNo)) { strap in
            #expect(await error { try await strap.pair() }?.code == .pairingFailed)
            #expect(await user.events == [.confirm])
            #expect(try await strap.isPaired == false)
            // A failure on a link that existed before does not affect later operations, whether or not the link stays.
            try await strap.connect()
            #expect(await error { try await strap.pair() }?.code == .pairingFailed)
            #expect(try await Battery(strap).level() == 87)
            #expect(try await strap.isPaired == false)
            await user.set(confirms: true)
            try await strap.pair()
            #expect(try await strap.isPaired)
            #expect(try await strap.read(EchoStrap.sealed) == Array("sealed".utf8))
        }
    }

    func weakPairing() async throws {
        try await withPairing(.justWorks) { strap in
            try await strap.pair()
            // BlueZ cannot replace the bond with a more secure one: it does not answer, and the link has stalled.
            // bluetoothd 5.82 sometimes answers with an error.
            let error = await error { _ = try await strap.read(EchoStrap.sealed, timeout: .seconds(2)) }
            #expect([.timedOut, .attributeError].contains(error?.code), "\(String(describing: error))")
            #expect(try await strap.isPaired)
            try await strap.disconnect()
            #expect(try await strap.read(EchoStrap.secret) == Array("secret".utf8))
        }
    }

    func cancelledPairing() async throws {
        try await withPairing(.unanswered) { strap in
            let pairing = failing { try await strap.pair() }
            try await peer.untilAskedToPair()
            pairing.cancel()
            #expect(await pairing.value?.code == .cancelled)
            try await until(.disconnected, strap)
            try await peer.until(connections: 0)
            #expect(try await strap.isPaired == false)
            // A link that existed before the pairing stays.
            try await peer.setPairing(.unanswered)
            try await strap.connect()
            let second = failing { try await strap.pair() }
            try await peer.untilAskedToPair()
            second.cancel()
            #expect(await second.value?.code == .cancelled)
            #expect(try await Battery(strap).level() == 87)
            #expect(await strap.connectionState == .connected)
            try await peer.setPairing(.justWorks)
            try await strap.pair()
            #expect(try await peer.bonds() == 1)
        }
        let user = PairingUser(hesitates: true)
        try await withPairing(.comparison, .prompting(user, capability: .displayYesNo)) { strap in
            let pairing = await failing(asking: user) { try await strap.pair() }
            _ = try await user.until { $0 == .confirm }
            pairing.cancel()
            #expect(await pairing.value?.code == .cancelled)
            _ = try await user.until { $0 == .ended }
            try await peer.until(connections: 0)
            #expect(try await strap.isPaired == false)
        }
    }

    /// A bond outlasts links, Bluetooth and centrals, and nobody is asked again.
    func bondedReturn() async throws {
        let user = PairingUser()
        try await withPairing(.comparison, .prompting(user, capability: .displayYesNo)) { strap in
            let central = strap.central
            try await strap.pair()
            let ends: [() async throws -> Void] = [strap.disconnect, peer.disconnect, peer.loseLink]
            for end in ends {
                #expect(try await strap.read(EchoStrap.sealed) == Array("sealed".utf8))
                try await end()
                try await until(.disconnected, strap)
            }
            var states = await central.adapterStates().makeAsyncIterator()
            try await peer.stopBluetooth()
            while try await states.next() != .resetting {}
            try await peer.restartBluetooth()
            while try await states.next() != .poweredOn {}
            #expect(try await strap.isPaired)
            #expect(try await strap.read(EchoStrap.sealed) == Array("sealed".utf8))
            #expect(await central.knownPeripherals().contains { $0.id == strap.id })
            try await strap.disconnect()
            // Another central of this machine has the bond as well.
            try await withCentral(pairing: .prompting(user, capability: .displayYesNo)) { later in
                let same = later.peripheral(strap.id)
                let value = try await same.read(EchoStrap.sealed)
                #expect(value == Array("sealed".utf8))
            }
            #expect(await user.events.filter { $0 != .ended } == [.confirm])
            #expect(try await peer.bonds() == 1)
        }
    }

    func pairingDeadline() async throws {
        try await withPairing(.unanswered) { strap in
            let error = await error { try await strap.pair(timeout: .seconds(2)) }
            #expect(error?.code == .timedOut)
            try await peer.until(connections: 0)
            #expect(await strap.connectionState == .disconnected)
            #expect(try await strap.isPaired == false)
        }
    }

    func pairingLinkLoss() async throws {
        try await withPairing(.unanswered) { strap in
            try await strap.connect()
            let pairing = failing { try await strap.pair() }
            try await peer.untilAskedToPair()
            try await peer.loseLink()
            #expect(await pairing.value?.code == .disconnected)
            #expect(try await strap.isPaired == false)
        }
    }

    func settings() async throws {
        try await withPairing(.justWorks) { strap in
            let unknown = strap.central.peripheral(Peripheral.ID(rawValue: "00:11:22:33:44:55"))
            #expect(await error { try await unknown.setTrusted(true) }?.code == .peripheralNotFound)
            try await strap.setTrusted(true)
            #expect(try await strap.pairingState().isTrusted)
            try await strap.setTrusted(false)
            #expect(try await strap.pairingState().isTrusted == false)
            try await strap.connect()
            try await strap.setBlocked(true)
            #expect(try await strap.pairingState().isBlocked)
            try await until(.disconnected, strap)
            try await peer.until(connections: 0)
            try await strap.setBlocked(false)
            #expect(try await strap.pairingState().isBlocked == false)
        }
    }
}
