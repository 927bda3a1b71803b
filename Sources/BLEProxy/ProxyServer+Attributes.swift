internal import BLE
internal import BLEESPHome
internal import Logging
internal import Loop

/// Services, notifications and descriptors.
extension ProxyServer {
    func sendServices(of peripheral: Peripheral, to id: Int) async throws(BLEError) {
        guard let address = DeviceAddress(peripheral.id)?.rawValue else { return }
        for service in try await peripheral.services() {
            guard send(.services(address: address, [ProxyService(service)]), to: id) else {
                throw BLEError(ATTError.insufficientResources)
            }
        }
        send(.servicesDone(address: address), to: id)
    }

    // MARK: Notifications

    /// The maximum number of attributes of a client that notify, and of unsent notifications of each.
    private static let (maximumNotifications, capacity) = (4096, 4096)

    /// Starts or ends notifications, after the earlier requests of the attribute: each is answered, in order.
    func setNotifying(_ isEnabled: Bool, _ attribute: AttributeOfProxy, _ id: Int, _ client: ProxyClient) {
        let (address, handle) = (attribute.address, attribute.handle)
        let answer = ProxyMessage.notifyAnswer(address: address, handle: handle)
        let earlier = client.subscriptions(of: attribute)
        // A start that hangs does not keep up the end.
        if !isEnabled { for request in earlier { request.task.cancel() } }
        // A write of a descriptor before may be one of the configuration.
        let awaited = earlier + [client.descriptorWrites[address]]
        let request = perform(id, address, handle, after: awaited, cancelled: answer) { server, peripheral, _ in
            if isEnabled {
                try await server.startNotifications(attribute, of: peripheral, for: id, answer)
            } else {
                await server.stopNotifications(attribute, of: id)
                await server.send(answer, to: id)
            }
        }
        if let request { client.requests[request.number]?.subscription = attribute }
    }

    /// Starts notifications, unless they are on, and sends the answer before the first of them.
    private func startNotifications(
        _ attribute: AttributeOfProxy, of peripheral: Peripheral, for id: Int, _ answer: ProxyMessage?
    ) async throws(BLEError) {
        if clients[id]?.notifications[attribute] == nil {
            guard clients[id]?.notifications.count ?? 0 < Self.maximumNotifications else {
                throw BLEError(ATTError.insufficientResources)
            }
            let values = try await peripheral.notifications(
                handle: try Self.handle(attribute.handle), overflow: .fail(capacity: Self.capacity))
            // The client may have left meanwhile, or another request has started them.
            guard !Task.isCancelled, let client = clients[id], client.notifications[attribute] == nil else {
                await values.end()
                if Task.isCancelled { throw .cancelled }
                if let answer { send(answer, to: id) }
                return
            }
            if let answer { send(answer, to: id) }
            let number = nextNumber()
            client.began(number)
            client.notifications[attribute] = passOn(values, attribute, id, number)
        } else if let answer {
            send(answer, to: id)
        }
    }

    private func passOn(
        _ values: NotificationStream<[UInt8]>, _ attribute: AttributeOfProxy, _ id: Int, _ number: Int
    ) -> ProxyRequest {
        let (address, handle) = (attribute.address, attribute.handle)
        let task = Task(executorPreference: taskExecutor) { [weak self] in
            do throws(BLEError) {
                for try await value in values {
                    await self?.send(.notification(address: address, handle: handle, value), to: id)
                }
            } catch {
                // The end of the link is reported by itself.
                if error.code == .overflow { await self?.dropSlowClient(id) }
            }
            await values.end()
            await self?.notificationsEnded(number, attribute, id)
        }
        return ProxyRequest(number: number, address: address, task: task)
    }

    /// Ends notifications. Does nothing if there are none.
    private func stopNotifications(_ attribute: AttributeOfProxy, of id: Int) async {
        guard let request = clients[id]?.notifications.removeValue(forKey: attribute) else { return }
        request.task.cancel()
        await waitForEnd(of: request.number, id)
    }

    private func notificationsEnded(_ number: Int, _ attribute: AttributeOfProxy, _ id: Int) {
        clients[id]?.ended(number)
        guard clients[id]?.notifications[attribute]?.number == number else { return }
        clients[id]?.notifications[attribute] = nil
    }

    // MARK: Descriptors

    /// Writes a descriptor, after the earlier writes of descriptors of the peripheral.
    func writeDescriptor(_ value: [UInt8], _ descriptor: AttributeOfProxy, _ id: Int, _ client: ProxyClient) {
        let (address, handle) = (descriptor.address, descriptor.handle)
        let answer = ProxyMessage.writeAnswer(address: address, handle: handle)
        let awaited = [client.descriptorWrites[address], client.writes[descriptor]]
        let request = perform(id, address, handle, after: awaited, cancelled: answer) { server, peripheral, number in
            try await server.writeDescriptor(value, Self.handle(handle), of: peripheral, for: id, number)
            await server.send(answer, to: id)
        }
        guard let request else { return }
        (client.descriptorWrites[address], client.writes[descriptor]) = (request, request)
    }

    /// bluetoothd refuses writes of the Client Characteristic Configuration, because it writes it itself: they start
    /// and end notifications instead.
    private nonisolated func writeDescriptor(
        _ value: [UInt8], _ handle: UInt16, of peripheral: Peripheral, for id: Int, _ number: Int
    ) async throws(BLEError) {
        for service in try await peripheral.services() {
            for characteristic in service where characteristic[handle: handle]?.uuid == BluetoothUUID(0x2902) {
                return try await configure(value, UInt32(characteristic.handle) + 1, of: peripheral, for: id, number)
            }
        }
        try await peripheral.writeBytes(value, handle: handle)
    }

    /// - Parameter value: two bytes, of which bit 0 is for notifications and bit 1 for indications.
    private func configure(
        _ value: [UInt8], _ handle: UInt32, of peripheral: Peripheral, for id: Int, _ number: Int
    ) async throws(BLEError) {
        guard value.count == 2 else { throw BLEError(ATTError.invalidAttributeValueLength) }
        guard let address = DeviceAddress(peripheral.id)?.rawValue, let client = clients[id] else { return }
        let attribute = AttributeOfProxy(address: address, handle: handle)
        // The client has asked for notifications before. What it has asked for afterward waits for this.
        let earlier = client.subscriptions(of: attribute).map(\.number).filter { $0 < number }
        client.requests[number]?.subscription = attribute
        for other in earlier { await waitForEnd(of: other, id) }
        guard !Task.isCancelled else { throw .cancelled }
        if value[0] & 3 != 0 {
            try await startNotifications(attribute, of: peripheral, for: id, nil)
        } else {
            await stopNotifications(attribute, of: id)
        }
    }
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
