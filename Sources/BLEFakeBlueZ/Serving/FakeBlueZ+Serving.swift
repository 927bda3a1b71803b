import BLE
import BLEBlueZ
import BLESimulation
import DBus
import Logging
import Loop
import Synchronization

/// The clients' served objects and advertisements, as a peripheral of the radio.
///
/// `register_app` and `register_advertisement` of the daemon fetch the objects while the client waits for the answer,
/// and call them for each request.
final class FakeServing {
    struct Application {
        let client: String
        let root: String
        /// Whether its registration has ended, with success.
        var isRegistered = false
        /// The paths of attributes.
        var paths: [ServedAttribute: String] = [:]
        /// The characteristics that only indicate.
        var indicating: Set<ServedAttribute> = []
        /// Those whose writes are acknowledged before the client has answered (`chrc_write_cb`).
        var hasCommands: Set<ServedAttribute> = []
        /// Those that are asked before the parts of a long write are taken.
        var authorizing: Set<ServedAttribute> = []
        /// Those with the property `NotifyAcquired`.
        var acquiring: Set<ServedAttribute> = []
        /// The subscribers.
        var subscribers: [ServedAttribute: Set<Peripheral.ID>] = [:]
        /// The sockets of subscribers.
        var sockets: [ServedAttribute: [Peripheral.ID: PacketSocket]] = [:]
    }

    /// A value of a client, on its way to the radio.
    enum Value {
        /// To all subscribers. From a client, by its bus name.
        case signal([UInt8], path: String, client: String)
        /// Over the socket of one.
        case packet([UInt8], ServedAttribute, Peripheral.ID)
    }

    struct Advertisement {
        let client: String
        let path: String
        /// Whether its registration has ended, with success.
        var isRegistered = false
    }

    let backend: SimulatedPeripheralBackend
    /// The address at which it is found.
    var peripheral: Peripheral.ID?
    var applications: [Int: Application] = [:]
    var advertisements: [Int: Advertisement] = [:]
    private var last = 0

    init(_ backend: SimulatedPeripheralBackend) { self.backend = backend }

    func number() -> Int {
        last += 1
        return last
    }
}

extension FakeBlueZ {
    private static let advertisement = "org.bluez.LEAdvertisement1"

    /// How many applications and advertisements clients have registered.
    public var servedCounts: (applications: Int, advertisements: Int) {
        (
            serving?.applications.values.count { $0.isRegistered } ?? 0,
            serving?.advertisements.values.count { $0.isRegistered } ?? 0
        )
    }

    func exportServing() {
        export(adapterPath, Interfaces.gattManager) { daemon, call in await daemon.gattManagerCall(call) }
        export(adapterPath, Interfaces.advertisingManager) { daemon, call in
            await daemon.advertisingManagerCall(call)
        } property: { name in
            Self.advertisingManager[name]
        }
    }

    /// The radio's peripheral for served objects, from the first registration on.
    func startedServing() async throws(BLEError) -> FakeServing {
        if let serving { return serving }
        let new = FakeServing(.simulated(radio, adapter: name))
        serving = new
        // Instead of capturing `self`, so that requests stay on the radio's executor, and in order.
        weak let daemon = self
        do throws(BLEError) {
            try await new.backend.start(
                PeripheralContext(
                    handleEvent: { [weak self] event in self?.assumeIsolated { $0.handle(event) } },
                    read: { (attribute, request) throws(ATTError) in
                        try await daemon?.readServed(attribute, request) ?? []
                    },
                    write: { (attribute, value, request) throws(ATTError) in
                        try await daemon?.writeServed(value, to: attribute, request)
                    }, logger: Logger(label: "fake"), clock: radio.clock))
            new.peripheral = await new.backend.peripheral
            try await publishListeners(on: new.backend)
            return new
        } catch {
            // The adapter is out: the next registration begins anew.
            if self.serving === new { self.serving = nil }
            await new.backend.shutDown()
            throw error
        }
    }

