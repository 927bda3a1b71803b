internal import BLE
internal import BLEESPHome
internal import Loop

/// Requests of clients, and how they are run.
extension ProxyServer {
    func handleRadio(_ message: ProxyMessage, _ id: Int, _ client: ProxyClient) {
        switch message {
        case .subscribeAdvertisements: subscribeAdvertisements(id, client)
        case .unsubscribeAdvertisements: unsubscribeAdvertisements(client)
        case .setScannerMode(let mode): setScannerMode(mode, client)
        case .subscribeSlots: subscribeSlots(client, id)
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
                try await server.writeDescriptor(value, Self.handle(handle), of: peripheral, for: id)
                await server.send(.writeAnswer(address: address, handle: handle), to: id)
            }
        case .notify(let address, let handle, let isEnabled):
            setNotifying(isEnabled, AttributeOfProxy(address: address, handle: handle), id, client)
        case .setConnectionParameters(let address, _, _, _, _):
            // bluetoothd has no call for it, and the proxy does not claim the feature.
            let error = Int32(ATTError.requestNotSupported.rawValue)
            send(.connectionParameters(address: address, error: error), to: id)
        default: break
        }
    }

    static func handle(_ handle: UInt32) throws(BLEError) -> UInt16 {
        guard let handle = UInt16(exactly: handle) else { throw BLEError(ATTError.invalidHandle) }
        return handle
    }

    typealias Work = @Sendable (ProxyServer, Peripheral) async throws -> Void

    /// The maximum number of requests of a client without an answer.
    private static let maximumRequests = 256

    /// Runs a request of the client that holds the peripheral, and reports an error.
    ///
    /// - Parameters:
    ///   - earlier: what it waits for.
    ///   - needsLink: whether the client must have a link to the peripheral. If not, no other client may have one.
    ///   - cancelled: the answer to a request that was cancelled while the link is up.
    ///   - always: the answer to make of the result, instead of an error of an attribute.
    @discardableResult func perform(
        _ id: Int, _ address: UInt64, _ handle: UInt32, after earlier: ProxyRequest? = nil,
        needsLink: Bool = true, cancelled: ProxyMessage? = nil, always: (@Sendable (BLEError?) -> ProxyMessage)? = nil,
        _ work: @escaping Work
    ) -> ProxyRequest? {
        func refuse(_ error: BLEError) {
            send(always?(error) ?? .attributeError(address: address, handle: handle, error: error.proxyNumber), to: id)
        }
        let hold = slots.hold(of: address)
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
        guard client.requests.count < Self.maximumRequests else {
            refuse(BLEError(ATTError.insufficientResources))
            return nil
        }
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
        let isUp = if let hold { await isUp(hold, peripheral) } else { slots.hold(of: address) == nil }
        guard isUp, clients[id] != nil else { throw BLEError(.disconnected, "the link has ended") }
    }

    private func requestEnded(
        _ number: Int, _ attribute: AttributeOfProxy, _ id: Int, _ hold: ProxyHold?, _ error: BLEError?,
        _ cancelled: ProxyMessage?, _ always: (@Sendable (BLEError?) -> ProxyMessage)?
    ) {
        clients[id]?.requestEnded(number, attribute)
        // The end of the link has answered what was under way.
        guard hold == nil || slots.hold(of: attribute.address) == hold else { return }
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
}
