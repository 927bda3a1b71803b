import BLE
import BLEBlueZ
import BLESimulation
import DBus

/// The advertisements of clients, by the rules of the daemon's `src/advertising.c`.
extension FakeBlueZ {
    static let advertisement = "org.bluez.LEAdvertisement1"

    /// Ends all advertisements, as the daemon does when the kernel drops them.
    public func releaseAdvertisements() async {
        guard let serving else { return }
        for (number, advertisement) in serving.advertisements where advertisement.isRegistered {
            serving.advertisements[number] = nil
            await serving.backend.stopAdvertising(number)
            _ = await callClient(MethodCall(advertisement.client, advertisement.path, Self.advertisement, "Release"))
        }
        showServing()
    }

    // MARK: LEAdvertisingManager1

    func advertisingManagerCall(_ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        guard let path = call.arguments.first?.string else {
            return .failure(.bluez("InvalidArguments", "Invalid arguments in method call"))
        }
        do throws(BLEError) {
            let serving = try await startedServing()
            let registered = serving.advertisements.first { $0.value.path == path && $0.value.client == call.sender }
            guard call.method == "RegisterAdvertisement" else {
                guard let number = registered?.key else { return .failure(.bluez("DoesNotExist", "Does Not Exist")) }
                serving.advertisements[number] = nil
                await serving.backend.stopAdvertising(number)
                showServing()
                return .success(MethodReply())
            }
            guard registered == nil else { return .failure(.bluez("AlreadyExists", "Already Exists")) }
            // It has its place from now on, as an application has.
            let number = serving.number()
            serving.advertisements[number] = FakeServing.Advertisement(client: call.sender, path: path)
            // The daemon's client of the object asks for this first (`g_dbus_client_new_full` in its `gdbus/client.c`).
            _ = await callClient(MethodCall(call.sender, path, BlueZ.objectManager, "GetManagedObjects"))
            let reply = await callClient(
                MethodCall(call.sender, path, BlueZ.properties, "GetAll", [.string(Self.advertisement)]))
            let parameters = reply?.values.first.map { Self.parameters($0) }
            guard let parameters, parameters.budget().isWithinLimits else {
                serving.advertisements[number] = nil
                return .failure(.bluez("Failed", "Failed to parse advertisement."))
            }
            do throws(BLEError) {
                guard serving.advertisements[number] != nil else { throw BLEError(.failed, "the client has left") }
                try await serving.backend.startAdvertising(parameters, as: number)
            } catch {
                serving.advertisements[number] = nil
                throw error
            }
            guard serving.advertisements[number] != nil else {
                await serving.backend.stopAdvertising(number)
                return .failure(.bluez("Failed", "the client has left"))
            }
            serving.advertisements[number]?.isRegistered = true
            showServing()
            return .success(MethodReply())
        } catch {
            return .failure(
                error.code == .busy
                    ? .bluez("NotPermitted", "Maximum advertisements reached")
                    : .bluez("Failed", "Failed to register advertisement"))
        }
    }

    private static func parameters(_ properties: DBusValue) -> AdvertisingParameters {
        func uuids(_ name: String) -> [BluetoothUUID] {
            properties[key: name]?.elements?.compactMap { $0.string.flatMap { BluetoothUUID($0) } } ?? []
        }
        func data<Key: Hashable>(_ name: String, _ key: (DBusValue) -> Key?) -> [Key: [UInt8]] {
            guard case .dictionary(_, _, let entries)? = properties[key: name] else { return [:] }
            return entries.reduce(into: [:]) { all, entry in
                if let key = key(entry.key), let bytes = entry.value.bytes { all[key] = bytes }
            }
        }
        func structures(_ name: String) -> [AdvertisingStructure] {
            data(name) { $0.integer.flatMap { UInt8(exactly: $0) } }.map {
                AdvertisingStructure(type: $0.key, bytes: $0.value)
            }
        }
        func serviceData(_ name: String) -> [BluetoothUUID: [UInt8]] {
            data(name) { $0.string.flatMap { BluetoothUUID($0) } }
        }
        func manufacturerData(_ name: String) -> [UInt16: [UInt8]] {
            data(name) { $0.integer.flatMap { UInt16(exactly: $0) } }
        }
        // As bluetoothd 5.80 does.
        let response = ScanResponse(
            serviceUUIDs: uuids("ScanResponseServiceUUIDs"),
            solicitedServiceUUIDs: uuids("ScanResponseSolicitUUIDs"),
            serviceData: serviceData("ScanResponseServiceData"),
            manufacturerData: manufacturerData("ScanResponseManufacturerData"),
            structures: structures("ScanResponseData"))
        return AdvertisingParameters(
            isConnectable: properties[key: "Type"]?.string == "peripheral",
            localName: properties[key: "LocalName"]?.string, serviceUUIDs: uuids("ServiceUUIDs"),
            solicitedServiceUUIDs: uuids("SolicitUUIDs"),
            serviceData: serviceData("ServiceData"), manufacturerData: manufacturerData("ManufacturerData"),
            appearance: properties[key: "Appearance"]?.integer.flatMap { UInt16(exactly: $0) }
                .map { Appearance(rawValue: $0) },
            // 0 stands for no limit.
            duration: properties[key: "Timeout"]?.integer.flatMap { $0 > 0 ? .seconds($0) : nil },
            txPower: properties[key: "TxPower"]?.integer,
            structures: structures("Data"), scanResponse: response)
    }
}