    /// The daemon has ended, and with it everything that was registered.
    func endServing() async {
        guard let serving else { return }
        self.serving = nil
        for application in serving.applications.values { closeSockets(of: application) }
        await serving.backend.shutDown()
    }

    /// A client has left the bus.
    func endServing(of client: String) async {
        guard let serving else { return }
        for (number, application) in serving.applications where application.client == client {
            serving.applications[number] = nil
            closeSockets(of: application)
            await serving.backend.unregister(number)
        }
        for (number, advertisement) in serving.advertisements where advertisement.client == client {
            serving.advertisements[number] = nil
            await serving.backend.stopAdvertising(number)
        }
    }

    /// Ends all advertisements, as the daemon does when the kernel drops them.
    public func releaseAdvertisements() async {
        guard let serving else { return }
        for (number, advertisement) in serving.advertisements where advertisement.isRegistered {
            serving.advertisements[number] = nil
            await serving.backend.stopAdvertising(number)
            _ = await callClient(MethodCall(advertisement.client, advertisement.path, Self.advertisement, "Release"))
        }
    }

    // MARK: GattManager1

    private func gattManagerCall(_ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        guard let root = call.arguments.first?.string else {
            return .failure(.bluez("InvalidArguments", "Invalid arguments in method call"))
        }
        do throws(BLEError) {
            let serving = try await startedServing()
            let registered = serving.applications.first { $0.value.root == root && $0.value.client == call.sender }
            guard call.method == "RegisterApplication" else {
                guard let number = registered?.key else { return .failure(.bluez("DoesNotExist", "Does Not Exist")) }
                if let ended = serving.applications.removeValue(forKey: number) { closeSockets(of: ended) }
                await serving.backend.unregister(number)
                return .success(MethodReply())
            }
            guard registered == nil else { return .failure(.bluez("AlreadyExists", "Already Exists")) }
            // It has its place from now on: the client may leave at any moment, or call again.
            let number = serving.number()
            var application = FakeServing.Application(client: call.sender, root: root)
            serving.applications[number] = application
            do throws(BLEError) {
                let reply = await callClient(MethodCall(call.sender, root, BlueZ.objectManager, "GetManagedObjects"))
                guard case .dictionary(_, _, let objects)? = reply?.values.first else {
                    throw BLEError(.failed, "No object received")
                }
                let services = Self.services(objects, number, &application)
                guard !services.isEmpty else { throw BLEError(.failed, "No object received") }
                let rule =
                    "type='signal',sender='\(call.sender)',interface='\(BlueZ.properties)',path_namespace='\(root)'"
                try? await session?.listen(rule, timeout: timeouts.call)
                guard serving.applications[number] != nil else { throw BLEError(.failed, "the client has left") }
                serving.applications[number] = application
                try await serving.backend.register(services, as: number)
            } catch {
                serving.applications[number] = nil
                throw error
            }
            guard serving.applications[number] != nil else {
                await serving.backend.unregister(number)
                return .failure(.bluez("Failed", "the client has left"))
            }
            serving.applications[number]?.isRegistered = true
            return .success(MethodReply())
        } catch {
            return .failure(.bluez("Failed", error.message))
        }
    }

