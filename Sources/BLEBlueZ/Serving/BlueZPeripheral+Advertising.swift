public import BLE
internal import DBus

/// An advertisement's object on the bus.
struct BlueZAdvertisement {
    let path: String
    /// The adapter that it is registered with.
    let adapter: String
    let session: BusSession
    let export: UInt32
    /// Whether it ends by itself.
    let isLimited: Bool
}

extension BlueZPeripheral {
    /// Serves the advertisement as an object, and registers it.
    public func startAdvertising(_ parameters: AdvertisingParameters, as advertising: Int) async throws(BLEError) {
        try requirePower()
        let path = newPath("advertisement")
        let session = try await stack.openBusSession()
        let properties = Self.properties(of: parameters)
        let object = ExportedObject(path: path, interface: Self.advertisementInterface) { [weak self] call in
            await self?.released(advertising, path)
            return .success(MethodReply())
        } property: { name in
            properties[name]
        }
        let export: UInt32
        do throws(DBusError) {
            export = try await session.export(object)
        } catch {
            throw BLEError(error, during: .serving)
        }
        let advertisement = BlueZAdvertisement(
            path: path, adapter: adapterPath, session: session, export: export, isLimited: parameters.duration != nil)
        advertisements[advertising] = advertisement
        do throws(BLEError) {
            try await register(BlueZ.advertisingManager, "RegisterAdvertisement", path)
        } catch {
            if advertisements[advertising]?.path == path { advertisements[advertising] = nil }
            // A cancelled registration may have succeeded after all.
            await Task { await end(advertisement, isKnown: error.stackErrorName == nil) }.value
            throw Self.refusal(error)
        }
        guard advertisements[advertising]?.path == path else {
            await end(advertisement, isKnown: false)
            throw .lost("bluetoothd has stopped")
        }
    }

    /// Returns the error for a refused advertisement (`register_advertisement` in bluetoothd's `src/advertising.c`).
    private static func refusal(_ error: BLEError) -> BLEError {
        switch error.stackErrorName {
        case "org.bluez.Error.NotPermitted":
            BLEError(
                .busy, "no advertising set is free", stackErrorName: error.stackErrorName, isRetryable: true,
                remedy: "All programs share the sets of the controller: end another advertisement first.",
                cause: error.cause)
        case "org.bluez.Error.Failed", "org.bluez.Error.InvalidLength":
            BLEError(
                .invalidArgument, "bluetoothd does not accept the advertisement: \(error.message)",
                stackErrorName: error.stackErrorName, isRetryable: true,
                remedy: "bluetoothd's log contains the reason. See budget() for what fits.", cause: error.cause)
        default: error
        }
    }

    /// Ends the registration, and stops serving the object.
    public func stopAdvertising(_ advertising: Int) async {
        guard let advertisement = advertisements.removeValue(forKey: advertising) else { return }
        await end(advertisement, isKnown: true)
    }

    func end(_ advertisement: BlueZAdvertisement, isKnown: Bool) async {
        if isKnown {
            _ = try? await stack.call(
                BlueZ.call(
                    advertisement.adapter, BlueZ.advertisingManager, "UnregisterAdvertisement",
                    .objectPath(advertisement.path)), during: .serving)
        }
        await advertisement.session.unexport(advertisement.export)
    }

    /// Handles `Release`: bluetoothd has ended the advertisement.
    private func released(_ number: Int, _ path: String) async {
        guard let advertisement = advertisements[number], advertisement.path == path else { return }
        advertisements[number] = nil
        report(
            .advertisingEnded(
                number,
                advertisement.isLimited
                    ? nil : BLEError(.failed, "bluetoothd has ended the advertisement", isRetryable: true)))
        await advertisement.session.unexport(advertisement.export)
    }

