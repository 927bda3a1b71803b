internal import BLE
internal import BLEESPHome
internal import Loop

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
            clients[id]?.awaited.remove(address)
            guard slots.hold(of: address)?.client == id else {
                send(.connection(address: address, isConnected: false, mtu: 0, error: 0), to: id)
                return
            }
            // The task of the link sees its end, also if its attempt to connect has not begun yet.
            clients[id]?.attempts[address]?.cancel()
            Task { try? await peripheral.disconnect() }
        case .pair:
            perform(
                id, address, 0,
                always: { error in
                    .paired(address: address, isPaired: error == nil, error: error?.proxyNumber ?? 0)
                }
            ) { _, peripheral in try await peripheral.pair() }
        case .unpair:
            perform(
                id, address, 0, needsLink: false,
                always: { error in
                    .unpaired(address: address, isUnpaired: error == nil, error: error?.proxyNumber ?? 0)
                }
            ) { _, peripheral in try await peripheral.unpair() }
        case .clearCache:
            // The central discovers the services on each link, or knows that they have not changed.
            send(.cacheCleared(address: address, isCleared: true, error: 0), to: id)
        }
    }

    private func connect(_ peripheral: Peripheral, _ address: UInt64, _ id: Int) {
        guard let client = clients[id], let event = client.event else { return }
        if let hold = slots.hold(of: address), hold.client == id {
            // The client does not know of its link, or of its attempt, whose answer follows.
            Task { await sendConnected(address, hold, peripheral) }
            return
        }
        if let ending = slots.hold(of: address), hasLeft(ending.client), let link = links[ending.link] {
            // Such as a client that has restarted. bluetoothd takes up to 2 s to end a link.
            slots.ask(id)
            guard client.awaited.insert(address).inserted else { return }
            Task { [weak self] in
                await link.value
                await self?.connectAwaited(peripheral, address, id)
            }
            return
        }
        let hold = slots.take(address, for: id)
        // Before the answer: a client that is refused then knows that it has no free slot.
        sendSlots()
        guard let hold else {
            observers.yield(.linkRefused(peripheral.id, event))
            send(.connection(address: address, isConnected: false, mtu: 0, error: 0), to: id)
            return
        }
        let attempt = Task {
            let events = await peripheral.connectionEvents()
            try await peripheral.connect()
            return events
        }
        client.attempts[address] = attempt
        links[hold.link] = Task { [weak self] in
            var reason: Int32 = 0
            do {
                let events = try await attempt.value
                await self?.linkBegan(address, hold, peripheral, event)
                watching: for try await event in events {
                    switch event {
                    case .disconnected(let error):
                        reason = error.linkEndNumber
                        break watching
                    case .disconnectFailed:
                        // If the client has left, nobody asks again.
                        if await self?.hasLeft(id) ?? true { break watching }
                    default: break
                    }
                }
            } catch {
                reason = (error as? BLEError)?.linkEndNumber ?? 0x100
            }
            await self?.linkEnded(address, hold, reason, event)
        }
    }

    /// Connects what a client has waited for, unless it does not want it any more.
    private func connectAwaited(_ peripheral: Peripheral, _ address: UInt64, _ id: Int) {
        guard clients[id]?.awaited.remove(address) != nil else { return }
        connect(peripheral, address, id)
    }

    private func hasLeft(_ id: Int) -> Bool { clients[id] == nil }

    private func linkBegan(
        _ address: UInt64, _ hold: ProxyHold, _ peripheral: Peripheral, _ client: ProxyEvent.Client
    ) async {
        observers.yield(.linkConnected(peripheral.id, client))
        guard !hasLeft(hold.client) else {
            // The client has left while the link was being made.
            try? await peripheral.disconnect()
            return
        }
        await sendConnected(address, hold, peripheral)
    }

    /// Tells the client of its link, if it is up.
    private func sendConnected(_ address: UInt64, _ hold: ProxyHold, _ peripheral: Peripheral) async {
        guard await isUp(hold, peripheral) else { return }
        let mtu = (try? await peripheral.attMTU()) ?? 23
        guard slots.hold(of: address) == hold else { return }
        send(.connection(address: address, isConnected: true, mtu: UInt32(mtu), error: 0), to: hold.client)
    }

    /// Whether a link is up that a client holds.
    func isUp(_ hold: ProxyHold, _ peripheral: Peripheral) async -> Bool {
        let state = await peripheral.connectionState
        return state == .connected && DeviceAddress(peripheral.id).map { slots.hold(of: $0.rawValue) } == hold
    }

    private func linkEnded(_ address: UInt64, _ hold: ProxyHold, _ reason: Int32, _ client: ProxyEvent.Client) {
        links[hold.link] = nil
        clients[hold.client]?.cancelRequests(of: address)
        send(.connection(address: address, isConnected: false, mtu: 0, error: reason), to: hold.client)
        guard slots.release(address, hold) else { return }
        if let device = DeviceAddress(address) { observers.yield(.linkDisconnected(device.id, client)) }
        sendSlots()
    }

    /// Ends the links of a client that has left. The task of each link frees its slot.
    func endLinks(of id: Int) {
        for address in slots.leave(id) {
            guard let peripheral = DeviceAddress(address).map({ central.peripheral($0.id) }) else { continue }
            Task { try? await peripheral.disconnect() }
        }
        // The shares of the others have grown.
        sendSlots()
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
