internal import Waiting

extension Central {
    /// Returns the services of a peripheral as far as they are known. Does not connect.
    func knownServices(_ id: Peripheral.ID) -> GATTDatabase? { links[id]?.database }

    /// Returns the services of a peripheral, connecting and discovering them if necessary.
    func services(_ id: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        try await connect(id, timeout: nil)
        if let database = links[id]?.database { return database }
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
        if let database = links[id]?.database { return database }
        let running = links[id]?.rediscovery
        let task =
            running
            ?? Task {
                // The end of the link cancels this, and the next link has a discovery of its own.
                do throws(BLEError) {
                    if Task.isCancelled { throw .cancelled }
                    links[id]?.forgetLoss()
                    let (database, changes) = try await discoverInTime(id)
                    if Task.isCancelled { throw .cancelled }
                    links[id]?.discovered(database, after: changes)
                    links[id]?.publishChangedServices(over: linkRadio(of: id))
                    links[id]?.setRediscovery(nil)
                    return .success(database)
                } catch {
                    if !Task.isCancelled { links[id]?.setRediscovery(nil) }
                    return .failure(error.at(id))
                }
            }
        if running == nil { links[id]?.setRediscovery(task) }
        return try await task.value.get()
    }

    /// Invalidates the discovered services after a change, and reports it.
    func servicesChanged(_ id: Peripheral.ID) {
        // A change arrives in several parts, of which only the first is reported.
        guard links[id]?.servicesChanged() == true else { return }
        report(.servicesChanged, of: id)
    }

