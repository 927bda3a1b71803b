internal import BLE
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

    /// Returns a characteristic of a peripheral, unless the link has ended.
    func characteristic(
        _ handle: UInt16, _ device: SimulatedDevice, _ link: SimulatedLink
    ) throws(BLEError) -> SimulatedAttributes.Attribute {
        try check(link, of: device)
        guard let characteristic = device.attributes.characteristics[handle] else { throw BLEError(.invalidHandle) }
        return characteristic
    }

    func read(_ attribute: AttributeID, offset: Int, _ port: Int) async throws(BLEError) -> [UInt8] {
        let (device, link) = try linked(attribute.peripheral, port)
        let definition = try characteristic(attribute.handle, device, link).definition
        guard definition.properties.contains(.read) else { throw BLEError(.readNotPermitted) }
        try await secure(link, of: device, as: attribute.peripheral, definition.security)
        let request = request(device, link, offset: offset)
        if let authorize = definition.authorize {
            try await operate(device, link) { () throws(ATTError) in try await authorize(.read, request) }
        }
        // The characteristic may have changed meanwhile.
        let present = try characteristic(attribute.handle, device, link)
        guard present.definition.uuid == definition.uuid else { throw BLEError(.invalidHandle) }
        let value = try await value(of: present, request, device, link)
        guard offset > 0 else { return value }
        // Many peripherals refuse to return part of a value that fits one packet, which the specification permits.
        guard offset <= value.count else { throw BLEError(.invalidOffset) }
        guard value.count >= device.attMTU else { throw BLEError(.attributeNotLong) }
        return Array(value.dropFirst(offset))
    }

    /// Returns the current value, from the handler if there is one.
    private func value(
        of characteristic: SimulatedAttributes.Attribute, _ request: AttributeRequest, _ device: SimulatedDevice,
        _ link: SimulatedLink
    ) async throws(BLEError) -> [UInt8] {
        guard let handler = characteristic.definition.onRead else { return characteristic.value }
        return try await operate(device, link) { () throws(ATTError) in try await handler(request) }
    }

    /// Returns the properties of a central's request.
    private func request(
        _ device: SimulatedDevice, _ link: SimulatedLink, offset: Int = 0, writeType: WriteType? = nil
    ) -> AttributeRequest {
        AttributeRequest(
            central: link.shared.central, transport: .le, attMTU: device.attMTU, offset: offset, writeType: writeType,
            link: link.shared.served, clock: clock)
    }

    /// The maximum length of an attribute's value (Core Specification 5.4, volume 3, part F, section 3.2.9). A
    /// peripheral refuses a longer one. A central of `BLE` does not send it; other clients of a fake bluetoothd can.
    private static let maximumLength = 512

    /// - Parameter losesLink: whether the link is lost after a write without response has been carried out.
    func write(
        _ value: [UInt8], to attribute: AttributeID, type: WriteType, offset: Int, _ port: Int, losesLink: Bool = false
    ) async throws(BLEError) {
        let (device, link) = try linked(attribute.peripheral, port)
        let characteristic = try characteristic(attribute.handle, device, link)
        // Such a write is refused before anything is sent.
        if type == .withoutResponse, offset > 0 || value.count > device.attMTU - 3 {
            throw BLEError(.failed, "the write does not fit a packet")
        }
        let property: CharacteristicProperties = type == .withoutResponse ? .writeWithoutResponse : .write
        guard characteristic.definition.properties.contains(property) else { throw BLEError(.writeNotPermitted) }
        try await secure(link, of: device, as: attribute.peripheral, characteristic.definition.security)
        let request = request(device, link, offset: offset, writeType: type)
        // The services may have changed meanwhile.
        let definition = try self.characteristic(attribute.handle, device, link).definition
        guard definition.uuid == characteristic.definition.uuid else { throw BLEError(.invalidHandle) }
        guard link.shared.writer(to: attribute.handle) == nil else { throw Self.writeAcquired }
        guard offset <= Self.maximumLength else { throw BLEError(.invalidOffset) }
        guard offset + value.count <= Self.maximumLength else {
            // A command has no answer.
            if type == .withoutResponse { return }
            throw BLEError(ATTError.invalidAttributeValueLength)
        }
        if type == .withoutResponse {
            return command(value, to: attribute, definition, request, device, link.shared, losesLink: losesLink)
        }
        if let authorize = definition.authorize {
            try await operate(device, link) { () throws(ATTError) in try await authorize(.write, request) }
        }
        var value = value
        if offset > 0 {
            // The characteristic may have changed meanwhile.
            let characteristic = try self.characteristic(attribute.handle, device, link)
            let present = try await self.value(of: characteristic, request, device, link)
            guard offset <= present.count else { throw BLEError(.invalidOffset) }
            value = present.prefix(offset) + value + present.dropFirst(offset + value.count)
        }
        guard let handler = definition.onWrite else {
            guard try self.characteristic(attribute.handle, device, link).definition.uuid == definition.uuid else {
                throw BLEError(.invalidHandle)
            }
            return notify(value, attribute.handle, device)
        }
        let whole = value
        try await operate(device, link) { () throws(ATTError) in try await handler(whole, request) }
    }

    /// Carries out a write without response, without waiting for its handler. The end of the link cancels the handler.
    private func command(
        _ value: [UInt8], to attribute: AttributeID, _ definition: CharacteristicDefinition,
        _ request: AttributeRequest, _ device: SimulatedDevice, _ link: SharedLink, losesLink: Bool
    ) {
        let place = Place(peripheral: device.id, link: link)
        let crossing = crossing(device, link)
        guard definition.onWrite != nil || definition.authorize != nil || crossing != nil else {
            notify(value, attribute.handle, device)
            if losesLink { loseLink(at: place) }
            return
        }
        let (token, id, served) = (number(), device.id, link.served)
        // The radio's executor keeps the order of the tasks, whatever their priorities.
        link.commands[token] = Task(executorPreference: tasks) { [weak self] in
            // Several steps: the command is known by its token, and the end of the link cancels it.
            if let crossing, (try? await crossing.wait()) == nil { return }
            try? await self?.carryOut(value, to: attribute, definition, request)
            await self?.commandEnded(token, served, id, losesLink: losesLink)
        }
    }

    private func commandEnded(_ token: Int, _ served: CentralLink, _ id: Peripheral.ID, losesLink: Bool) {
        guard let link = peripherals[id]?.link(served) else { return }
        link.commands[token] = nil
        if losesLink { loseLink(at: Place(peripheral: id, link: link)) }
    }

    /// Performs a write without response if the definition allows it.
    nonisolated func carryOut(
        _ value: [UInt8], to attribute: AttributeID, _ definition: CharacteristicDefinition,
        _ request: AttributeRequest
    ) async throws(ATTError) {
        try await traced(value, to: attribute, of: request.central) { () throws(ATTError) in
            // The link may have ended before it crossed, or while the definition decided.
            if Task.isCancelled { throw .unlikelyError }
            try await definition.authorize?(.write, request)
            if Task.isCancelled { throw .unlikelyError }
            guard let handler = definition.onWrite else {
                return await written(value, to: attribute, definition.uuid)
            }
            try await handler(value, request)
        }
    }

    /// Sets a value that was written, and notifies it to subscribers, unless another characteristic has the handle now.
    private func written(_ value: [UInt8], to attribute: AttributeID, _ uuid: BluetoothUUID) {
        guard let device = peripherals[attribute.peripheral],
            device.attributes.characteristics[attribute.handle]?.definition.uuid == uuid
        else { return }
        notify(value, attribute.handle, device)
    }

    func readDescriptor(_ descriptor: AttributeID, _ port: Int) async throws(BLEError) -> [UInt8] {
        let (device, link) = try linked(descriptor.peripheral, port)
        guard let found = device.attributes.descriptors[descriptor.handle] else { throw BLEError(.invalidHandle) }
        guard let handler = found.definition.onRead else { return found.value }
        let request = request(device, link)
        return try await operate(device, link) { () throws(ATTError) in try await handler(request) }
    }

    func writeDescriptor(_ value: [UInt8], to descriptor: AttributeID, _ port: Int) async throws(BLEError) {
        let (device, link) = try linked(descriptor.peripheral, port)
        guard let found = device.attributes.descriptors[descriptor.handle] else { throw BLEError(.invalidHandle) }
        guard value.count <= Self.maximumLength else { throw BLEError(ATTError.invalidAttributeValueLength) }
        if let handler = found.definition.onWrite {
            let request = request(device, link, writeType: .withResponse)
            return try await operate(device, link) { () throws(ATTError) in try await handler(value, request) }
        }
        device.attributes.setDescriptor(value, of: descriptor.handle)
    }

    /// Runs a handler of the definition until it returns, the link ends or the caller gives up.
    private func operate<Value: Sendable>(
        _ device: SimulatedDevice, _ link: SimulatedLink,
        _ handler: @escaping @Sendable () async throws(ATTError) -> Value
    ) async throws(BLEError) -> Value {
        try await onLink(link, device, executor: tasks) { () throws(BLEError) in
            do throws(ATTError) {
                return try await handler()
            } catch {
                throw BLEError(error)
            }
        }
    }
}
