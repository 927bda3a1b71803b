internal import BLE
internal import BLEESPHome
internal import Logging
internal import Loop

/// Scans, links and attributes.
extension ProxyServer {
    func handleRadio(_ message: ProxyMessage, _ id: Int, _ client: ProxyClient) {
        switch message {
        case .subscribeAdvertisements:
            startScan(id, client)
            sendScannerState(id, client)
        case .unsubscribeAdvertisements: stopScan(client)
        case .setScannerMode(let mode):
            client.scannerMode = mode
            sendScannerState(id, client)
        case .subscribeSlots:
            client.reportsSlots = true
            sendSlots()
        case .request(let request, let address, _): handle(request, address, id)
        case .servicesRequest(let address): perform(id, address, 0) { try await $0.sendServices(of: $1, to: id) }
        case .read(let address, let handle), .readDescriptor(let address, let handle):
            perform(id, address, handle) { server, peripheral in
                let value = try await peripheral.readBytes(handle: Self.handle(handle))
                await server.send(.readAnswer(address: address, handle: handle, value), to: id)
            }
        case .write(let address, let handle, let withResponse, let value):
            write(id, client, address, handle, isCommand: !withResponse) { server, peripheral in
                try await peripheral.writeBytes(
                    value, handle: Self.handle(handle), type: withResponse ? .withResponse : .withoutResponse)
                if withResponse { await server.send(.writeAnswer(address: address, handle: handle), to: id) }
            }
        case .writeDescriptor(let address, let handle, let value):
            write(id, client, address, handle) { server, peripheral in
                try await server.writeDescriptor(value, Self.handle(handle), of: peripheral)
                await server.send(.writeAnswer(address: address, handle: handle), to: id)
            }
        case .notify(let address, let handle, let isEnabled):
            setNotifying(isEnabled, AttributeOfProxy(address: address, handle: handle), id, client)
        default: break
        }
    }

    private static func handle(_ handle: UInt32) throws(BLEError) -> UInt16 {
        guard let handle = UInt16(exactly: handle) else { throw BLEError(ATTError.invalidHandle) }
        return handle
    }

    // MARK: Scans

    private func sendScannerState(_ id: Int, _ client: ProxyClient) {
        send(.scannerState(.running, mode: client.scannerMode, configured: client.scannerMode), to: id)
    }

    private func startScan(_ id: Int, _ client: ProxyClient) {
        guard client.scan == nil else { return }
        client.scan = Task { [weak self, central] in
            do throws(BLEError) {
                for try await event in central.discoveryEvents(duplicates: true) {
                    switch event {
                    case .found(let discovery), .updated(let discovery):
                        guard let self else { return }
                        await advertise(discovery, to: id)
                    case .lost, .waiting: break
                    }
                }
            } catch {
                await self?.scanEnded(id, error)
            }
        }
    }

    private func scanEnded(_ id: Int, _ error: BLEError) {
        guard let client = clients[id], client.scan != nil, !error.isCancellation else { return }
        client.scan = nil
        logger.info("the scan of the proxy ended", metadata: ["error": "\(error)"])
        send(.scannerState(.failed, mode: client.scannerMode, configured: client.scannerMode), to: id)
    }

    private func stopScan(_ client: ProxyClient) {
        client.scan?.cancel()
        client.scan = nil
        client.waitingAdvertisements = []
    }

    /// The number of advertisements in one message, and the time after which fewer are sent, as firmware does it.
    private static let (batch, batchTime) = (16, Duration.milliseconds(100))
    /// The maximum number of bytes that wait for a client which is sent advertisements. Of a slower one, they are
    /// dropped.
    private static let maximumUnsent = 256 * 1024

