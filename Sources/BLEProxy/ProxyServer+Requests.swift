internal import BLE
internal import BLEESPHome
internal import Loop
internal import Waiting

/// Requests of clients, and how they are run.
extension ProxyServer {
    func handleRadio(_ message: ProxyMessage, _ id: Int, _ client: ProxyClient) {
        switch message {
        case .subscribeAdvertisements: subscribeAdvertisements(id, client)
        case .unsubscribeAdvertisements: unsubscribeAdvertisements(client)
        case .setScannerMode(let mode): setScannerMode(mode, client)
        case .subscribeSlots: subscribeSlots(client, id)
        case .request(let request, let address, _): handle(request, address, id)
        case .servicesRequest(let address):
            perform(id, address, 0) { server, peripheral, _ in try await server.sendServices(of: peripheral, to: id) }
        case .read(let address, let handle), .readDescriptor(let address, let handle):
            // It reads what was written before, as with a proxy that sends requests to the peripheral in their order.
            let written = client.writes[AttributeOfProxy(address: address, handle: handle)]
            perform(id, address, handle, after: [written]) { server, peripheral, _ in
                let value = try await peripheral.readBytes(handle: Self.handle(handle))
                await server.send(.readAnswer(address: address, handle: handle, value), to: id)
            }
        case .write(let address, let handle, let withResponse, let value):
            let attribute = AttributeOfProxy(address: address, handle: handle)
            let request = perform(id, address, handle, after: [client.writes[attribute]]) { server, peripheral, _ in
                try await peripheral.writeBytes(
                    value, handle: Self.handle(handle), type: withResponse ? .withResponse : .withoutResponse)
                if withResponse { await server.send(.writeAnswer(address: address, handle: handle), to: id) }
            }
            guard let request else { return }
            client.writes[attribute] = request
            // What follows a command, follows it on the link, too.
            if !withResponse { client.commands[address] = request }
        case .writeDescriptor(let address, let handle, let value):
            writeDescriptor(value, AttributeOfProxy(address: address, handle: handle), id, client)
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

    /// What a request does, given its number.
    typealias Work = @Sendable (ProxyServer, Peripheral, Int) async throws -> Void

    /// The maximum number of requests of a client without an answer.
    private static let maximumRequests = 256

    /// Runs a request of the client that holds the peripheral, and reports an error.
    ///
    /// - Parameters:
    ///   - earlier: what it waits for, besides the last write without response.
    ///   - taken: the client's hold on a peripheral without a link, which ends with the request. Nil if the request
    ///     needs the link of the client.
    ///   - cancelled: the answer to a request that was cancelled while the link is up.
    ///   - always: the answer to make of the result, instead of an error of an attribute.
    @discardableResult func perform(
        _ id: Int, _ address: UInt64, _ handle: UInt32, after earlier: [ProxyRequest?] = [],
        taken: ProxyHold? = nil, cancelled: ProxyMessage? = nil, always: (@Sendable (BLEError?) -> ProxyMessage)? = nil,
        _ work: @escaping Work
    ) -> ProxyRequest? {
        func refuse(_ error: BLEError) {
            send(always?(error) ?? .attributeError(address: address, handle: handle, error: error.proxyNumber), to: id)
        }
        guard let client = clients[id], let hold = slots.hold(of: address), hold.client == id,
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
        let awaited = ([client.commands[address]] + earlier).compactMap { $0?.number }
        let peripheral = central.peripheral(device.id)
        let number = nextNumber()
        client.began(number)
        let attribute = AttributeOfProxy(address: address, handle: handle)
        let task = Task { [weak self] in
            for other in awaited { await self?.waitForEnd(of: other, id) }
            guard let self else { return }
            var failure: BLEError?
            do {
                try await check(hold, id, peripheral, needsLink: taken == nil)
                try await work(self, peripheral, number)
            } catch {
                failure = error as? BLEError ?? BLEError(.failed, "\(error)")
            }
            await requestEnded(number, attribute, id, hold, failure, cancelled, always)
            if let taken { await release(taken, address) }
        }
        let request = ProxyRequest(number: number, address: address, task: task)
        client.requests[number] = request
        return request
    }

    /// Waits for the end of a client's request, or of what passes on notifications. Ends with the task's cancellation,
    /// too.
    func waitForEnd(of number: Int, _ id: Int) async { try? await clients[id]?.end(of: number)?.wait() }

    /// Throws if the link that a request was made for is not up any more: what the central does on a peripheral would
    /// connect it again.
    private func check(
        _ hold: ProxyHold, _ id: Int, _ peripheral: Peripheral, needsLink: Bool
    ) async throws(BLEError) {
        guard !Task.isCancelled else { throw .cancelled }
        var isUsable = true
        if needsLink { isUsable = await isUp(hold, peripheral) }
        guard isUsable, clients[id] != nil else { throw BLEError(.disconnected, "the link has ended") }
    }

    private func requestEnded(
        _ number: Int, _ attribute: AttributeOfProxy, _ id: Int, _ hold: ProxyHold, _ error: BLEError?,
        _ cancelled: ProxyMessage?, _ always: (@Sendable (BLEError?) -> ProxyMessage)?
    ) {
        clients[id]?.requestEnded(number, attribute)
        if unpairs[attribute.address]?.number == number { unpairs[attribute.address] = nil }
        // The end of the link has answered what was under way.
        guard slots.hold(of: attribute.address) == hold else { return }
        if let always {
            send(always(error), to: id)
        } else if let error {
            let (address, handle) = (attribute.address, attribute.handle)
            let answer = error.isCancellation ? cancelled : nil
            send(answer ?? .attributeError(address: address, handle: handle, error: error.proxyNumber), to: id)
        }
    }
}