    func resolve(_ key: CharacteristicKey, on id: Peripheral.ID) async throws(BLEError) -> Target {
        let database = try await services(id)
        do throws(BLEError) {
            return try Target(key, of: id, in: database)
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
    @discardableResult func operate(
        _ operation: AttributeOperation, on target: Target, attribute: AttributeID? = nil, timeout: Duration?,
        willStart: (@Sendable () -> Void)? = nil
    ) async throws(BLEError) -> [UInt8] {
        try checkRunning()
        return try await traced(
            operation.name, on: target.attribute.peripheral, target.characteristic.uuid, writes: operation.written
        ) { () throws(BLEError) in
            let begun = begin(operation, on: target, attribute: attribute, timeout: timeout, willStart: willStart)
            return try await begun.value()
        }
    }

    /// Begins an operation on a characteristic, or on one of its descriptors if `attribute` is given.
    ///
    /// - Parameter willStart: called right before the backend starts the operation.
    private func begin(
        _ operation: AttributeOperation, on target: Target, attribute: AttributeID? = nil, timeout: Duration?,
        willStart: (@Sendable () -> Void)? = nil
    ) -> BegunOperation {
        let attribute = attribute ?? target.attribute
        let pending = begin(
            operation.name, as: operation.kind, on: attribute.peripheral, about: target.characteristic.uuid,
            using: .value(attribute),
            timeout: timeout ?? configuration.operationTimeout
        ) { (central, pending: PendingOperation<[UInt8]>) in
            willStart?()
            let (me, backend) = (central, central.backend)
            return backend.enter(isCurrent: backend.isCurrent) { backend in
                backend.start(operation, on: attribute) { result in
                    me.enter { $0.complete(pending, operation, on: attribute, result) }
                }
            }
        }
        return BegunOperation(operation: operation, target: target, pending: pending)
    }

    private func complete(
        _ pending: PendingOperation<[UInt8]>, _ operation: AttributeOperation, on attribute: AttributeID,
        _ result: Result<[UInt8], BLEError>
    ) {
        let now = elapsed()
        // An answer that nobody waits for any longer may be one on the link before.
        if case .read(offset: 0) = operation, case .success(let value) = result, pending.isAwaited {
            links[attribute.peripheral]?.didRead(value, from: attribute.handle, at: now)
        }
        complete(pending, result, at: now)
    }

    /// An operation on an attribute that has begun.
    private struct BegunOperation {
        let operation: AttributeOperation
        let target: Target
        let pending: PendingOperation<[UInt8]>

        /// Waits for what was read; for a write, nothing.
        func value() async throws(BLEError) -> [UInt8] {
            do throws(BLEError) {
                return try await pending.value()
            } catch {
                throw operation.advised(error).at(
                    target.attribute.peripheral, service: target.service.uuid,
                    characteristic: target.characteristic.uuid)
            }
        }
    }

    // MARK: Values

    nonisolated func read(
        _ key: CharacteristicKey, of id: Peripheral.ID, offset: Int = 0, timeout: Duration?
    ) async throws(BLEError) -> [UInt8] {
        let operation = AttributeOperation.read(offset: offset)
        if let begun = beginHere(operation, key, id, timeout) { return try await begun.value() }
        return try await operate(operation, on: key, of: id, timeout: timeout)
    }

    nonisolated func write(
        _ value: [UInt8], to key: CharacteristicKey, of id: Peripheral.ID, type: WriteType, offset: Int = 0,
        timeout: Duration?, connecting: Bool = true
    ) async throws(BLEError) {
        let operation = AttributeOperation.write(value, type: type, offset: offset)
        if let begun = beginHere(operation, key, id, timeout) {
            _ = try await begun.value()
        } else {
            try await operate(operation, on: key, of: id, timeout: timeout, connecting: connecting)
        }
    }

    /// Begins an operation if the caller runs on the central's executor and there is nothing to wait for or to complain
    /// about: it takes no switch between executors then.
    private nonisolated func beginHere(
        _ operation: AttributeOperation, _ key: CharacteristicKey, _ id: Peripheral.ID, _ timeout: Duration?
    ) -> BegunOperation? {
        guard !isTracing, !Task.isCancelled, backend.isCurrent else { return nil }
        return enter { central in
            guard !central.isShutDown, let link = central.links[id], link.state == .connected,
                let target = link.target(key), target.allows(operation)
            else { return nil }
            link.useBeyondPairing()
            return central.begin(operation, on: target, timeout: timeout)
        }
    }

    /// Connects if necessary, and performs an operation.
    @discardableResult private func operate(
        _ operation: AttributeOperation, on key: CharacteristicKey, of id: Peripheral.ID, timeout: Duration?,
        connecting: Bool = true
    ) async throws(BLEError) -> [UInt8] {
        try operation.checkExtent(key, id)
        guard connecting || connectionState(id) == .connected else {
            throw BLEError(.disconnected, "the peripheral is not connected").at(id)
        }
        let target = try await resolve(key, on: id)
        switch operation {
        case .write(let value, type: .withoutResponse, let offset):
            try require(.writeWithoutResponse, "writing without response", of: target)
            try await checkPacket(value.count, offset, target)
        case .write(_, type: .reliable, _): try require(.reliableWrite, "reliable writing", of: target)
        case .write: try require(.write, "writing with response", of: target)
        default: try require(.read, "reading", of: target)
        }
        return try await operate(operation, on: target, timeout: timeout)
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
            .readDescriptor, on: target, attribute: try resolve(descriptor, handle, of: target), timeout: timeout)
    }

    /// Client Characteristic Configuration.
    private static let clientConfiguration = BluetoothUUID(0x2902)

    func writeDescriptor(
        _ value: [UInt8], to descriptor: BluetoothUUID, handle: UInt16?, of key: CharacteristicKey,
        on id: Peripheral.ID,
        timeout: Duration?
    ) async throws(BLEError) {
        // Subscriptions are shared by all readers, and stacks write it themselves: bluetoothd refuses such a write.
        guard descriptor != Self.clientConfiguration else {
            throw BLEError(
                .notSupported, "the client characteristic configuration is written for each subscription",
                isRetryable: false, remedy: "Use notifications(_:): it subscribes while its stream is read."
            ).at(id, service: key.service, characteristic: key.characteristic)
        }
        let target = try await resolve(key, on: id)
        try await operate(
            .writeDescriptor(value), on: target, attribute: try resolve(descriptor, handle, of: target),
            timeout: timeout)
    }
}
