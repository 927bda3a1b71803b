internal import BLE
internal import Synchronization
internal import Waiting

extension SimulatedRadio {
    // MARK: Attributes

    func database(_ id: Peripheral.ID, _ port: Int) throws(BLEError) -> GATTDatabase {
        let database = try device(id, port).attributes.database
        peripherals[id]?.isDiscovered = true
        return database
    }

    func attMTU(_ id: Peripheral.ID, _ port: Int) throws(BLEError) -> Int {
        try device(id, port).attMTU
    }

    func signalStrength(_ id: Peripheral.ID, _ port: Int) throws(BLEError) -> Int {
        guard let strength = try device(id, port).signalStrength else {
            throw BLEError(
                .notSupported, "the signal strength of links is not known", isRetryable: false,
                remedy: "Set it: setSignalStrength(-50).")
        }
        return strength
    }

    func systemProperties(_ id: Peripheral.ID, _ port: Int) throws(BLEError) -> [String: SystemValue] {
        guard let device = peripherals[id] else {
            throw BLEError(.peripheralNotFound, "the radio does not have the peripheral \(id)")
        }
        let record = record(of: id, port)
        let advertisement = content(of: device, on: adapter(of: port))
        var properties: [String: SystemValue] = [
            "Address": .text((record.bond == nil ? id : device.id).rawValue),
            "Connected": .boolean(isLinked(device, as: id, port)),
            "Paired": .boolean(record.bond != nil), "Trusted": .boolean(record.isTrusted),
            "Blocked": .boolean(record.isBlocked),
            "UUIDs": .list(device.services(besides: advertisement.serviceUUIDs).sorted().map { .text($0.description) }),
        ]
        properties["Name"] = advertisement.localName.map { .text($0) }
        properties["RSSI"] =
            !isLinked(device, as: id, port) ? advertisement.rssi.map { .integer($0) } : nil
        return properties
    }

    func setSignalStrength(_ strength: Int?, _ id: Peripheral.ID) {
        peripherals[id]?.signalStrength = strength
    }

    private func characteristic(
        _ attribute: AttributeID, _ port: Int
    ) throws(BLEError) -> SimulatedAttributes.Attribute {
        let device = try device(attribute.peripheral, port)
        guard let characteristic = device.attributes.characteristics[attribute.handle] else {
            throw BLEError(.invalidHandle)
        }
        return characteristic
    }

    func read(_ attribute: AttributeID, offset: Int, _ port: Int) async throws(BLEError) -> [UInt8] {
        let characteristic = try characteristic(attribute, port)
        guard characteristic.definition.properties.contains(.read) else { throw BLEError(.readNotPermitted) }
        try await secure(attribute.peripheral, characteristic.definition.security, port)
        let request = try request(attribute.peripheral, port, offset: offset)
        if let authorize = characteristic.definition.authorize {
            try await operate(attribute.peripheral, port) { () throws(ATTError) in try await authorize(.read, request) }
        }
        // The characteristic may have changed meanwhile.
        let current = try self.characteristic(attribute, port)
        let value = try await value(of: current, attribute.peripheral, request, port)
        guard offset > 0 else { return value }
        // Many peripherals refuse to return part of a value that fits one packet, which the specification permits.
        guard offset <= value.count else { throw BLEError(.invalidOffset) }
        guard value.count >= (try device(attribute.peripheral, port)).attMTU else {
            throw BLEError(.attributeNotLong)
        }
        return Array(value.dropFirst(offset))
    }

    /// Returns the current value, from the handler if there is one.
    private func value(
        of characteristic: SimulatedAttributes.Attribute, _ id: Peripheral.ID, _ request: AttributeRequest, _ port: Int
    ) async throws(BLEError) -> [UInt8] {
        guard let handler = characteristic.definition.onRead else { return characteristic.value }
        return try await operate(id, port) { () throws(ATTError) in try await handler(request) }
    }

