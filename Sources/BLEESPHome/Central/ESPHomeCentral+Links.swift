public import BLE
internal import Loop
internal import Waiting

extension ESPHomeCentral {
    /// The maximum time in which a proxy ends a link, or reports its slot as free. It may have lost the request.
    private static let ending = Duration.seconds(10)

    func address(_ id: Peripheral.ID) throws(BLEError) -> UInt64 {
        guard let address = DeviceAddress(id) else { throw .notAnAddress(id) }
        return address.rawValue
    }

    /// Returns a link that is up. Throws `disconnected`.
    func link(_ id: Peripheral.ID) throws(BLEError) -> (address: UInt64, link: ProxyLink) {
        try checkReady()
        let address = try address(id)
        guard let link = links[address], link.isUp else {
            throw BLEError(.disconnected, "there is no link to the peripheral")
        }
        return (address, link)
    }

    /// The number of further links that the proxy can make. A slot is free when the proxy says so, which is later
    /// than the end of its link. None if the proxy only receives advertisements; nil if it does not say so.
    public func freeSlots() -> Int? {
        guard state == .poweredOn else { return nil }
        guard info.features.contains(.connections) else { return 0 }
        guard let slots else { return nil }
        var free = Int(slots.free)
        // The proxy may not have heard of the last requests yet. Some do not list what they have allocated.
        if slots.allocated.count + free == slots.limit {
            free -= links.count { ($1.isUp || $1.isConnecting) && !slots.allocated.contains($0) }
        }
        return max(0, free)
    }

    /// Reports the number of free slots if it has changed.
    func reportSlots() {
        let free = freeSlots()
        guard free != reportedSlots else { return }
        reportedSlots = free
        report(.radioChanged)
    }

    /// Ends the connection to the proxy with its links, and connects again, with pauses that grow. Returns at once.
    public func restart() async throws(BLEError) {
        try checkReady()
        lose(.restarted)
    }

