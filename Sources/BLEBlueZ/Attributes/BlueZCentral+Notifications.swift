public import BLE
internal import DBus
internal import Loop
internal import Waiting

extension BlueZCentral {
    /// The maximum time for an attribute operation. BlueZ gives up after 30 s, the Attribute Protocol's limit.
    static let attributeTimeout = Duration.seconds(40)
    /// How long to retry while another client uses the attribute.
    private static let busyLimit = Duration.seconds(2)

    /// How long to retry after an error. bluetoothd notices late that a socket was closed.
    private static func limit(_ error: BLEError) -> Duration {
        error.stackErrorName == "org.bluez.Error.InProgress" ? busyLimit : .milliseconds(500)
    }

    func path(_ attribute: AttributeID) throws(BLEError) -> String { try object(attribute).path }

    func object(_ attribute: AttributeID) throws(BLEError) -> AttributeObject {
        guard let object = attributes[attribute] else {
            _ = try path(of: attribute.peripheral)
            throw BLEError(.disconnected, "there is no link, or the services have changed")
        }
        return object
    }

    /// Calls a method of the attribute at a path, and retries briefly while another client uses the attribute.
    ///
    /// - Parameter failure: the error of the first attempt, if that was made, and the time at which it began.
    func persisting<Value>(
        at path: String, within limit: Duration? = nil, after failure: (error: BLEError, start: Duration)? = nil,
        _ call: () async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        var (failure, start) = (failure?.error, failure?.start ?? .zero)
        return try await Self.backoff.retry(clock: configuredClock) { () throws(BLEError) in
            if let error = failure.take() { throw error }
            start = elapsed()
            return try await call()
        } while: { (error, waited) throws(BLEError) in
            if error.code == .cancelled { return false }
            if error.code == .pairingRequired { throw securityError(error, path) }
            // bluetoothd reports this error if the peripheral has not answered within the Attribute Protocol's limit.
            if error.attError == .unlikelyError, elapsed() - start >= Self.silence {
                throw BLEError(
                    .timedOut, "the peripheral has not answered within \(Self.transactionTimeout)", cause: error)
            }
            // The end of a link fails the call. Its signal may arrive before or after the failure.
            try await stack.fence()
            guard let device = ObjectTree.device(ofAttribute: path), isConnected(device) else {
                throw BLEError(.disconnected, "the link ended", cause: error)
            }
            return error.code == .busy && waited < limit ?? Self.limit(error)
        }
    }

    private static let backoff = Backoff(initial: .milliseconds(10), factor: 2, maximum: .milliseconds(200))

    /// The Attribute Protocol's time limit for an answer (Core Specification 5.4, volume 3, part F, section 3.3.3),
    /// after which the link is ended.
    private static let transactionTimeout = Duration.seconds(30)
    /// The time after which a failure with 0x0e means that the peripheral has not answered.
    static let silence = transactionTimeout - .seconds(1)

    /// Returns the error for the answer "Not paired" of a device that is paired.
    private func securityError(_ error: BLEError, _ path: String) -> BLEError {
        guard let device = ObjectTree.device(ofAttribute: path), objects.devices[device]?.isPaired == true else {
            return error
        }
        var error = error
        error.message = "the attribute requires more security than the bond with the peripheral provides"
        error.remedy = "Unpair, and pair again with authentication: with a number to compare or to enter."
        return error
    }

    /// Calls `StartNotify`. The delivery is in place before the call is sent.
    ///
    /// BlueZ reports read values in the same way as notified values, so values that other clients read are delivered,
    /// too.
    public func startNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(BLEError) {
        let path = try path(characteristic)
        setDelivery(Deliveries.Delivery(deliver), at: path)
        uses.begin(characteristic, path)
        do throws(BLEError) {
            try await persisting(at: path) { () throws(BLEError) in
                _ = try await self.attempt(.attribute(path, BlueZ.gattCharacteristic, "StartNotify")) {
                    self.uses.stopped(path, characteristic.peripheral)
                }
            }
        } catch {
            endDelivery(of: characteristic)
            // bluetoothd may have started the notifications nevertheless.
            if error.code != .timedOut, error.code != .cancelled { uses.stopped(path, characteristic.peripheral) }
            throw error
        }
    }

    /// Calls `StopNotify`.
    public func stopNotifications(of characteristic: AttributeID) async throws(BLEError) {
        // Removed first, so that the end of the socket is not reported as a loss.
        let acquired = sockets.remove(characteristic)
        defer { acquired?.socket.close() }
        let path = acquired?.path ?? uses.path(of: characteristic) ?? attributes[characteristic]?.path
        endDelivery(of: characteristic)
        // Called only if this client has notifications to stop: `StopNotify` closes the socket of any client that holds
        // it.
        guard let path, acquired != nil || uses.isStarted(path, characteristic.peripheral) else { return }
        try await stopNotifying(path, characteristic.peripheral, hasSocket: acquired != nil)
    }

    func stopNotifying(
        _ path: String, _ peripheral: Peripheral.ID, hasSocket: Bool = false
    ) async throws(BLEError) {
        let device = ObjectTree.device(ofAttribute: path) ?? path
        if !hasSocket, objects.uses(ofDevice: device)[path]?.contains(.notifyAcquired) == true {
            // Another program holds the socket, so this program has no notifications to stop.
            return uses.stopped(path, peripheral)
        }
        do throws(BLEError) {
            _ = try await stack.call(BlueZ.call(path, BlueZ.gattCharacteristic, "StopNotify"), during: .attribute)
        } catch {
            // `Failed: No notify session started`, and a missing object, mean that the notifications are off.
            guard [.failed, .peripheralNotFound, .disconnected, .bluetoothLost].contains(error.code) else {
                throw error
            }
        }
        uses.stopped(path, peripheral)
    }

    /// Ends the delivery of a characteristic's notifications.
    func endDelivery(of characteristic: AttributeID) {
        if let path = uses.endDelivery(of: characteristic) { setDelivery(nil, at: path) }
    }
}