    /// Returns the properties of a central's request.
    private func request(
        _ id: Peripheral.ID, _ port: Int, offset: Int = 0, writeType: WriteType? = nil
    ) throws(BLEError) -> AttributeRequest {
        let device = try device(id, port)
        return AttributeRequest(
            central: device.links[port]?.shared.central ?? Self.central(port), transport: .le, attMTU: device.attMTU,
            offset: offset, writeType: writeType, link: device.links[port]?.shared.served)
    }

    func write(
        _ value: [UInt8], to attribute: AttributeID, type: WriteType, offset: Int, _ port: Int
    ) async throws(BLEError) {
        let characteristic = try characteristic(attribute, port)
        let length = try device(attribute.peripheral, port).attMTU
        // Such a write is refused before anything is sent.
        if type == .withoutResponse, offset > 0 || value.count > length - 3 {
            throw BLEError(.failed, "the write does not fit a packet")
        }
        let property: CharacteristicProperties = type == .withoutResponse ? .writeWithoutResponse : .write
        guard characteristic.definition.properties.contains(property) else { throw BLEError(.writeNotPermitted) }
        try await secure(attribute.peripheral, characteristic.definition.security, port)
        let request = try request(attribute.peripheral, port, offset: offset, writeType: type)
        if isAcquired(attribute, port) { throw Self.writeAcquired }
        let definition = characteristic.definition
        guard type != .withoutResponse else {
            let crossing = crossing(attribute.peripheral, port)
            guard definition.onWrite != nil || definition.authorize != nil || crossing != nil else {
                return notify(value, attribute.handle, try device(attribute.peripheral, port))
            }
            // A sendable closure that captures `self` itself would not run on this actor.
            let radio = self
            return command(attribute.peripheral, port) {
                if let crossing, (try? await crossing.wait()) == nil { return }
                try? await radio.carryOut(value, to: attribute, definition, request)
            }
        }
        if let authorize = definition.authorize {
            try await operate(attribute.peripheral, port) { () throws(ATTError) in try await authorize(.write, request)
            }
        }
        var value = value
        if offset > 0 {
            // The characteristic may have changed meanwhile.
            let characteristic = try self.characteristic(attribute, port)
            let present = try await self.value(of: characteristic, attribute.peripheral, request, port)
            guard offset <= present.count else { throw BLEError(.invalidOffset) }
            value = present.prefix(offset) + value + present.dropFirst(offset + value.count)
        }
        guard let handler = definition.onWrite else {
            // The link may have ended.
            return notify(value, attribute.handle, try device(attribute.peripheral, port))
        }
        let whole = value
        try await operate(attribute.peripheral, port) { () throws(ATTError) in try await handler(whole, request) }
    }

    /// Performs a write without response if the definition allows it.
    nonisolated func carryOut(
        _ value: [UInt8], to attribute: AttributeID, _ definition: CharacteristicDefinition,
        _ request: AttributeRequest
    ) async throws(ATTError) {
        try await traced(value, to: attribute, of: request.central) { () throws(ATTError) in
            try await definition.authorize?(.write, request)
            if Task.isCancelled { throw .unlikelyError }
            guard let handler = definition.onWrite else {
                return await written(value, to: attribute)
            }
            try await handler(value, request)
        }
    }

    /// Sets a value that was written, and notifies it to subscribers.
    private func written(_ value: [UInt8], to attribute: AttributeID) {
        if let device = peripherals[attribute.peripheral] { notify(value, attribute.handle, device) }
    }

    /// Runs a handler without waiting for its end. The end of the link cancels the handler.
    private func command(_ id: Peripheral.ID, _ port: Int, _ handler: @escaping @Sendable () async -> Void) {
        let token = number()
        // The radio's executor keeps the order of the tasks, whatever their priorities.
        let task = Task(executorPreference: tasks) { [weak self] in
            await handler()
            await self?.commandEnded(token, id, port)
        }
        peripherals[id]?.links[port]?.commands.updateValue(task, forKey: token)
    }

    private func commandEnded(_ token: Int, _ id: Peripheral.ID, _ port: Int) {
        peripherals[id]?.links[port]?.commands.removeValue(forKey: token)
    }

