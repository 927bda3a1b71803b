internal import BLE
internal import DBus

/// Calls to bluetoothd, and synchronization with its signals.
extension BlueZBackend {
    func call(
        _ call: MethodCall, during operation: BlueZOperation, timeout: Duration
    ) async throws(BLEError) -> MethodReply {
        var call = call
        if call.method == "Connect" || call.method == "Pair" { call.pace = .long }
        // bluetoothd answers the other methods without asking the peripheral.
        if ["ReadValue", "WriteValue", "StartNotify", "AcquireNotify", "AcquireWrite"].contains(call.method) {
            call.pace = .slow
            call.object = ObjectTree.device(ofAttribute: call.path)
        }
        do throws(DBusError) {
            return try await openSession().call(call, timeout: timeout)
        } catch {
            throw BLEError(error, during: operation)
        }
    }

    /// The session, for objects that are served for bluetoothd.
    func openBusSession() throws(BLEError) -> BusSession {
        do throws(DBusError) {
            return try openSession()
        } catch {
            throw BLEError(error, during: .discovery)
        }
    }

    /// Returns when every signal that bluetoothd has sent so far has been processed.
    func fence() async throws(BLEError) {
        do throws(DBusError) {
            try await openSession().ask(
                MethodCall(BlueZ.service, "/", BlueZ.peer, "Ping"), timeout: Self.promptly
            ) { _ in }
        } catch {
            throw BLEError(error, during: .connection)
        }
    }

    /// Asks for a device's properties, in order with the signals, and applies them.
    ///
    /// Like ``fence()``, it processes earlier signals first. It also makes up for a missing signal: if bluetoothd's ATT
    /// channel is up before the kernel has reported the link, it never signals `Connected` (seen with 5.66).
    func refresh(_ device: String) async throws(BLEError) {
        let call = MethodCall(BlueZ.service, device, BlueZ.properties, "GetAll", [.string(BlueZ.device)])
        do throws(DBusError) {
            try await openSession().ask(call, timeout: Self.promptly) { [weak self] (body) throws(DBusError) in
                var properties = DeviceProperties()
                try body.forEachProperty { (name, value) throws(DBusError) in try? properties.read(name, &value) }
                // The answer is not an advertisement.
                properties.isAdvertisement = false
                self?.assumeIsolated { [properties] in
                    var properties = properties
                    // A known name was advertised; this one may have been read over the link.
                    if $0.tree.devices[device]?.advertisement.localName != nil { properties.name = nil }
                    $0.carryOut($0.tree.update(device, .device(properties)))
                }
            }
        } catch {
            throw BLEError(error, during: .connection)
        }
    }
}
