public import BLE
internal import DBus

extension BlueZCentral {
    /// Returns the `MTU` property, which each characteristic of a connected peripheral has from BlueZ 5.62 on.
    public func attMTU(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int {
        let path = try path(of: peripheral)
        guard isConnected(path) else { throw BLEError(.disconnected, "there is no link") }
        guard let characteristic = objects.characteristic(ofDevice: path) else {
            throw BLEError(.notSupported, "bluetoothd tells the packet length by characteristics, and there is none")
        }
        guard let length = try await property("MTU", of: BlueZ.gattCharacteristic, at: characteristic)?.integer else {
            throw BLEError(
                .notSupported, "this bluetoothd does not tell the packet length", isRetryable: false,
                remedy: "BlueZ 5.62 and later do.")
        }
        guard Self.packetLengths ~= length else {
            throw BLEError(.failed, "bluetoothd tells a packet length that no link has: \(length)")
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
                .notSupported, "bluetoothd knows the strength of advertisements only, not of links", isRetryable: false,
                remedy: "Take the strength of its last advertisement; where the peripheral advertises on, scan.")
        }
        return strength
    }

    /// Returns the properties of the peripheral's `Device1`.
    public func systemProperties(_ peripheral: Peripheral.ID) async throws(BLEError) -> [String: SystemValue] {
        let call = BlueZ.call(try path(of: peripheral), BlueZ.properties, "GetAll", .string(BlueZ.device))
        let reply = try await host.call(call, during: .setting)
        guard let value = reply.values.first, case .dictionary(let properties) = SystemValue(value) else {
            throw BLEError(.failed, "bluetoothd answered something unexpected")
        }
        return properties
    }

    /// Returns a property's current value; nil if it does not exist.
    private func property(
        _ name: String, of interface: String, at path: String
    ) async throws(BLEError) -> DBusValue? {
        do throws(BLEError) {
            return try await host.call(
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
