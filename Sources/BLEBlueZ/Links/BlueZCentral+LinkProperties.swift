public import BLE
internal import DBus

extension BlueZCentral {
    /// Returns the `MTU` property, which each characteristic of a connected peripheral has from BlueZ 5.62 on.
    public func attMTU(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int {
        let path = try path(of: peripheral)
        guard isConnected(path) else { throw BLEError(.disconnected, "there is no link") }
        guard let characteristic = objects.characteristic(ofDevice: path) else {
            throw BLEError(
                .notSupported, "bluetoothd reports the packet length with characteristics, and the peripheral has none")
        }
        guard let length = try await property("MTU", of: BlueZ.gattCharacteristic, at: characteristic)?.integer else {
            throw BLEError(
                .notSupported, "this bluetoothd does not report the packet length", isRetryable: false,
                remedy: "BlueZ 5.62 and later do.")
        }
        guard Self.packetLengths ~= length else {
            throw BLEError(.failed, "bluetoothd reports an invalid packet length: \(length)")
        }
        return length
    }

    /// The ATT MTUs that a link can have (Core Specification 5.4, volume 3, part F, section 3.2.8), in bytes.
    static let packetLengths = 23...65535

    /// Returns the `RSSI` property, which exists while advertisements are received.
    public func signalStrength(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int {
        let path = try path(of: peripheral)
        guard isConnected(path) else { throw BLEError(.disconnected, "there is no link") }
        guard let strength = try await property("RSSI", of: BlueZ.device, at: path)?.integer else {
            throw BLEError(
                .notSupported, "bluetoothd does not measure the signal strength of links, only of advertisements",
                isRetryable: false,
                remedy: "Use the signal strength of the last advertisement, or scan, if the peripheral advertises "
                    + "while connected.")
        }
        return strength
    }

    /// Returns the properties of the peripheral's `Device1`.
    public func systemProperties(_ peripheral: Peripheral.ID) async throws(BLEError) -> [String: SystemValue] {
        let call = BlueZ.call(try path(of: peripheral), BlueZ.properties, "GetAll", .string(BlueZ.device))
        let reply = try await stack.call(call, during: .setting)
        guard let value = reply.values.first, case .dictionary(let properties) = SystemValue(value) else {
            throw BLEError(.failed, "bluetoothd sent an unexpected answer")
        }
        return properties
    }

    /// Returns a property's current value; nil if it does not exist.
    private func property(
        _ name: String, of interface: String, at path: String
    ) async throws(BLEError) -> DBusValue? {
        do throws(BLEError) {
            return try await stack.call(
                BlueZ.call(path, BlueZ.properties, "Get", .string(interface), .string(name)), during: .attribute
            ).values.first
        } catch {
            // Bus libraries use different names for this error.
            let absent = [
                "org.freedesktop.DBus.Error.InvalidArgs", "org.freedesktop.DBus.Error.UnknownProperty",
            ]
            if let name = error.stackErrorName, absent.contains(name) { return nil }
            throw error
        }
    }
}