    func readDescriptor(_ descriptor: AttributeID, _ port: Int) async throws(BLEError) -> [UInt8] {
        guard let found = try device(descriptor.peripheral, port).attributes.descriptors[descriptor.handle] else {
            throw BLEError(.invalidHandle)
        }
        guard let handler = found.definition.onRead else { return found.value }
        let request = try request(descriptor.peripheral, port)
        return try await operate(descriptor.peripheral, port) { () throws(ATTError) in try await handler(request) }
    }

    func writeDescriptor(_ value: [UInt8], to descriptor: AttributeID, _ port: Int) async throws(BLEError) {
        guard let found = try device(descriptor.peripheral, port).attributes.descriptors[descriptor.handle] else {
            throw BLEError(.invalidHandle)
        }
        if let handler = found.definition.onWrite {
            let request = try request(descriptor.peripheral, port, writeType: .withResponse)
            return try await operate(descriptor.peripheral, port) { () throws(ATTError) in
                try await handler(value, request)
            }
        }
        peripherals[descriptor.peripheral]?.attributes.setDescriptor(value, of: descriptor.handle)
    }

    /// Runs a handler of the definition until it returns, the link ends or the caller gives up.
    private func operate<Value: Sendable>(
        _ id: Peripheral.ID, _ port: Int, _ handler: @escaping @Sendable () async throws(ATTError) -> Value
    ) async throws(BLEError) -> Value {
        try await onLink(id, port, executor: tasks) { () throws(BLEError) in
            do throws(ATTError) {
                return try await handler()
            } catch {
                throw BLEError(error)
            }
        }
    }

    func subscribe(
        _ attribute: AttributeID, isChannel: Bool, _ port: Int, _ deliver: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError) {
        let device = try device(attribute.peripheral, port)
        guard let characteristic = device.attributes.characteristics[attribute.handle] else {
            throw BLEError(.invalidHandle)
        }
        // bluetoothd does not make channels for indications.
        let wanted: CharacteristicProperties = isChannel ? .notify : [.notify, .indicate]
        guard !characteristic.definition.properties.isDisjoint(with: wanted) else {
            throw BLEError(.requestNotSupported)
        }
        try await secure(attribute.peripheral, characteristic.definition.security, port)
        // The link may have ended.
        guard let link = try self.device(attribute.peripheral, port).links[port] else { throw Self.noLink }
        let handle = attribute.handle
        let others = uses(of: link.shared, device).filter { $0 !== link }.compactMap { $0.subscriptions[handle] }
        // bluetoothd notifies either all of its clients, or a channel.
        guard others.isEmpty || !isChannel && !others.contains(where: \.isChannel) else { throw Self.notifyAcquired }
        if let other = others.first {
            // The peripheral's handler runs already.
            let subscription = SimulatedSubscription(number: other.number, isChannel: isChannel, deliver: deliver)
            subscription.task = link.subscriptions[handle]?.task
            link.subscriptions[handle] = subscription
            return
        }
        let number = number()
        link.subscriptions[handle] = SimulatedSubscription(number: number, isChannel: isChannel, deliver: deliver)
        guard let handler = characteristic.definition.onSubscribe else { return }
        let indicates = characteristic.definition.properties.contains(.indicate)
        let (id, shared) = (device.id, ObjectIdentifier(link.shared))
        let notifier = Notifier(clock: clock, central: link.shared.central) { [weak self] value in
            await self?.notify(value, handle, number, shared, id)
        } indicate: { [weak self] (value) throws(BLEError) in
            try await self?.indicate(value, handle, number, shared, id, isPossible: indicates)
        }
        // The handler starts before the central knows that it has subscribed, and is ready for the central's next
        // write.
        let failure = HandlerFailure()
        let task = Task(executorPreference: tasks) { [weak self] in
            do {
                try await handler(notifier)
            } catch {
                guard !Task.isCancelled, !(error is CancellationError) else { return }
                failure.set(error)
                await self?.endSubscription(handle, number, shared, id)
            }
        }
        link.subscriptions[handle]?.task = task
        await executor.takeTurns()
        if let error = failure.error {
            endSubscription(handle, number, shared, id)
            throw Self.rejection(error)
        }
        guard !subscribed(handle, number, shared, id).isEmpty else {
            task.cancel()
            // The link may have ended.
            _ = try self.device(attribute.peripheral, port)
            return
        }
    }

