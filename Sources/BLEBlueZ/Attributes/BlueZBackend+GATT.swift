public import BLE
internal import DBus

extension BlueZBackend {
    /// BlueZ gives up after 30 s, the Attribute Protocol's limit; the central's own deadline is not longer.
    static let attributeTimeout = Duration.seconds(40)
    /// How long to try again while another client holds the attribute.
    private static let busyLimit = Duration.seconds(2)

    /// A socket that was closed just now is open for bluetoothd until it has looked.
    private static func limit(_ error: BLEError) -> Duration {
        error.busErrorName == "org.bluez.Error.InProgress" ? busyLimit : .milliseconds(500)
    }

    func path(_ attribute: AttributeID) throws(BLEError) -> String {
        guard let path = paths[attribute] else {
            _ = try device(attribute.peripheral)
            throw BLEError(.disconnected, "there is no link, or the services have changed")
        }
        return path
    }

    /// A call on an attribute.
    private func operate(
        on attribute: AttributeID, _ interface: String, _ method: String, _ arguments: DBusValue...
    ) async throws(BLEError) -> MethodReply {
        let path = try path(attribute)
        let device = ObjectTree.device(ofAttribute: path) ?? path
        return try await persisting(at: path) { () throws(BLEError) in
            try await self.unlessRefused(on: device) { () throws(BLEError) in
                try await self.call(
                    MethodCall(BlueZ.service, path, interface, method, arguments), during: .attribute,
                    timeout: Self.attributeTimeout)
            }
        }
    }

    /// A call on the attribute at a path. While another client holds it, tried again for a short time.
    func persisting<Value>(
        at path: String, within limit: Duration? = nil, _ call: () async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        var waited = Duration.zero
        var pause = Duration.milliseconds(10)
        while true {
            let elapsed = Central.stopwatch(clock)
            do throws(BLEError) {
                return try await call()
            } catch {
                if error.code == .cancelled { throw error }
                if error.code == .pairingRequired { throw securityError(error, path) }
                // So bluetoothd says that the peripheral has not answered within the Attribute Protocol's limit.
                if error.attError == .unlikelyError, elapsed() >= Self.transactionTimeout - .seconds(1) {
                    throw BLEError(
                        .timedOut, "the peripheral has not answered within \(Self.transactionTimeout)", cause: error)
                }
                // A link that ends fails the call; which of the two is heard of first says nothing.
                try await fence()
                guard let device = ObjectTree.device(ofAttribute: path), tree.devices[device]?.isConnected == true
                else {
                    throw BLEError(.disconnected, "the link ended", cause: error)
                }
                guard error.code == .busy, waited < limit ?? Self.limit(error) else { throw error }
                try await sleep(pause)
                waited += pause
                pause = min(pause * 2, .milliseconds(200))
            }
        }
    }

    /// How long a peripheral may take to answer (Core Specification 5.4, volume 3, part F, section 3.3.3); then the link is ended.
    private static let transactionTimeout = Duration.seconds(30)

    /// What "Not paired" means for a device that is.
    private func securityError(_ error: BLEError, _ path: String) -> BLEError {
        guard let device = ObjectTree.device(ofAttribute: path), tree.devices[device]?.isPaired == true else {
            return error
        }
        var error = error
        error.message = "the attribute wants more than the bond with the peripheral gives"
        error.remedy = "Unpair, and pair in a way that authenticates: with a number to compare or to enter."
        return error
    }

    private func value(_ reply: MethodReply) throws(BLEError) -> [UInt8] {
        guard let bytes = reply.values.first?.bytes else {
            throw BLEError(.failed, "bluetoothd answered without a value")
        }
        return bytes
    }

    /// `WriteValue`; a request that does not fit one packet, or has an offset, becomes a long write.
    public func write(
        _ value: [UInt8], to characteristic: AttributeID, type: WriteType, offset: Int
    ) async throws(BLEError) {
        let name =
            switch type {
            case .withResponse: "request"
            case .withoutResponse: "command"
            case .reliable: "reliable"
            }
        var options: [String: DBusValue] = ["type": .string(name)]
        if offset > 0 { options["offset"] = .uint16(UInt16(clamping: offset)) }
        _ = try await operate(
            on: characteristic, BlueZ.gattCharacteristic, "WriteValue", .bytes(value), .options(options))
    }

    /// `ReadValue` of a descriptor.
    public func readDescriptor(_ descriptor: AttributeID) async throws(BLEError) -> [UInt8] {
        try value(try await operate(on: descriptor, BlueZ.gattDescriptor, "ReadValue", .options()))
    }

    /// `WriteValue` of a descriptor.
    public func writeDescriptor(_ value: [UInt8], to descriptor: AttributeID) async throws(BLEError) {
        _ = try await operate(on: descriptor, BlueZ.gattDescriptor, "WriteValue", .bytes(value), .options())
    }

    /// `StartNotify`, with the delivery in place before it is sent.
    ///
    /// BlueZ shows a value that is read the same way as one that is notified: a read by another client is delivered too.
    public func startNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(BLEError) {
        let path = try path(characteristic)
        setDelivery(deliver, at: path)
        deliveryPaths[characteristic] = path
        do throws(BLEError) {
            started[characteristic.peripheral, default: []].insert(path)
            _ = try await operate(on: characteristic, BlueZ.gattCharacteristic, "StartNotify")
        } catch {
            endDelivery(of: characteristic)
            // Bluetoothd may have begun all the same.
            if error.code != .timedOut, error.code != .cancelled { forgetStarted(path, characteristic.peripheral) }
            throw error
        }
    }

    /// `StopNotify`.
    public func stopNotifications(of characteristic: AttributeID) async throws(BLEError) {
        // First: its end is wanted, and nobody's loss.
        let acquired = sockets[characteristic]
        sockets[characteristic] = nil
        defer { acquired?.socket.close() }
        let path = acquired?.path ?? deliveryPaths[characteristic] ?? paths[characteristic]
        endDelivery(of: characteristic)
        // Bluetoothd takes the socket away from whoever has it, whoever asks.
        guard let path, acquired != nil || started[characteristic.peripheral]?.contains(path) == true else { return }
        try await stopNotifying(path, characteristic.peripheral, hasSocket: acquired != nil)
    }

    func stopNotifying(
        _ path: String, _ peripheral: Peripheral.ID, hasSocket: Bool = false
    ) async throws(BLEError) {
        let device = ObjectTree.device(ofAttribute: path) ?? path
        if !hasSocket, tree.uses(ofDevice: device)[path]?.contains(.notifyAcquired) == true {
            // Another program has the socket, so there is nothing of this one's.
            return forgetStarted(path, peripheral)
        }
        do throws(BLEError) {
            _ = try await call(
                BlueZ.call(path, BlueZ.gattCharacteristic, "StopNotify"), during: .attribute, timeout: Self.promptly)
        } catch {
            // `Failed: No notify session started`, and an object that is gone, are what stopping wanted.
            guard [.failed, .peripheralNotFound, .disconnected, .bluetoothLost].contains(error.code) else {
                throw error
            }
        }
        forgetStarted(path, peripheral)
    }

    private func forgetStarted(_ path: String, _ peripheral: Peripheral.ID) {
        started[peripheral]?.remove(path)
        if started[peripheral]?.isEmpty == true { started[peripheral] = nil }
    }
}
