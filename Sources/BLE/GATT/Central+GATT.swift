extension Central {
    /// Returns the services of a peripheral, connecting and discovering them if necessary.
    func services(_ id: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        try await connect(id, timeout: nil)
        if let database = connections[id]?.database { return database }
        // The services changed while connected, or the link has just ended.
        return try await perform(
            on: id, timeout: configuration.operationTimeout, name: "discovering services"
        ) { [weak self] (_) throws(BLEError) in
            guard let self else { throw .shutDown }
            return try await rediscover(id)
        }
    }

    /// Discovers changed services, once for all callers.
    private func rediscover(_ id: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        if let database = connections[id]?.database { return database }
        let running = connections[id]?.rediscovery
        let task =
            running
            ?? Task {
                do throws(BLEError) {
                    connections[id]?.beginDiscovery()
                    let database = try await within(configuration.connectTimeout, "discovering the services") {
                        [weak self] (_) throws(BLEError) in
                        guard let self else { throw .shutDown }
                        return try await discover(id)
                    }
                    connections[id]?.discovered(database)
                    connections[id]?.setRediscovery(nil)
                    return .success(database)
                } catch {
                    connections[id]?.setRediscovery(nil)
                    return .failure(error.at(id))
                }
            }
        if running == nil { connections[id]?.setRediscovery(task) }
        return try await task.value.get()
    }

    /// Invalidates the discovered services after a change, and reports it.
    func servicesChanged(_ id: Peripheral.ID) {
        // A change arrives in several parts, of which only the first is reported.
        guard connections[id]?.servicesChanged() == true, connectionState(id) == .connected else { return }
        report(.servicesChanged, of: id)
    }

    /// A characteristic of a connected peripheral, with its location.
    struct Target {
        let service: GATTService
        let characteristic: GATTCharacteristic
        let attribute: AttributeID
    }

    func resolve(_ key: CharacteristicKey, on id: Peripheral.ID) async throws(BLEError) -> Target {
        let database = try await services(id)
        do throws(BLEError) {
            let (service, characteristic) = try database.find(key)
            return Target(
                service: service, characteristic: characteristic,
                attribute: AttributeID(peripheral: id, handle: characteristic.handle))
        } catch {
            throw error.at(id)
        }
    }

    /// Throws `notSupported` if the characteristic allows none of the operations, before anything is sent.
    func require(
        _ properties: CharacteristicProperties, _ what: String, of target: Target
    ) throws(BLEError) {
        guard target.characteristic.properties.isDisjoint(with: properties) else { return }
        let takesSigned = target.characteristic.properties.contains(.authenticatedSignedWrites)
        let remedy = "It allows signed writes, which are not supported: no stack lets a program choose them."
        throw BLEError(
            .notSupported, "the characteristic does not allow \(what)", isRetryable: false,
            remedy: takesSigned && properties == .writeWithoutResponse ? remedy : nil
        )
        .at(target.attribute.peripheral, service: target.service.uuid, characteristic: target.characteristic.uuid)
    }

    /// Performs an operation on a characteristic, or on one of its descriptors if `attribute` is given.
    func operate<Value: Sendable>(
        on target: Target, attribute: AttributeID? = nil, timeout: Duration?, name: String,
        writing written: [UInt8]? = nil,
        _ body: @escaping @Sendable (any CentralBackend, AttributeID) async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        try checkRunning()
        let attribute = attribute ?? target.attribute
        do throws(BLEError) {
            return try await perform(
                on: attribute.peripheral, timeout: timeout ?? configuration.operationTimeout, name: name,
                about: target.characteristic.uuid, writing: written, using: .value(attribute)
            ) { (backend) throws(BLEError) in try await body(backend, attribute) }
        } catch {
            throw error.at(
                attribute.peripheral, service: target.service.uuid, characteristic: target.characteristic.uuid)
        }
    }

    func read(
        _ key: CharacteristicKey, of id: Peripheral.ID, offset: Int = 0, timeout: Duration?
    ) async throws(BLEError) -> [UInt8] {
        try Self.checkExtent(0, offset, key, id)
        let target = try await resolve(key, on: id)
        try require(.read, "reading", of: target)
        return try await operate(on: target, timeout: timeout, name: "reading") {
            (backend, attribute) throws(BLEError) in
            try await backend.read(attribute, offset: offset)
        }
    }

    func write(
        _ value: [UInt8], to key: CharacteristicKey, of id: Peripheral.ID, type: WriteType, offset: Int = 0,
        timeout: Duration?, connecting: Bool = true
    ) async throws(BLEError) {
        try Self.checkExtent(value.count, offset, key, id)
        guard connecting || connectionState(id) == .connected else {
            throw BLEError(.disconnected, "the peripheral is not connected").at(id)
        }
        let target = try await resolve(key, on: id)
        switch type {
        case .withResponse: try require(.write, "writing with response", of: target)
        case .reliable: try require(.reliableWrite, "reliable writing", of: target)
        case .withoutResponse:
            try require(.writeWithoutResponse, "writing without response", of: target)
            try await checkPacket(value.count, offset, target)
        }
        try await operate(on: target, timeout: timeout, name: "writing", writing: value) {
            (backend, attribute) throws(BLEError) in
            try await backend.write(value, to: attribute, type: type, offset: offset)
        }
    }

    /// Rejects a value or an offset that exceeds the length of any attribute (Core Specification 5.4, volume 3, part F,
    /// section 3.2.9).
    private static func checkExtent(
        _ count: Int, _ offset: Int, _ key: CharacteristicKey, _ id: Peripheral.ID
    ) throws(BLEError) {
        guard 0...512 ~= offset else {
            throw BLEError(
                .invalidOffset, "an offset must be 0 to 512, not \(offset)", peripheral: id, service: key.service,
                characteristic: key.characteristic)
        }
        guard offset + count <= 512 else {
            throw BLEError(
                .invalidLength, "an attribute holds at most 512 bytes, not \(offset + count)", peripheral: id,
                service: key.service, characteristic: key.characteristic)
        }
    }

    // MARK: Descriptors

    private func resolve(
        _ descriptor: BluetoothUUID, _ handle: UInt16?, of target: Target
    ) throws(BLEError) -> AttributeID {
        let found = target.characteristic.descriptors.first {
            $0.uuid == descriptor && (handle == nil || $0.handle == handle)
        }
        guard let found else {
            throw BLEError(
                .characteristicNotFound, "the characteristic has no descriptor \(descriptor)",
                missingUUIDs: [descriptor], isRetryable: false
            ).at(target.attribute.peripheral, service: target.service.uuid, characteristic: target.characteristic.uuid)
        }
        return AttributeID(peripheral: target.attribute.peripheral, handle: found.handle)
    }

    func readDescriptor(
        _ descriptor: BluetoothUUID, handle: UInt16?, of key: CharacteristicKey, on id: Peripheral.ID,
        timeout: Duration?
    ) async throws(BLEError) -> [UInt8] {
        let target = try await resolve(key, on: id)
        return try await operate(
            on: target, attribute: try resolve(descriptor, handle, of: target), timeout: timeout,
            name: "reading a descriptor"
        ) { (backend, attribute) throws(BLEError) in try await backend.readDescriptor(attribute) }
    }

    func writeDescriptor(
        _ value: [UInt8], to descriptor: BluetoothUUID, handle: UInt16?, of key: CharacteristicKey,
        on id: Peripheral.ID,
        timeout: Duration?
    ) async throws(BLEError) {
        let target = try await resolve(key, on: id)
        try await operate(
            on: target, attribute: try resolve(descriptor, handle, of: target), timeout: timeout,
            name: "writing a descriptor", writing: value
        ) { (backend, attribute) throws(BLEError) in try await backend.writeDescriptor(value, to: attribute) }
    }
}
