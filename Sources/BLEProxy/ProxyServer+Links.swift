internal import BLE
internal import BLEESPHome
internal import Loop
internal import Waiting

/// What makes a link and follows it to its end.
struct HeldLink {
    /// Cancelled to end the link. It ends when the link has ended.
    let task: Task<Void, Never>
    /// Whether the link was up.
    var wasUp = false
    /// The MTU that the client was told. Nil before it was told that the link is up.
    var mtu: UInt32?
}

/// Why a client did not get a link.
enum MissedLink: CaseIterable {
    /// It may not have it.
    case refused
    /// The link could not be made, or was given up before.
    case failed

    func event(_ told: Refusals<Peripheral.ID>.Told, _ client: ProxyEvent.Client) -> ProxyEvent {
        switch self {
        case .refused: .linkRefused(told.last, client, count: told.count)
        case .failed: .linkFailed(told.last, client, count: told.count)
        }
    }
}

/// One that waits for a peripheral whose link is ending.
struct LinkWait {
    let client: Int
    /// Delivered for a Matter server. Nil for a client, which is connected.
    var outcome: Outcome<ProxyHold?>?
}

/// Links, and who may have them.
extension ProxyServer {
    func subscribeSlots(_ client: ProxyClient, _ id: Int) {
        client.reportsSlots = true
        client.toldSlots = nil
        slots.ask(id)
        sendSlots()
    }

    func handle(_ request: DeviceRequest, _ address: UInt64, _ id: Int) {
        guard let device = DeviceAddress(address) else {
            send(.connection(address: address, isConnected: false, mtu: 0, error: 0x101), to: id)
            return
        }
        let peripheral = central.peripheral(device.id)
        switch request {
        // bluetoothd knows the type of the address, which some clients do not send.
        case .connect, .connectWithCache, .connectWithoutCache: connect(peripheral, address, id)
        case .disconnect:
            endWaits(for: address) { $0.client == id }
            guard let hold = slots.hold(of: address), hold.client == id, let link = links[hold.link] else {
                send(.connection(address: address, isConnected: false, mtu: 0, error: 0), to: id)
                return
            }
            // Its end is told then.
            link.task.cancel()
        case .pair:
            perform(
                id, address, 0,
                always: { error in
                    .paired(address: address, isPaired: error == nil, error: error?.proxyNumber ?? 0)
                }
            ) { server, peripheral, _ in
                try await peripheral.pair()
                // A system that does not report bonds, such as another proxy, also succeeds if there is one already.
                if (try? await peripheral.isPaired) == true { await server.recordBond(address, exists: true) }
            }
        case .unpair: unpair(address, id)
        case .clearCache:
            // The central discovers the services on each link, or knows that they have not changed.
            send(.cacheCleared(address: address, isCleared: true, error: 0), to: id)
        }
    }

    private func connect(_ peripheral: Peripheral, _ address: UInt64, _ id: Int) {
        guard let client = clients[id], let event = client.event else { return }
        if let hold = slots.hold(of: address) {
            let link = links[hold.link]
            if hold.client == id, let link {
                // The client does not know of its link. Otherwise, the answer of its attempt follows, or the end.
                if let mtu = link.mtu, !link.task.isCancelled {
                    send(.connection(address: address, isConnected: true, mtu: mtu, error: 0), to: id)
                }
                return
            }
            if hold.client == id || isEnding(hold) {
                // Such as a client that has restarted. bluetoothd takes up to 2 s to end a link.
                slots.ask(id)
                let isWaiting = awaited[address]?.contains { $0.client == id } == true
                if !isWaiting { awaited[address, default: []].append(LinkWait(client: id)) }
                return
            }
        }
        let hold = slots.take(address, for: id)
        // Before anything is sent: that may drop the client, which ends the links that it has.
        if let hold { links[hold.link] = HeldLink(task: follow(peripheral, address, hold, event)) }
        // Before the answer: a client that is refused then knows that it has no free slot.
        sendSlots()
        guard hold == nil, clients[id] != nil else { return }
        missed(peripheral.id, .refused, client)
        send(.connection(address: address, isConnected: false, mtu: 0, error: 0), to: id)
    }

