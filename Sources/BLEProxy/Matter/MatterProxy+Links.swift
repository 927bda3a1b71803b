internal import BLE
internal import BLEDefinitions
internal import Loop
internal import Waiting

/// A link of a Matter server. Used in the proxy's isolation.
final class MatterLink {
    let peripheral: Peripheral
    /// What makes the link and follows it. Cancelled to end the link. It ends when the link has ended.
    var task: Task<Void, Never>?
    /// Answers the attempt to connect if it takes too long.
    var deadline: Expiry?
    /// Whether the link was up.
    var wasUp = false
    /// The device's link among the slots that this proxy shares with the ESPHome clients. Nil without such a server
    /// or without a link.
    var hold: ProxyHold?
    /// Why the proxy ends the link, if the server did not ask for it.
    var endReason: String?
    /// Whether the link has ended, or could not be made.
    private(set) var isOver = false
    /// What was asked for and not begun.
    var waiting = Fifo<(operation: MatterOperation, number: Int)>()
    /// Does what was asked for, one after the other.
    var worker: Task<Void, Never>?
    /// What passes on the notifications of each characteristic.
    var notifications: [BluetoothUUID: Task<Void, Never>] = [:]
    /// The characteristic that was written last, which payloads are written to.
    var written: CharacteristicKey?

    init(_ peripheral: Peripheral) { self.peripheral = peripheral }

    /// Cancels what uses the link. Returns when it has ended.
    func end() async {
        isOver = true
        waiting = Fifo()
        worker?.cancel()
        await worker?.value
        for task in notifications.values { task.cancel() }
        for task in notifications.values { await task.value }
        notifications = [:]
    }
}

extension MatterProxy {
    func connect(_ number: UInt16, _ device: Peripheral.ID, _ timeout: Duration) {
        let link = MatterLink(central.peripheral(device))
        links[number] = link
        let connection = self.number
        link.deadline = call(after: timeout) { proxy in
            guard connection == proxy.number else { return }
            proxy.applying { $0.connectExpired(number, after: timeout) }
        }
        link.task = Task { await follow(link, number, connection) }
    }

    /// Begins to end a link, and what uses it: that would connect the peripheral again.
    func cancel(_ link: MatterLink) {
        link.task?.cancel()
        link.worker?.cancel()
        guard clients != nil else { return }
        Task { await tellEnd(of: link) }
    }

    /// Has clients wait for the device until the link has ended.
    private func tellEnd(of link: MatterLink) async {
        guard let hold = link.hold else { return }
        await clients?.linkEnds(link.peripheral.id, hold)
    }

    /// More than an attempt to connect takes, which its deadline ends.
    private static let connectLimit = MatterSession.connectLimit * 60

    /// Makes a link, and follows it to its end.
    private func follow(_ link: MatterLink, _ number: UInt16, _ connection: Int) async {
        let peripheral = link.peripheral
        let device = peripheral.id
        let error: BLEError
        if let clients { link.hold = await clients.takeLink(device) }
        if clients == nil || link.hold != nil {
            error = await peripheral.followLink(timeout: Self.connectLimit) {
                await linkBegan(link, number, connection)
            }
            await tellEnd(of: link)
            await link.end()
            // What was being done may have connected it again.
            if await peripheral.connectionState != .disconnected {
                await Task { try? await peripheral.disconnect() }.value
            }
            if link.wasUp { observers.yield(.linkDisconnected(device)) }
        } else if Task.isCancelled {
            error = .cancelled
        } else {
            error = BLEError(.busy, "there is no free link, or another client of the radio has this peripheral")
            refuseLink(device)
        }
        if let hold = link.hold { await clients?.releaseLink(device, hold) }
        link.deadline?.cancel()
        links[number] = nil
        guard connection == self.number else { return }
        send(session?.linkEnded(number, error, reason: link.endReason) ?? [])
    }

    /// Tells that the server may not have a link, at most once in a second.
    func refuseLink(_ device: Peripheral.ID) { tell(refusals.record(device)) }

    private func tell(_ told: Refusals<Peripheral.ID>.Told?) {
        guard let told else { return }
        observers.yield(.linkRefused(told.last, count: told.count))
        lastRefusalTimer += 1
        let number = lastRefusalTimer
        refusalTimer = call(after: Refusals<Peripheral.ID>.pause) { proxy in
            guard proxy.lastRefusalTimer == number else { return }
            proxy.tell(proxy.refusals.next())
        }
    }

    /// Tells of the links that were refused and not told, after which none follow for a while.
    func endRefusals() {
        refusalTimer?.cancel()
        lastRefusalTimer += 1
        if let told = refusals.next() { observers.yield(.linkRefused(told.last, count: told.count)) }
        refusals = Refusals()
    }