    /// The services that objects describe, in the order of their paths, which is that of their handles.
    private static func services(
        _ objects: [DBusValue: DBusValue], _ number: Int, _ application: inout FakeServing.Application
    ) -> [ServiceDefinition] {
        // In the order of their paths, by the paths of their parents; without a parent, all.
        func grouped(_ interface: String, by parent: String?) -> [String: [(String, DBusValue)]] {
            let found = objects.compactMap { path, interfaces -> (String, DBusValue)? in
                guard let path = path.string, let properties = interfaces[key: interface] else { return nil }
                return (path, properties)
            }.sorted { $0.0 < $1.0 }
            guard let parent else { return ["": found] }
            return Dictionary(grouping: found) { $0.1[key: parent]?.string ?? "" }
        }
        let characteristicsByParent = grouped(BlueZ.gattCharacteristic, by: "Service")
        let descriptorsByParent = grouped(BlueZ.gattDescriptor, by: "Characteristic")
        func type(_ properties: DBusValue) -> BluetoothUUID {
            properties[key: "UUID"]?.string.flatMap { BluetoothUUID($0) } ?? BluetoothUUID(0)
        }
        let all = grouped(BlueZ.gattService, by: nil)[""] ?? []
        var services: [ServiceDefinition] = []
        for (position, service) in all.enumerated() {
            var characteristics: [CharacteristicDefinition] = []
            for (index, characteristic) in (characteristicsByParent[service.0] ?? []).enumerated() {
                let attribute = ServedAttribute(application: number, service: position, characteristic: index)
                application.paths[attribute] = characteristic.0
                let flags = characteristic.1[key: "Flags"]?.elements?.compactMap(\.string) ?? []
                if flags.contains("indicate"), !flags.contains("notify") { application.indicating.insert(attribute) }
                if flags.contains("write-without-response") { application.hasCommands.insert(attribute) }
                if characteristic.1[key: "NotifyAcquired"] != nil { application.acquiring.insert(attribute) }
                if flags.contains("authorize") { application.authorizing.insert(attribute) }
                var descriptors: [DescriptorDefinition] = []
                for (place, descriptor) in (descriptorsByParent[characteristic.0] ?? []).enumerated() {
                    var own = attribute
                    own.descriptor = place
                    application.paths[own] = descriptor.0
                    descriptors.append(DescriptorDefinition(type(descriptor.1)))
                }
                characteristics.append(
                    CharacteristicDefinition(
                        type(characteristic.1), properties(flags), security: security(flags), descriptors: descriptors))
            }
            let includes = service.1[key: "Includes"]?.elements?.compactMap(\.string) ?? []
            services.append(
                ServiceDefinition(
                    type(service.1), handle: service.1[key: "Handle"]?.integer.flatMap { UInt16(exactly: $0) },
                    isPrimary: service.1[key: "Primary"]?.boolean ?? true,
                    // Services that are not in the database yet are left out (`include_services`).
                    includes: all.prefix(position).filter { includes.contains($0.0) }.map { type($0.1) },
                    characteristics: characteristics))
        }
        return services
    }

    private static func properties(_ flags: [String]) -> CharacteristicProperties {
        let names: [String: CharacteristicProperties] = [
            "broadcast": .broadcast, "read": .read, "write-without-response": .writeWithoutResponse, "write": .write,
            "notify": .notify, "indicate": .indicate, "reliable-write": .reliableWrite,
            "writable-auxiliaries": .writableAuxiliaries,
        ]
        return flags.reduce(into: []) { $0.formUnion(names[$1] ?? []) }
    }

    private static func security(_ flags: [String]) -> AttributeSecurity {
        if flags.contains(where: { $0.hasPrefix("encrypt-authenticated") }) { return .authenticated }
        return flags.contains { $0.hasPrefix("encrypt") } ? .encrypted : .open
    }

    // MARK: Requests

    func options(_ request: AttributeRequest) -> DBusValue {
        var options: [String: DBusValue] = [
            "device": .objectPath(path(of: request.central)), "link": .string("LE"),
            "mtu": .uint16(UInt16(clamping: request.attMTU ?? 23)),
        ]
        // Present only if it is not 0.
        if request.isPrepared { options["prepare-authorize"] = .boolean(true) }
        if request.offset > 0 { options["offset"] = .uint16(UInt16(request.offset)) }
        return .options(options)
    }

    private func path(of central: Peripheral.ID) -> String {
        FakeDevice.path(of: central, onAdapter: adapterPath)
    }