    /// Has the proxy connect. Throws `busy` if all of its connections are in use.
    public func connect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try checkReady()
        let address = try address(peripheral)
        guard info.features.contains(.connections) else {
            throw BLEError(.notSupported, "the proxy only receives advertisements", isRetryable: false)
        }
        if links[address]?.isUp == true { return }
        // The type of an address is known from advertisements alone.
        guard let type = heard.addressType(address) else {
            throw BLEError(.peripheralNotFound, "the proxy has not received an advertisement of the peripheral")
        }
        try await untilEnded(address)
        try checkReady()
        guard links[address] == nil else { throw BLEError(.busy, "another attempt to connect is under way") }
        // A proxy reports links to the subscriber to its advertisements, and ends them without one.
        try setSubscription(true)
        let outcome = Outcome<Void>()
        links[address] = ProxyLink(state: .connecting(outcome))
        send(.request(.connectWithoutCache, address: address, addressType: type))
        reportSlots()
        do throws(BLEError) {
            try await outcome.wait()
        } catch {
            if links[address]?.isConnecting == true || links[address]?.isUp == true {
                beginEnding(address)
            }
            throw error
        }
    }

    /// Ends the link.
    public func disconnect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        let address = try address(peripheral)
        guard let link = links[address] else { return }
        if case .connecting(let outcome) = link.state {
            outcome.deliver(.failure(BLEError(.connectionCancelled, "a call to disconnect ended the attempt")))
        }
        if link.isUp || link.isConnecting { beginEnding(address) }
        try await untilEnded(address)
    }

    /// Asks the proxy to end a link or an attempt to connect.
    private func beginEnding(_ address: UInt64) {
        send(.request(.disconnect, address: address, addressType: nil))
        let wasUp = links[address]?.isUp == true
        let error = BLEError(linkEnd: 0x16)
        endLink(address, error, isEnding: true)
        if wasUp, let id = DeviceAddress(address)?.id { report(.linkEnded(id, error)) }
    }

    /// Fails what uses a link that has ended.
    private func endLink(_ address: UInt64, _ error: BLEError, isEnding: Bool) {
        let link = links[address]
        links[address] = isEnding ? ProxyLink(state: .ending([], expiryOfEnding(address))) : nil
        deliveries = deliveries.filter { $0.key.address != address }
        link?.fail(error)
        for completion in requests.takeAll(address: address) { completion(.failure(error)) }
    }

    /// Removes a link that is ending, after the time that the proxy has.
    private func expiryOfEnding(_ address: UInt64) -> Expiry {
        Expiry(after: Self.ending, clock: configuredClock) { [weak self, loop] in
            loop.perform { [weak self] in self?.assumeIsolated { $0.removeEnding(address) } }
        }
    }

    /// Returns when a link that is ending has ended, or its time is over: the proxy may not answer.
    private func untilEnded(_ address: UInt64) async throws(BLEError) {
        guard case .ending(let outcomes, let expiry)? = links[address]?.state else { return }
        let outcome = Outcome<Void>()
        links[address]?.state = .ending(outcomes + [outcome], expiry)
        try await outcome.wait()
    }

    private func removeEnding(_ address: UInt64) {
        guard case .ending(let outcomes, let expiry)? = links[address]?.state else { return }
        links[address] = nil
        expiry.cancel()
        for outcome in outcomes { outcome.deliver(.success(())) }
        releaseSubscription()
    }

    // MARK: What the proxy reports

    /// Whether the proxy reports when the slot of a link that has ended is free.
    private var reportsSlots: Bool { slots != nil }

    func linkChanged(_ address: UInt64, isConnected: Bool, mtu: UInt32, _ number: Int32) {
        defer {
            reportSlots()
            releaseSubscription()
        }
        guard let link = links[address] else {
            // The proxy has a link that nothing here knows of, such as that of an attempt that counts as failed.
            if isConnected { send(.request(.disconnect, address: address, addressType: nil)) }
            return
        }
        switch (link.state, isConnected) {
        case (.connecting(let outcome), true):
            links[address]?.state = .connected(mtu: max(23, Int(min(mtu, 517))))
            outcome.deliver(.success(()))
        case (.connecting(let outcome), false):
            // The slot is free when the proxy says so.
            links[address] = nil
            outcome.deliver(.failure(BLEError(failedLink: number, slots: slots)))
        case (.connected, false):
            let error = BLEError(linkEnd: number)
            endLink(address, error, isEnding: holdsSlot(address))
            if let id = DeviceAddress(address)?.id { report(.linkEnded(id, error)) }
        case (.ending, false): if !holdsSlot(address) { removeEnding(address) }
        case (.ending, true):
            // The answer to an attempt that was cancelled. The request to end it may have crossed it.
            send(.request(.disconnect, address: address, addressType: nil))
        case (.connected, true): links[address]?.state = .connected(mtu: max(23, Int(min(mtu, 517))))
        }
    }

    /// Whether the proxy has said that a peripheral holds a slot. It may be reported as disconnected twice before.
    private func holdsSlot(_ address: UInt64) -> Bool { slots?.allocated.contains(address) == true }

    func slotsChanged(_ slots: ProxySlots) {
        defer { reportSlots() }
        for (address, link) in links {
            guard case .ending = link.state, !slots.allocated.contains(address) else { continue }
            removeEnding(address)
        }
    }

    // MARK: Services

    /// Asks the proxy for the services.
    public func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        let (address, link) = try link(peripheral)
        let outcome: Outcome<GATTDatabase>
        if link.discovery != nil {
            throw BLEError(.busy, "the services are being discovered")
        }
        outcome = Outcome()
        links[address]?.beginDiscovery(outcome)
        send(.servicesRequest(address: address))
        defer {
            if links[address]?.discovery === outcome { links[address]?.discovery = nil }
        }
        return try await outcome.wait()
    }

    func servicesArrived(_ address: UInt64, _ services: [ProxyService]) {
        guard let outcome = links[address]?.discovery, links[address]?.append(services) == false else { return }
        links[address]?.discovery = nil
        outcome.deliver(.failure(BLEError(.failed, "the proxy sent more services than a peripheral can have")))
    }

    func servicesDone(_ address: UInt64) {
        guard let outcome = links[address]?.discovery else { return }
        links[address]?.discovery = nil
        guard let database = links[address]?.makeDatabase() else { return }
        outcome.deliver(.success(database))
    }

    /// Returns the ATT MTU that the proxy reported.
    public func attMTU(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int {
        guard let mtu = try link(peripheral).link.mtu else { throw BLEError(.disconnected, "the link ended") }
        return mtu
    }

    // MARK: Pairing

    /// Has the proxy pair, without numbers.
    public func pair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        // A proxy does not answer for a peripheral without a link.
        let address = try link(peripheral).address
        guard info.features.contains(.pairing) else {
            throw BLEError(.notSupported, "the proxy cannot pair", isRetryable: false)
        }
        try await request(.pairing, address) { send(.request(.pair, address: address, addressType: nil)) }
    }

    /// Has the proxy remove the bond.
    public func unpair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try checkReady()
        let address = try address(peripheral)
        guard info.features.contains(.pairing) else {
            throw BLEError(.notSupported, "the proxy cannot pair", isRetryable: false)
        }
        try setSubscription(true)
        defer { releaseSubscription() }
        try await request(.unpairing, address) { send(.request(.unpair, address: address, addressType: nil)) }
    }

    func pairingEnded(_ address: UInt64, _ isPaired: Bool, _ number: Int32) {
        // Firmware answers a request to unpair in the same way, also if nobody waits for it any longer.
        if requests.expects(.unpairing, address: address) {
            return unpairingEnded(address, number == 0, number)
        }
        requests.take(.pairing, address: address)?(
            isPaired ? .success([]) : .failure(.pairingFailed("the proxy reports the error \(number)")))
        if let id = DeviceAddress(address)?.id { report(.pairingEnded(id)) }
    }

    func unpairingEnded(_ address: UInt64, _ isUnpaired: Bool, _ number: Int32) {
        requests.take(.unpairing, address: address)?(unpairing(isUnpaired, number))
    }

    private func unpairing(_ isSuccess: Bool, _ number: Int32) -> Result<[UInt8], BLEError> {
        isSuccess ? .success([]) : .failure(BLEError(.failed, "the bond was not removed (\(number))"))
    }
}
