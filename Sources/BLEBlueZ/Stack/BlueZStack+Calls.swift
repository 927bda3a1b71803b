internal import BLE
internal import DBus
internal import Logging
internal import Waiting

/// Calls to bluetoothd, and synchronization with its signals.
extension BlueZStack {
    func call(
        _ call: MethodCall, during operation: BlueZOperation, timeout: Duration = promptly
    ) async throws(BLEError) -> MethodReply {
        var call = call
        if call.method == "Connect" || call.method == "Pair" { call.pace = .long }
        if call.pace != .prompt, let spent { throw spent }
        do throws(DBusError) {
            return try await openSession().call(call, timeout: timeout)
        } catch {
            throw BLEError(error, during: operation)
        }
    }

    /// Starts a call whose answer arrives in order with the signals; see `BusSession.start`. Returns nil if the call
    /// failed immediately.
    func start<Value>(
        _ call: MethodCall, during operation: BlueZOperation, timeout: Duration,
        read: @escaping @Sendable (inout MessageReader) throws(DBusError) -> Value,
        completion: @escaping @Sendable (Result<Value, BLEError>) -> Void
    ) -> PendingCall? {
        let failed = { (error: DBusError) -> PendingCall? in
            completion(.failure(BLEError(error, during: operation)))
            return nil
        }
        guard let session else { return failed(Self.notConnected) }
        if call.pace != .prompt, let spent {
            completion(.failure(spent))
            return nil
        }
        return session.enter { session in
            do throws(DBusError) {
                return try session.start(call, timeout: timeout, read: read) { result in
                    completion(result.mapError { BLEError($0, during: operation) })
                }
            } catch {
                return failed(error)
            }
        }
    }

    /// Ends a call that was not sent yet. Returns false if it was sent.
    func withdraw(_ call: PendingCall) -> Bool { session?.enter { $0.withdraw(call) } ?? false }

    /// Returns the calls for which a device is asked and that may still be answered.
    func unansweredRequests(ofDevice device: String) -> [PendingCall] {
        unanswered { $0.pace == .slow && ObjectTree.device(ofAttribute: $0.path) == device }
    }

    private func unanswered(where matches: @Sendable (PendingCall) -> Bool) -> [PendingCall] {
        session?.enter { $0.unanswered(where: matches) } ?? []
    }

    /// Handles the removal of a device or an attribute: bluetoothd drops the calls that wait for its peripheral without
    /// an answer (`unregister_characteristic` in its `src/gatt-client.c`, `device_free` in its `src/device.c`).
    func loseCalls(of object: String) {
        // The others are answered: there is no such object.
        let calls = unanswered { $0.path == object && ($0.pace != .prompt || $0.method == "Disconnect") }
        lose(calls, .remote(Self.unknownObject, "the object was removed"))
    }

    private static let unknownObject = "org.freedesktop.DBus.Error.UnknownObject"

    /// Fails calls that bluetoothd will never answer. The bus counts them for as long as the connection is open, and
    /// permits 128: before they are too many, the connection is replaced, as after its loss. If it is the program's,
    /// no device is asked for anything over it from then on.
    func lose(_ calls: [PendingCall], _ error: DBusError) {
        guard !calls.isEmpty, let session else { return }
        let wasSpent = spent != nil
        session.enter { $0.lose(calls, error) }
        guard !isConnectionKept else {
            if !wasSpent, let spent { logger.warning("\(spent.message)") }
            return
        }
        let count = session.enter { $0.lostCount }
        guard count >= Self.lostCallLimit else { return }
        logger.info(
            "replacing the bus connection: bluetoothd has left calls unanswered", metadata: ["count": "\(count)"])
        session.enter { $0.close() }
        loseBus("the connection to the message bus was replaced, because bluetoothd has left \(count) calls unanswered")
    }

    /// Why no device can be asked for anything over the program's connection any longer. Nil as long as one can.
    var spent: BLEError? {
        guard isConnectionKept else { return nil }
        let count = lostEarlier + (session?.enter { $0.lostCount } ?? 0)
        guard count >= Self.sharedLostCallLimit else { return nil }
        return BLEError(
            .failed, "bluetoothd has left \(count) requests over the program's GDBusConnection unanswered",
            isRetryable: false, remedy: "Shut down, and make another backend with a new GDBusConnection.")
    }

    private static let lostCallLimit = 64
    /// With the calls that may be lost together with the last, at most what a shared connection permits to slow calls.
    private static let sharedLostCallLimit = 32

    /// Returns the session, for objects that are served for bluetoothd.
    func openBusSession() throws(BLEError) -> BusSession {
        do throws(DBusError) {
            return try openSession()
        } catch {
            throw BLEError(error, during: .discovery)
        }
    }

    /// Makes a call whose answer arrives in order with the signals. `read` runs on the loop's thread.
    func ask<Value: Sendable>(
        _ call: MethodCall, during operation: BlueZOperation, timeout: Duration = promptly,
        read: @escaping @Sendable (inout MessageReader) throws(DBusError) -> Value
    ) async throws(BLEError) -> Value {
        do throws(DBusError) {
            return try await openSession().ask(call, timeout: timeout, read: read)
        } catch {
            throw BLEError(error, during: operation)
        }
    }

    /// Returns when every signal that bluetoothd has sent so far has been processed.
    func fence() async throws(BLEError) {
        try await ask(MethodCall(BlueZ.service, "/", BlueZ.peer, "Ping"), during: .connection) { _ in }
    }

    /// Asks for a device's properties, in order with the signals, and applies them.
    ///
    /// Like ``fence()``, it processes earlier signals first. It also replaces a missing signal: if bluetoothd's ATT
    /// channel is up before the kernel has reported the link, bluetoothd never signals `Connected` (seen with 5.66).
    func refresh(_ device: String) async throws(BLEError) {
        let call = MethodCall(BlueZ.service, device, BlueZ.properties, "GetAll", [.string(BlueZ.device)])
        try await ask(call, during: .connection) { [weak self] (body) throws(DBusError) in
            var properties = DeviceProperties()
            let advertised = self?.assumeIsolated { $0.advertised(of: DevicePath(device)) }
            _ = try properties.read(&body, advertised: advertised ?? .none)
            // The answer is not an advertisement.
            properties.isAdvertisement = false
            self?.assumeIsolated { [properties] in $0.apply(properties, toDevice: device) }
        }
    }

    private func apply(_ properties: DeviceProperties, toDevice device: String) {
        var properties = properties
        // A known name was advertised; this one may have been read over the link.
        if tree.devices[device]?.advertisement.localName != nil { properties.name = nil }
        update { $0.update(device, .device(properties)) }
    }
}