    /// How long the system may take to report the MTU, which is the smallest one otherwise.
    private static let mtuLimit = Duration.seconds(5)

    private func linkBegan(_ link: MatterLink, _ number: UInt16, _ connection: Int) async {
        let peripheral = link.peripheral
        let mtu = try? await Outcome<Int>.race(within: Self.mtuLimit, clock: clock) {
            BLEError(.timedOut, "the MTU was not reported within \(Self.mtuLimit)")
        } _: { () async throws(BLEError) in
            try await peripheral.attMTU()
        }
        let state = await peripheral.connectionState
        guard state == .connected, connection == self.number, !Task.isCancelled else { return }
        link.deadline?.cancel()
        let answers = session?.linkBegan(number, mtu: mtu ?? 23) ?? []
        // The server may have given it up.
        guard !answers.isEmpty else { return }
        link.wasUp = true
        observers.yield(.linkConnected(peripheral.id))
        send(answers)
    }

    // MARK: What is done on a link

    /// Does something on a link, after what was asked for before.
    func perform(_ operation: MatterOperation, _ number: Int, _ linkNumber: UInt16) {
        guard let link = links[linkNumber], !link.isOver else {
            return finished(operation, number, .failure(MatterRefusal(.notConnected, "the link has ended")), linkNumber)
        }
        link.waiting.append((operation, number))
        guard link.worker == nil else { return }
        let connection = self.number
        link.worker = Task {
            while !Task.isCancelled, let (operation, number) = link.waiting.popFirst() {
                let result: Result<[String: JSON], MatterRefusal>
                do throws(MatterRefusal) {
                    result = .success(try await execute(operation, link, linkNumber, connection))
                } catch {
                    result = .failure(error)
                }
                guard connection == self.number else { break }
                finished(operation, number, result, linkNumber)
            }
            link.worker = nil
        }
    }

    private func finished(
        _ operation: MatterOperation, _ number: Int, _ result: Result<[String: JSON], MatterRefusal>, _ link: UInt16
    ) {
        applying { session in
            if let frame = session.finished(number, result, on: link) { return [.send(frame)] }
            // The end of the link is told by itself.
            guard case .writePayload = operation, case .failure(let refusal) = result, refusal.code != .notConnected
            else { return [] }
            return session.transportFailed(link, "a write failed: \(refusal.message)")
        }
    }

    private func execute(
        _ operation: MatterOperation, _ link: MatterLink, _ number: UInt16, _ connection: Int
    ) async throws(MatterRefusal) -> [String: JSON] {
        // What the central does on a peripheral would connect it again.
        guard await link.peripheral.connectionState == .connected, !Task.isCancelled else {
            throw MatterRefusal(.notConnected, "the link has ended")
        }
        switch operation {
        case .discoverServices:
            let services = try await self.services(of: link)
            try Self.checkCount(services, "services")
            return ["services": .array(services.map { .object(["uuid": .string("\($0.uuid)")]) })]
        case .discoverCharacteristics(let uuid):
            let services = try await self.services(of: link).filter { $0.uuid == uuid }
            guard !services.isEmpty else {
                throw MatterRefusal(.serviceNotFound, "there is no service \(uuid), or it is not offered")
            }
            let characteristics = services.flatMap(\.characteristics)
            try Self.checkCount(characteristics, "characteristics")
            let found = characteristics.map { characteristic in
                JSON.object([
                    "uuid": .string("\(characteristic.uuid)"),
                    "properties": .array(Self.names(of: characteristic.properties)),
                ])
            }
            return ["characteristics": .array(found)]
        case .read(let uuid):
            let key = try await find(uuid, on: link).key
            let value = try await doing(.readFailed) { () throws(BLEError) in
                try await link.peripheral.readBytes(of: key)
            }
            return ["value": MatterFrame.base64(value)]
        case .write(let write): try await self.write(write, link)
        case .writePayload(let payload):
            guard let key = link.written else {
                throw MatterRefusal(.writeFailed, "no characteristic was written before")
            }
            try await write(payload, to: key, .withResponse, link)
        case .subscribe(let uuid):
            try await subscribe(try await find(uuid, on: link), link, number, connection)
        case .writeAndSubscribe(let write, let uuid):
            // Before the write, so that the subscription follows its response without a pause.
            let found = try await find(uuid, on: link)
            try Self.checkNotifies(found.characteristic)
            try await self.write(write, link)
            try await subscribe(found, link, number, connection)
        case .unsubscribe(let uuid):
            _ = try await find(uuid, on: link)
            guard let task = link.notifications.removeValue(forKey: uuid) else {
                throw MatterRefusal(.notSubscribed, "it is not subscribed to")
            }
            task.cancel()
            await task.value
        case .readMTU:
            // The system has agreed on it with the peripheral.
            let mtu = try await doing(.mtuRequestFailed) { () throws(BLEError) in
                try await link.peripheral.attMTU()
            }
            return ["mtu": .int(mtu)]
        }
        return [:]
    }