    /// Returns the error of a subscription whose handler has thrown an error before its first suspension.
    private static func rejection(_ error: any Error) -> BLEError {
        var rejection = BLEError(error as? ATTError ?? .unlikelyError)
        if !(error is ATTError) { rejection.message += ": its subscription handler has thrown \(error)" }
        rejection.cause = error
        return rejection
    }

    private static let notifyAcquired = BLEError(
        .busy, "another program uses the notifications, or a channel for them", isRetryable: true)

    /// Returns the links of a subscription: those of the centrals of one adapter.
    private func subscribed(
        _ handle: UInt16, _ number: Int, _ shared: ObjectIdentifier, _ id: Peripheral.ID
    ) -> [SimulatedLink] {
        guard let device = peripherals[id] else { return [] }
        let links = device.links.values.filter {
            ObjectIdentifier($0.shared) == shared && $0.subscriptions[handle]?.number == number
        }
        return links.count < 2 ? links : links.sorted { $0.number < $1.number }
    }

    /// Ends a subscription whose handler has failed. The centrals are not notified, because the protocol has no message
    /// for this.
    private func endSubscription(
        _ handle: UInt16, _ number: Int, _ shared: ObjectIdentifier, _ id: Peripheral.ID
    ) {
        for link in subscribed(handle, number, shared, id) { link.subscriptions[handle] = nil }
    }

    /// Indicates a value of a subscription's handler, and waits until the central has confirmed it, which it does at
    /// once.
    private func indicate(
        _ value: [UInt8], _ handle: UInt16, _ number: Int, _ shared: ObjectIdentifier, _ id: Peripheral.ID,
        isPossible: Bool
    ) async throws(BLEError) {
        guard isPossible else {
            throw BLEError(
                .notSupported, "the characteristic does not indicate", remedy: "Add the property .indicate.")
        }
        let links = subscribed(handle, number, shared, id)
        guard let device = peripherals[id], let first = links.first else {
            throw BLEError(.disconnected, "the subscription has ended")
        }
        device.attributes.characteristics[handle]?.value = value
        let arrival = Outcome<Void>()
        for link in links {
            send(value, handle, device, .indicate, over: link, arrival: link === first ? arrival : nil)
        }
        try await arrival.wait()
        try await cross(id, first.port)
        guard try await admit(.confirm, at: id, handle: handle, first.port) else { return }
        loseLink(id, first.port)
    }

    /// Delivers a value from a subscription's handler, unless the subscription has ended.
    private func notify(
        _ value: [UInt8], _ handle: UInt16, _ number: Int, _ shared: ObjectIdentifier, _ id: Peripheral.ID
    ) {
        guard let device = peripherals[id] else { return }
        for link in subscribed(handle, number, shared, id) { notify(value, handle, device, to: link) }
    }

    func unsubscribe(_ attribute: AttributeID, _ port: Int) {
        guard let device = peripherals[attribute.peripheral], let link = device.links[port],
            let subscription = link.subscriptions.removeValue(forKey: attribute.handle)
        else { return }
        endSubscription(subscription, attribute.handle, leftTo: uses(of: link.shared, device))
    }

    /// Ends a central's subscription. Its handler goes on for the others of the adapter.
    func endSubscription(_ subscription: SimulatedSubscription, _ handle: UInt16, leftTo others: [SimulatedLink]) {
        guard let task = subscription.task else { return }
        let heir = others.lazy.compactMap { $0.subscriptions[handle] }.first { $0.number == subscription.number }
        if let heir { heir.task = task } else { task.cancel() }
    }
}

/// The error that a subscription's handler has thrown.
private final class HandlerFailure: Sendable {
    private let state = Mutex<(any Error)?>(nil)

    var error: (any Error)? { state.withLock { $0 } }
    func set(_ error: any Error) { state.withLock { $0 = error } }
}