    /// Makes a link, and follows it to its end.
    private func follow(
        _ peripheral: Peripheral, _ address: UInt64, _ hold: ProxyHold, _ client: ProxyEvent.Client
    ) -> Task<Void, Never> {
        Task { [weak self] in
            let error = await peripheral.followLink { [weak self] in
                await self?.linkBegan(address, hold, peripheral, client)
            }
            let reason = error.isCancellation ? 0x16 : error.linkEndNumber
            await self?.linkEnded(address, hold, reason, peripheral.id, client)
        }
    }

    /// Tells that a client did not get a link, at most once in a second for each reason.
    private func missed(_ id: Peripheral.ID, _ reason: MissedLink, _ client: ProxyClient) {
        tell(client.missed[reason, default: Refusals()].record(id), reason, client)
    }

    private func tell(_ told: Refusals<Peripheral.ID>.Told?, _ reason: MissedLink, _ client: ProxyClient) {
        guard let told, let event = client.event else { return }
        observers.yield(reason.event(told, event))
        client.missedTimers[reason] = call(after: Refusals<Peripheral.ID>.pause) { server in
            guard let client = server.clients[event.number] else { return }
            server.tell(client.missed[reason]?.next(), reason, client)
        }
    }

    /// Tells what was not told yet of the links that a client did not get, at its end.
    func tellMissed(_ client: ProxyClient) {
        guard let event = client.event else { return }
        for reason in MissedLink.allCases {
            if let told = client.missed[reason]?.next() { observers.yield(reason.event(told, event)) }
        }
    }

    /// Answers those who have waited for a peripheral. The first of them that may have a link gets it.
    private func serveAwaited(_ address: UInt64) {
        guard let waits = awaited.removeValue(forKey: address), let device = DeviceAddress(address) else { return }
        for wait in waits {
            guard let outcome = wait.outcome else {
                connect(central.peripheral(device.id), address, wait.client)
                continue
            }
            guard outcome.isOpen else { continue }
            let hold = slots.take(address, for: wait.client)
            // It may have been cancelled meanwhile.
            if !outcome.deliver(.success(hold)), let hold { _ = slots.release(address, hold) }
            sendSlots()
        }
    }

    private func endWaits(for address: UInt64, _ isEnded: (LinkWait) -> Bool) {
        awaited[address]?.removeAll(where: isEnded)
        if awaited[address]?.isEmpty == true { awaited[address] = nil }
    }

    /// Whether a link is ending, for whoever holds it.
    private func isEnding(_ hold: ProxyHold) -> Bool {
        let hasLeft = hold.client != LinkSlots.matter && clients[hold.client] == nil
        return hasLeft || slots.isEnding(hold) || links[hold.link]?.task.isCancelled == true
    }

    /// Tells the client of its link, if it is up.
    private func linkBegan(
        _ address: UInt64, _ hold: ProxyHold, _ peripheral: Peripheral, _ client: ProxyEvent.Client
    ) async {
        links[hold.link]?.wasUp = true
        observers.yield(.linkConnected(peripheral.id, client))
        let mtu = UInt32((try? await peripheral.attMTU()) ?? 23)
        guard await isUp(hold, peripheral), links[hold.link]?.task.isCancelled == false else { return }
        links[hold.link]?.mtu = mtu
        send(.connection(address: address, isConnected: true, mtu: mtu, error: 0), to: hold.client)
    }

    /// Whether a link is up that a client holds.
    func isUp(_ hold: ProxyHold, _ peripheral: Peripheral) async -> Bool {
        let state = await peripheral.connectionState
        return state == .connected && DeviceAddress(peripheral.id).map { slots.hold(of: $0.rawValue) } == hold
    }

    private func linkEnded(
        _ address: UInt64, _ hold: ProxyHold, _ reason: Int32, _ peripheral: Peripheral.ID, _ client: ProxyEvent.Client
    ) async {
        // It ends the links of the peripheral, also one of the next holder.
        await unpairs[address]?.task.value
        let link = links.removeValue(forKey: hold.link)
        clients[hold.client]?.cancelRequests(of: address)
        send(.connection(address: address, isConnected: false, mtu: 0, error: reason), to: hold.client)
        if link?.wasUp == true {
            observers.yield(.linkDisconnected(peripheral, client))
        } else if let client = clients[hold.client] {
            missed(peripheral, .failed, client)
        }
        release(hold, address)
    }