    func called(
        _ attribute: ServedAttribute, _ method: String, _ arguments: [DBusValue]
    ) async throws(ATTError) -> MethodReply {
        guard let application = serving?.applications[attribute.application], let path = application.paths[attribute],
            let session
        else { throw .unlikelyError }
        let interface = attribute.descriptor == nil ? BlueZ.gattCharacteristic : BlueZ.gattDescriptor
        do throws(DBusError) {
            return try await session.call(
                MethodCall(application.client, path, interface, method, arguments), timeout: timeouts.request)
        } catch {
            throw Self.attError(error)
        }
    }

    /// The code that the daemon sends for an error (`dbus_error_to_att_ecode` in its `src/gatt-database.c`).
    private static func attError(_ error: DBusError) -> ATTError {
        switch error.name {
        case "org.bluez.Error.Failed":
            guard error.message.hasPrefix("0x"), let code = Int(error.message.dropFirst(2), radix: 16) else {
                return ATTError(rawValue: 0x80)
            }
            return (0x80...0x9F).contains(code) ? ATTError(rawValue: UInt8(code)) : .unlikelyError
        case "org.bluez.Error.NotSupported": return .requestNotSupported
        case "org.bluez.Error.NotAuthorized": return .insufficientAuthorization
        case "org.bluez.Error.InvalidValueLength": return .invalidAttributeValueLength
        case "org.bluez.Error.InvalidOffset": return .invalidOffset
        case "org.bluez.Error.InProgress": return .procedureInProgress
        case "org.bluez.Error.NotPermitted": return .readNotPermitted
        case "org.bluez.Error.ImproperlyConfigured": return .improperlyConfigured
        default: return .unlikelyError
        }
    }

    /// A read, in parts as the central asks for them: one packet each, until one is not full.
    private func readServed(
        _ attribute: ServedAttribute, _ request: AttributeRequest
    ) async throws(ATTError) -> [UInt8] {
        let length = (request.attMTU ?? 23) - 1
        var value: [UInt8] = []
        while true {
            var part = request
            part.offset = value.count
            let reply = try await called(attribute, "ReadValue", [options(part)])
            let bytes = (reply.values.first?.bytes ?? []).prefix(length)
            value += bytes
            if bytes.count < length || value.count >= 512 { return value }
        }
    }

    private func writeServed(
        _ value: [UInt8], to attribute: ServedAttribute, _ request: AttributeRequest
    ) async throws(ATTError) {
        // Before 5.69, the bytes before the value in a packet count, too (`check_length` in its
        // `src/shared/gatt-server.c`).
        let isLong = value.count > (request.attMTU ?? 23) - 3
        guard minorVersion >= 69 || value.count <= (isLong ? 508 : 510) else { throw .invalidAttributeValueLength }
        let application = serving?.applications[attribute.application]
        if application?.authorizing.contains(attribute) == true, isLong {
            var prepared = request
            prepared.isPrepared = true
            _ = try await called(attribute, "WriteValue", [.bytes([]), options(prepared)])
        }
        do throws(ATTError) {
            _ = try await called(attribute, "WriteValue", [.bytes(value), options(request)])
        } catch {
            if serving?.applications[attribute.application]?.hasCommands.contains(attribute) != true { throw error }
        }
    }

    // MARK: Subscriptions and centrals

    private func handle(_ event: PeripheralBackendEvent) {
        switch event {
        // Begun at once, so that the client is called before the central's next request reaches it.
        case .subscribed(let attribute, let central?, let attMTU):
            Task.immediate { await self.subscribed(attribute, central, attMTU) }
        case .unsubscribed(let attribute, let central?):
            Task.immediate { await self.unsubscribed(attribute, central) }
        case .centralConnected(let central): centralChanged(central, isConnected: true)
        case .centralDisconnected(let central):
            closeSockets(of: central)
            centralChanged(central, isConnected: false)
        case .advertisingEnded(let number, _):
            guard let ended = serving?.advertisements.removeValue(forKey: number) else { return }
            Task { _ = await self.callClient(MethodCall(ended.client, ended.path, Self.advertisement, "Release")) }
        default: break
        }
    }