    private static let advertisementInterface = InterfaceDescription(
        "org.bluez.LEAdvertisement1", .method("Release"), .property("Type", type: "s"),
        .property("ServiceUUIDs", type: "as"), .property("SolicitUUIDs", type: "as"),
        .property("ServiceData", type: "a{sv}"), .property("ManufacturerData", type: "a{qv}"),
        .property("LocalName", type: "s"), .property("Appearance", type: "q"), .property("Discoverable", type: "b"),
        .property("DiscoverableTimeout", type: "q"), .property("Timeout", type: "q"),
        .property("Includes", type: "as"), .property("MinInterval", type: "u"), .property("MaxInterval", type: "u"),
        .property("TxPower", type: "n"), .property("SecondaryChannel", type: "s"), .property("Data", type: "a{yv}"),
        .property("ScanResponseServiceUUIDs", type: "as"), .property("ScanResponseSolicitUUIDs", type: "as"),
        .property("ScanResponseServiceData", type: "a{sv}"), .property("ScanResponseManufacturerData", type: "a{qv}"),
        .property("ScanResponseData", type: "a{yv}"))

    /// Returns the object's properties (BlueZ's `doc/org.bluez.LEAdvertisement.rst`). Absent properties are nil,
    /// because bluetoothd does not accept every property as empty or zero.
    static func properties(of parameters: AdvertisingParameters) -> [String: DBusValue] {
        var properties: [String: DBusValue] = ["Type": .string(parameters.isConnectable ? "peripheral" : "broadcast")]
        properties["ServiceUUIDs"] = value(parameters.serviceUUIDs)
        properties["SolicitUUIDs"] = value(parameters.solicitedServiceUUIDs)
        properties["ServiceData"] = value(parameters.serviceData)
        properties["ManufacturerData"] = value(parameters.manufacturerData)
        properties["Data"] = value(parameters.structures)
        let response = parameters.scanResponse
        properties["ScanResponseServiceUUIDs"] = value(response.serviceUUIDs)
        properties["ScanResponseSolicitUUIDs"] = value(response.solicitedServiceUUIDs)
        properties["ScanResponseServiceData"] = value(response.serviceData)
        properties["ScanResponseManufacturerData"] = value(response.manufacturerData)
        properties["ScanResponseData"] = value(response.structures)
        if let name = parameters.localName, !name.isEmpty { properties["LocalName"] = .string(name) }
        properties["Appearance"] = parameters.appearance.map { .uint16($0.rawValue) }
        properties["Discoverable"] = parameters.isDiscoverable.map { .boolean($0) }
        properties["DiscoverableTimeout"] = parameters.discoverableDuration.map { .uint16(seconds($0)) }
        properties["Timeout"] = parameters.duration.map { .uint16(seconds($0)) }
        if parameters.includesTxPower { properties["Includes"] = .strings(["tx-power"]) }
        if let interval = parameters.interval {
            properties["MinInterval"] = .uint32(milliseconds(interval.lowerBound))
            properties["MaxInterval"] = .uint32(milliseconds(interval.upperBound))
        }
        properties["TxPower"] = parameters.txPower.map { .int16(Int16(clamping: $0)) }
        properties["SecondaryChannel"] = parameters.secondaryPHY.map { phy in
            switch phy {
            case .le1M: .string("1M")
            case .le2M: .string("2M")
            case .coded: .string("Coded")
            }
        }
        return properties
    }

    private static func value(_ uuids: [BluetoothUUID]) -> DBusValue? {
        uuids.isEmpty ? nil : .strings(uuids.map(\.fullDescription))
    }

    private static func value(_ serviceData: [BluetoothUUID: [UInt8]]) -> DBusValue? {
        guard !serviceData.isEmpty else { return nil }
        return .options(Dictionary(serviceData.map { ($0.key.fullDescription, .bytes($0.value)) }) { $1 })
    }

    private static func value(_ manufacturerData: [UInt16: [UInt8]]) -> DBusValue? {
        guard !manufacturerData.isEmpty else { return nil }
        return .dictionary(
            key: "q", value: "v",
            Dictionary(uniqueKeysWithValues: manufacturerData.map { (.uint16($0.key), .variant(.bytes($0.value))) }))
    }

    private static func value(_ structures: [AdvertisingStructure]) -> DBusValue? {
        guard !structures.isEmpty else { return nil }
        return .dictionary(
            key: "y", value: "v",
            Dictionary(structures.map { (.byte($0.type), .variant(.bytes($0.bytes))) }) { $1 })
    }

    private static func seconds(_ duration: Duration) -> UInt16 { UInt16(clamping: duration.components.seconds) }

    private static func milliseconds(_ duration: Duration) -> UInt32 {
        let (seconds, attoseconds) = duration.components
        return UInt32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}