    /// Frees a peripheral, for who waits for it.
    func release(_ hold: ProxyHold, _ address: UInt64) {
        guard slots.release(address, hold) else { return }
        sendSlots()
        serveAwaited(address)
    }

    /// Ends the links of a client that has left, and its waits. The task of each link frees its slot.
    func endLinks(of id: Int) {
        for address in Array(awaited.keys) { endWaits(for: address) { $0.client == id } }
        for address in slots.leave(id) {
            if let hold = slots.hold(of: address) { links[hold.link]?.task.cancel() }
        }
        // The shares of the others have grown.
        sendSlots()
    }

    // MARK: Links of a Matter server

    /// Gives a peripheral to a Matter server, as to a client: if its link is ending, once it has ended. Returns nil if
    /// another has it, if there is no slot, or if the task is cancelled.
    func takeLink(_ id: Peripheral.ID) async -> ProxyHold? {
        guard let address = DeviceAddress(id)?.rawValue else { return nil }
        if let hold = slots.hold(of: address), isEnding(hold) {
            let outcome = Outcome<ProxyHold?>()
            awaited[address, default: []].append(LinkWait(client: LinkSlots.matter, outcome: outcome))
            slots.beginMatterWait()
            sendSlots()
            defer {
                endWaits(for: address) { $0.outcome === outcome }
                slots.endMatterWait()
                sendSlots()
            }
            return (try? await outcome.wait()) ?? nil
        }
        let hold = slots.take(address, for: LinkSlots.matter)
        sendSlots()
        return hold
    }

    /// Has clients that ask for a peripheral wait until its link has ended, which is ending.
    func linkEnds(_ id: Peripheral.ID, _ hold: ProxyHold) {
        guard let address = DeviceAddress(id)?.rawValue else { return }
        slots.willRelease(address, hold)
    }

    /// Frees a peripheral whose link has ended.
    func releaseLink(_ id: Peripheral.ID, _ hold: ProxyHold) {
        guard let address = DeviceAddress(id)?.rawValue else { return }
        release(hold, address)
    }

    // MARK: Pairing

    /// The maximum number of peripherals that may be unpaired without a link.
    private static let maximumPaired = 1024

    private func recordBond(_ address: UInt64, exists: Bool) {
        if !exists { paired.remove(address) } else if paired.count < Self.maximumPaired { paired.insert(address) }
    }

    /// Removes the bond of the client's link, or one that this server has made.
    ///
    /// Other bonds are none of the clients' business: to remove one ends the links of all programs. No other client
    /// gets the peripheral meanwhile, for the same reason.
    private func unpair(_ address: UInt64, _ id: Int) {
        let answer: @Sendable (BLEError?) -> ProxyMessage = { error in
            .unpaired(address: address, isUnpaired: error == nil, error: error?.proxyNumber ?? 0)
        }
        guard unpairs[address] == nil else {
            send(answer(BLEError(.busy, "it is being unpaired")), to: id)
            return
        }
        var taken: ProxyHold?
        if slots.hold(of: address) == nil, paired.contains(address) {
            taken = slots.take(address, for: id)
            sendSlots()
        }
        let request = perform(id, address, 0, taken: taken, always: answer) { server, peripheral, _ in
            // Not cancelled: the peripheral is held until it has ended.
            let work = Task { () async -> BLEError? in
                do throws(BLEError) { try await peripheral.unpair() } catch { return error }
                return nil
            }
            if let error = await work.value { throw error }
            await server.recordBond(address, exists: false)
        }
        if let request { unpairs[address] = request } else if let taken { release(taken, address) }
    }

    /// Tells each client that has asked its slots, if they have changed.
    private func sendSlots() {
        for (id, client) in clients where client.reportsSlots {
            let message = ProxyMessage.slots(slots.slots(of: id))
            guard client.toldSlots != message else { continue }
            client.toldSlots = message
            send(message, to: id)
        }
    }
}