    private func subscribed(_ attribute: ServedAttribute, _ central: Peripheral.ID, _ attMTU: Int?) async {
        if await acquired(attribute, central, attMTU) { return }
        serving?.applications[attribute.application]?.subscribers[attribute, default: []].insert(central)
        // Called for each central, without its address, as observed with 5.66; `StopNotify` is called for the last one
        // only.
        _ = try? await called(attribute, "StartNotify", [])
    }

    private func unsubscribed(_ attribute: ServedAttribute, _ central: Peripheral.ID) async {
        if closeSocket(of: central, attribute) { return }
        serving?.applications[attribute.application]?.subscribers[attribute]?.remove(central)
        let set = serving?.applications[attribute.application]?.subscribers[attribute] ?? []
        if set.isEmpty { _ = try? await called(attribute, "StopNotify", []) }
    }

    /// The link of a central has begun or ended.
    func centralChanged(_ central: Peripheral.ID, isConnected: Bool) {
        if devices[central] != nil {
            devices[central]?.isConnected = isConnected
            return changed(path(of: central), BlueZ.device, ["Connected": .boolean(isConnected)])
        }
        guard isConnected else { return }
        var device = FakeDevice(id: central, advertisement: BLE.Advertisement(), adapter: adapterPath)
        device.isInRange = false
        device.isConnected = isConnected
        show(device)
    }

    /// A client's signal that a value has changed, on the bus thread.
    nonisolated func clientChanged(_ message: IncomingMessage) {
        let path = message.path.string
        var body = message.body
        guard (try? body.string()) == BlueZ.gattCharacteristic else { return }
        var value: [UInt8]?
        try? body.forEachProperty { (name, reader) throws(DBusError) in
            if name.string == "Value" { value = try? reader.bytes() }
        }
        guard let value else { return }
        signaledValues.withLock { values in
            if values.count >= 10_000 { values.removeFirst(values.count / 2) }
            values.append(value)
        }
        let signal = FakeServing.Value.signal(value, path: path, client: message.sender.string)
        for adapter in [self] + publishedOthers.withLock(\.self) { adapter.valueArrived(signal) }
    }

    /// A client has signaled a value, or written it to a socket. On the bus thread.
    nonisolated func valueArrived(_ value: FakeServing.Value) {
        arrivedValues.withLock { $0.append(value) }
        Task { await self.sendValues() }
    }

    private func sendValues() async {
        // One task sends them all, in the order of their arrival, as the daemon's loop does.
        guard !isSendingValues else { return }
        isSendingValues = true
        defer { isSendingValues = false }
        while let next = arrivedValues.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            guard let serving else { continue }
            guard case .signal(let value, let path, let client) = next else {
                if case .packet(let packet, let attribute, let central) = next {
                    if serving.applications[attribute.application]?.indicating.contains(attribute) == true {
                        // This send waits for its confirmation, and other values do not wait for it.
                        Task { await self.send(packet, from: attribute, to: central) }
                    } else {
                        await send(packet, from: attribute, to: central)
                    }
                }
                continue
            }
            for (_, application) in serving.applications where application.client == client {
                for (attribute, own) in application.paths where own == path {
                    try? await serving.backend.notify(value, from: attribute, to: nil)
                    guard application.indicating.contains(attribute), confirmsSignals else { continue }
                    Task { _ = try? await self.called(attribute, "Confirm", []) }
                }
            }
        }
    }

    // MARK: LEAdvertisingManager1

    private func advertisingManagerCall(_ call: IncomingCall) async -> Result<MethodReply, DBusError> {
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
                return .success(MethodReply())
            }
            guard registered == nil else { return .failure(.bluez("AlreadyExists", "Already Exists")) }
            // It has its place from now on, as an application has.
            let number = serving.number()
            serving.advertisements[number] = FakeServing.Advertisement(client: call.sender, path: path)
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