    private func advertise(_ discovery: Discovery, to id: Int) {
        guard let client = clients[id], client.scan != nil, client.socket.unsentCount < Self.maximumUnsent,
            let address = DeviceAddress(discovery.peripheral.id),
            let data = try? discovery.advertisement.data().encode(limit: .chained)
        else { return }
        client.waitingAdvertisements.append(
            RawAdvertisement(
                address: address.rawValue, rssi: Int32(discovery.advertisement.rssi ?? 127),
                addressType: discovery.advertisement.addressType == .public ? 0 : 1, data: data))
        if client.waitingAdvertisements.count >= Self.batch { return sendAdvertisements(id) }
        guard client.waitingAdvertisements.count == 1 else { return }
        client.advertisementTimer = loop.schedule(after: Self.batchTime) { [weak self] in
            self?.assumeIsolated { $0.sendAdvertisements(id) }
        }
    }

    private func sendAdvertisements(_ id: Int) {
        guard let client = clients[id] else { return }
        client.advertisementTimer?.cancel()
        let waiting = client.waitingAdvertisements
        client.waitingAdvertisements = []
        if !waiting.isEmpty { send(.advertisements(waiting), to: id) }
    }

    // MARK: Links

    private func handle(_ request: DeviceRequest, _ address: UInt64, _ id: Int) {
        guard let device = DeviceAddress(address) else {
            send(.connection(address: address, isConnected: false, mtu: 0, error: 0x101), to: id)
            return
        }
        let peripheral = central.peripheral(device.id)
        switch request {
        case .connect, .connectWithCache, .connectWithoutCache: connect(peripheral, address, id)
        case .disconnect:
            guard owners[address]?.client == id else {
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
        if let hold = owners[address], hold.client == id {
            // The client does not know of its link, or of its attempt, whose answer follows.
            Task { await sendConnected(address, hold, peripheral) }
            return
        }
        guard owners[address] == nil, owners.count < configuration.connectionLimit else {
            send(.connection(address: address, isConnected: false, mtu: 0, error: 0), to: id)
            return
        }
        lastLink += 1
        let hold = ProxyHold(client: id, link: lastLink)
        owners[address] = hold
        sendSlots()
        let attempt = Task {
            let events = await peripheral.connectionEvents()
            try await peripheral.connect()
            return events
        }
        clients[id]?.attempts[address] = attempt
        Task { [weak self] in
            var reason: Int32 = 0
            do {
                let events = try await attempt.value
                await self?.sendConnected(address, hold, peripheral)
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
            await self?.linkEnded(address, hold, reason)
        }
    }

    private func hasLeft(_ id: Int) -> Bool { clients[id] == nil }

    /// Tells the client of its link, if it is up.
    private func sendConnected(_ address: UInt64, _ hold: ProxyHold, _ peripheral: Peripheral) async {
        guard await isUp(hold, peripheral) else { return }
        let mtu = (try? await peripheral.attMTU()) ?? 23
        guard owners[address] == hold else { return }
        send(.connection(address: address, isConnected: true, mtu: UInt32(mtu), error: 0), to: hold.client)
    }

    private func linkEnded(_ address: UInt64, _ hold: ProxyHold, _ reason: Int32) {
        clients[hold.client]?.cancelRequests(of: address)
        send(.connection(address: address, isConnected: false, mtu: 0, error: reason), to: hold.client)
        guard owners[address] == hold else { return }
        owners[address] = nil
        sendSlots()
    }

    private func sendSlots() {
        let limit = configuration.connectionLimit
        let slots = ProxySlots(
            free: UInt32(max(0, limit - owners.count)), limit: UInt32(limit), allocated: owners.keys.sorted())
        for (id, client) in clients where client.reportsSlots { send(.slots(slots), to: id) }
    }

    // MARK: Attributes

    private typealias Work = @Sendable (ProxyServer, Peripheral) async throws -> Void

    /// The maximum number of requests of a client without an answer.
    private static let maximumRequests = 256
    /// The same, with subscriptions.
    private static let maximumTasks = 4096

    /// Runs a request of the client that holds the peripheral, and reports an error.
    ///
    /// - Parameters:
    ///   - earlier: what it waits for.
    ///   - needsLink: whether the client must have a link to the peripheral. If not, no other client may have one.
    ///   - cancelled: the answer to a request that was cancelled while the link is up.
    ///   - always: the answer to make of the result, instead of an error of an attribute.
    @discardableResult private func perform(
        _ id: Int, _ address: UInt64, _ handle: UInt32, after earlier: ProxyRequest? = nil,
        needsLink: Bool = true, cancelled: ProxyMessage? = nil, always: (@Sendable (BLEError?) -> ProxyMessage)? = nil,
        _ work: @escaping Work
    ) -> ProxyRequest? {
        func refuse(_ error: BLEError) {
            send(always?(error) ?? .attributeError(address: address, handle: handle, error: error.proxyNumber), to: id)
        }
        let hold = owners[address]
        guard let client = clients[id], hold?.client == id || (!needsLink && hold == nil),
            let device = DeviceAddress(address)
        else {
            refuse(BLEError(.disconnected, "there is no link"))
            return nil
        }
        guard handle <= UInt16.max else {
            refuse(BLEError(ATTError.invalidHandle))
            return nil
        }
        guard client.requestCount < Self.maximumRequests, client.requests.count < Self.maximumTasks else {
            refuse(BLEError(ATTError.insufficientResources))
            return nil
        }
        client.requestCount += 1
        let command = client.commands[address]
        let peripheral = central.peripheral(device.id)
        let number = client.nextRequest()
        let attribute = AttributeOfProxy(address: address, handle: handle)
        let task = Task { [weak self] in
            await command?.task.value
            await earlier?.task.value
            guard let self else { return }
            var failure: BLEError?
            do {
                try await check(hold, id, address, peripheral)
                try await work(self, peripheral)
            } catch {
                failure = error as? BLEError ?? BLEError(.failed, "\(error)")
            }
            await requestEnded(number, attribute, id, hold, failure, cancelled, always)
        }
        let request = ProxyRequest(number: number, address: address, task: task)
        client.requests[number] = request
        return request
    }

    /// Throws if the link that a request was made for is not up any more: what the central does on a peripheral would
    /// connect it again.
    private func check(
        _ hold: ProxyHold?, _ id: Int, _ address: UInt64, _ peripheral: Peripheral
    ) async throws(BLEError) {
        guard !Task.isCancelled else { throw .cancelled }
        let isUp = if let hold { await isUp(hold, peripheral) } else { owners[address] == nil }
        guard isUp, clients[id] != nil else { throw BLEError(.disconnected, "the link has ended") }
    }

    /// Whether a link is up that a client holds.
    private func isUp(_ hold: ProxyHold, _ peripheral: Peripheral) async -> Bool {
        let state = await peripheral.connectionState
        return state == .connected && DeviceAddress(peripheral.id).map { owners[$0.rawValue] } == hold
    }

    private func requestEnded(
        _ number: Int, _ attribute: AttributeOfProxy, _ id: Int, _ hold: ProxyHold?, _ error: BLEError?,
        _ cancelled: ProxyMessage?, _ always: (@Sendable (BLEError?) -> ProxyMessage)?
    ) {
        clients[id]?.requestCount -= 1
        clients[id]?.requestEnded(number, attribute)
        // The end of the link has answered what was under way.
        guard hold == nil || owners[attribute.address] == hold else { return }
        if let always {
            send(always(error), to: id)
        } else if let error {
            let (address, handle) = (attribute.address, attribute.handle)
            let answer = error.isCancellation ? cancelled : nil
            send(answer ?? .attributeError(address: address, handle: handle, error: error.proxyNumber), to: id)
        }
    }

    /// Runs a write after the earlier ones of the attribute. What follows a command, follows it on the link, too.
    private func write(
        _ id: Int, _ client: ProxyClient, _ address: UInt64, _ handle: UInt32, isCommand: Bool = false,
        _ work: @escaping Work
    ) {
        let attribute = AttributeOfProxy(address: address, handle: handle)
        guard let request = perform(id, address, handle, after: client.writes[attribute], work) else { return }
        client.writes[attribute] = request
        if isCommand { client.commands[address] = request }
    }

    /// Writes a descriptor. The Client Characteristic Configuration is written by the central itself: a client that
    /// writes it has asked for notifications before.
    private nonisolated func writeDescriptor(
        _ value: [UInt8], _ handle: UInt16, of peripheral: Peripheral
    ) async throws(BLEError) {
        for service in try await peripheral.services() {
            for characteristic in service where characteristic[handle: handle]?.uuid == BluetoothUUID(0x2902) {
                return
            }
        }
        try await peripheral.writeBytes(value, handle: handle)
    }

    private func sendServices(of peripheral: Peripheral, to id: Int) async throws(BLEError) {
        guard let address = DeviceAddress(peripheral.id)?.rawValue else { return }
        for service in try await peripheral.services() {
            guard send(.services(address: address, [ProxyService(service)]), to: id) else {
                throw BLEError(ATTError.insufficientResources)
            }
        }
        send(.servicesDone(address: address), to: id)
    }

    /// Starts or ends notifications, after the earlier requests of the attribute: each is answered, in order.
    private func setNotifying(_ isEnabled: Bool, _ attribute: AttributeOfProxy, _ id: Int, _ client: ProxyClient) {
        let (address, handle) = (attribute.address, attribute.handle)
        let answer = ProxyMessage.notifyAnswer(address: address, handle: handle)
        let earlier = client.subscriptions[attribute]
        earlier?.task.cancel()
        let request = perform(id, address, handle, after: earlier, cancelled: answer) { server, peripheral in
            guard isEnabled else {
                await server.send(answer, to: id)
                return
            }
            let values = try await peripheral.notifications(
                handle: try Self.handle(handle), overflow: .dropOldest(capacity: 4096))
            await server.send(answer, to: id)
            await server.subscriptionBegan(id)
            do throws(BLEError) {
                for try await value in values {
                    await server.send(.notification(address: address, handle: handle, value), to: id)
                }
            } catch {
                // The end of the link is reported by itself.
            }
            await values.end()
            await server.subscriptionEnded(id)
        }
        if let request { client.subscriptions[attribute] = request }
    }

    /// A subscription is no request any more when it was answered.
    private func subscriptionBegan(_ id: Int) { clients[id]?.requestCount -= 1 }
    private func subscriptionEnded(_ id: Int) { clients[id]?.requestCount += 1 }
}

extension ProxyService {
    /// A characteristic is named by the handle of its value, which follows that of its declaration.
    fileprivate init(_ service: GATTService) {
        self.init(
            uuid: service.uuid, handle: UInt32(service.handle),
            characteristics: service.characteristics.map { characteristic in
                Characteristic(
                    uuid: characteristic.uuid, handle: UInt32(characteristic.handle) + 1,
                    properties: UInt32(characteristic.properties.rawValue),
                    descriptors: characteristic.descriptors.map {
                        Descriptor(uuid: $0.uuid, handle: UInt32($0.handle))
                    })
            })
    }
}

extension BLEError {
    /// The number of an error of an attribute.
    fileprivate var proxyNumber: Int32 {
        if let attError { return Int32(attError.rawValue) }
        return switch code {
        case .disconnected, .shutDown, .bluetoothLost: -1
        case .pairingRequired: Int32(ATTError.insufficientAuthentication.rawValue)
        case .characteristicNotFound, .serviceNotFound: Int32(ATTError.invalidHandle.rawValue)
        case .notSupported: Int32(ATTError.requestNotSupported.rawValue)
        case .notPermitted: Int32(ATTError.writeNotPermitted.rawValue)
        case .invalidLength: Int32(ATTError.invalidAttributeValueLength.rawValue)
        default: 0x85
        }
    }

    /// The number of the reason of a link's end, or of a failed attempt to connect.
    fileprivate var linkEndNumber: Int32 {
        switch disconnectReason {
        case .local: 0x16
        case .remote: 0x13
        case .timeout: 0x08
        case .authentication: 0x05
        default: code == .disconnected ? 0x13 : 0x100
        }
    }
}