    /// The maximum number of services or characteristics in an answer, which has less than 64 KiB then. Matter has one
    /// service, with three characteristics.
    private static let longestList = 256

    private static func checkCount(_ list: [some Any], _ name: String) throws(MatterRefusal) {
        guard list.count <= longestList else {
            throw MatterRefusal(.discoveryFailed, "the device has more than \(longestList) \(name) of Matter")
        }
    }

    private func doing<Value: Sendable>(
        _ code: MatterRefusal.Code, _ work: () async throws(BLEError) -> Value
    ) async throws(MatterRefusal) -> Value {
        do throws(BLEError) {
            return try await work()
        } catch {
            throw MatterRefusal(error, otherwise: code)
        }
    }

    /// Returns the services that a server may reach: those of Matter.
    private func services(of link: MatterLink) async throws(MatterRefusal) -> [GATTService] {
        let services = try await doing(.discoveryFailed) { () throws(BLEError) in
            try await link.peripheral.services()
        }
        return services.filter { $0.uuid == MatterSession.service }
    }

    private struct Found {
        let key: CharacteristicKey
        let characteristic: GATTCharacteristic
    }

    private func find(_ uuid: BluetoothUUID, on link: MatterLink) async throws(MatterRefusal) -> Found {
        for service in try await services(of: link) {
            guard let characteristic = service.characteristics.first(where: { $0.uuid == uuid }) else { continue }
            var key = characteristic.key
            (key.service, key.serviceHandle) = (service.uuid, service.handle)
            return Found(key: key, characteristic: characteristic)
        }
        throw MatterRefusal(.characteristicNotFound, "there is no characteristic \(uuid) in \(MatterSession.service)")
    }

    private func write(_ write: MatterWrite, _ link: MatterLink) async throws(MatterRefusal) {
        let key = try await find(write.characteristic, on: link).key
        try await self.write(write.value, to: key, write.type, link)
        link.written = key
    }

    private func write(
        _ value: [UInt8], to key: CharacteristicKey, _ type: WriteType, _ link: MatterLink
    ) async throws(MatterRefusal) {
        try await doing(.writeFailed) { () throws(BLEError) in
            try await link.peripheral.writeBytes(value, to: key, type: type, timeout: nil, connecting: false)
        }
    }

    private static func names(of properties: CharacteristicProperties) -> [JSON] {
        let told: CharacteristicProperties = [.read, .write, .writeWithoutResponse, .notify, .indicate]
        return CharacteristicProperties.names.filter { properties.intersection(told).contains($0.property) }
            .map { .string($0.name) }
    }

    // MARK: Notifications

    /// The maximum number of unsent notifications of a characteristic, and of characteristics of a link that notify.
    private static let (capacity, maximumNotifications) = (1024, 8)

    private static func checkNotifies(_ characteristic: GATTCharacteristic) throws(MatterRefusal) {
        guard !characteristic.properties.isDisjoint(with: [.notify, .indicate]) else {
            throw MatterRefusal(.notifyNotSupported, "it neither notifies nor indicates")
        }
    }

    /// Starts notifications, unless they are on.
    private func subscribe(
        _ found: Found, _ link: MatterLink, _ number: UInt16, _ connection: Int
    ) async throws(MatterRefusal) {
        try Self.checkNotifies(found.characteristic)
        let uuid = found.characteristic.uuid
        guard link.notifications[uuid] == nil else { return }
        guard link.notifications.count < Self.maximumNotifications else {
            throw MatterRefusal(.subscribeFailed, "\(Self.maximumNotifications) characteristics notify already")
        }
        let values = try await doing(.subscribeFailed) { () throws(BLEError) in
            try await link.peripheral.notifications(found.key.bytes, overflow: .fail(capacity: Self.capacity))
        }
        link.notifications[uuid] = Task {
            var reason = "notifications have ended"
            do throws(BLEError) {
                for try await value in values {
                    guard connection == self.number, links[number] === link else { break }
                    send([.notification(number, value)])
                    // The values that follow wait in the stream, which is bounded.
                    await room()
                }
            } catch {
                reason = error.message
            }
            await values.end()
            guard !Task.isCancelled, connection == self.number, links[number] === link else { return }
            link.notifications[uuid] = nil
            applying { $0.transportFailed(number, reason) }
        }
    }
}
