public import BLE
internal import DBus
internal import Synchronization
internal import Waiting

/// An application's objects on the bus.
struct BlueZApplication {
    let root: String
    /// The adapter that it is registered with.
    let adapter: String
    let objects: ObjectServer
    /// Whether each subscriber has a socket.
    let givesSockets: Bool
    /// The position of each service among the objects, by its position in the definition.
    var places: [Int] = []
    /// The characteristics that indicate.
    var indicating: Set<ServedAttribute> = []
    /// The characteristics that do not notify, so that each value is confirmed.
    var onlyIndicating: Set<ServedAttribute> = []
    /// Whether the registration is about to end. Nothing more is sent to subscribers with sockets.
    var isEnding = false
    /// The fences of characteristics whose subscribers have sockets.
    var fences: [ServedAttribute: SignalFence] = [:]
    /// The emitters of characteristics that have sent a value.
    var emitters: [ServedAttribute: PropertyEmitter] = [:]
}

extension BlueZPeripheral {
    /// Serves the services as objects, and registers them.
    public func register(_ services: [ServiceDefinition], as application: Int) async throws(BLEError) {
        let root = newPath("application")
        let session = try await stack.openBusSession()
        let givesSockets = objects.adapters[adapterPath]?.version.map { $0 >= Self.firstVersionWithSockets } ?? false
        tellsSubscribersApart.store(givesSockets, ordering: .relaxed)
        let served = BlueZApplication(
            root: root, adapter: adapterPath, objects: ObjectServer(session, root: root), givesSockets: givesSockets)
        applications[application] = served
        do throws(BLEError) {
            do throws(DBusError) {
                try await add(services, application, served)
                try await served.objects.start()
            } catch {
                throw BLEError(error, during: .serving)
            }
            try await register(BlueZ.gattManager, "RegisterApplication", root)
        } catch {
            if applications[application]?.root == root { applications[application] = nil }
            // A refused or cancelled registration may have succeeded after all.
            await Task { await end(served) }.value
            throw error
        }
        // bluetoothd may have stopped meanwhile, or the application may have ended.
        guard applications[application]?.root == root else {
            await end(served)
            throw .lost("bluetoothd has stopped")
        }
    }

    /// Ends the registration, and stops serving the objects.
    public func unregister(_ application: Int) async {
        applications[application]?.isEnding = true
        await awaitConfirmations(of: application)
        guard let served = applications.removeValue(forKey: application) else { return }
        endSubscribers(BLEError(.disconnected, "the service is no longer served"), of: application)
        await end(served)
    }

    private func end(_ application: BlueZApplication) async {
        _ = try? await stack.call(
            BlueZ.call(
                application.adapter, BlueZ.gattManager, "UnregisterApplication", .objectPath(application.root)),
            during: .serving)
        await application.objects.stop()
    }

    // MARK: Objects

    /// Adds the objects of the services. bluetoothd assigns handles in their order, and a service can include only
    /// those before it (`include_services` in its `src/gatt-database.c`).
    private func add(
        _ services: [ServiceDefinition], _ application: Int, _ served: BlueZApplication
    ) async throws(DBusError) {
        let order = services.inclusionOrder ?? Array(services.indices)
        var places = order
        for (place, position) in order.enumerated() { places[position] = place }
        applications[application]?.places = places
        let paths = places.map { "\(served.root)/service\(Self.digits($0))" }
        let positions = Dictionary(services.enumerated().map { ($1.uuid, $0) }) { first, _ in first }
        var added = 0
        for position in order {
            let (service, path) = (services[position], paths[position])
            let included = service.includes.compactMap { positions[$0] }
            try await served.objects.add(
                path,
                [
                    ObjectServer.Interface(Self.serviceInterface) { name in
                        switch name {
                        case "UUID": .string(service.uuid.fullDescription)
                        case "Primary": .boolean(service.isPrimary)
                        // Absent if bluetoothd chooses the handle. It would use a 0 as the handle.
                        case "Handle": service.handle.map { .uint16($0) }
                        case "Includes":
                            included.isEmpty
                                ? nil : .array(element: "o", included.sorted().map { .objectPath(paths[$0]) })
                        default: nil
                        }
                    }
                ])
            for (index, characteristic) in service.characteristics.enumerated() {
                let attribute = ServedAttribute(application: application, service: position, characteristic: index)
                // There may be tens of thousands of characteristics, and the loop has other work.
                added += 1
                if added % Self.objectsPerTurn == 0 { await Task.yield() }
                try await add(characteristic, attribute, "\(path)/char\(Self.digits(index))", path, served.objects)
            }
        }
    }

    /// The number of characteristics to add before the loop does its other work.
    private static let objectsPerTurn = 32

    private func add(
        _ characteristic: CharacteristicDefinition, _ attribute: ServedAttribute, _ path: String, _ service: String,
        _ objects: ObjectServer
    ) async throws(DBusError) {
        let flags = BlueZFlags.characteristic(characteristic)
        // The handlers do not capture `self`, because a call would then leave the loop.
        weak let peripheral = self
        if characteristic.properties.contains(.indicate) {
            applications[attribute.application]?.indicating.insert(attribute)
            if !characteristic.properties.contains(.notify) {
                applications[attribute.application]?.onlyIndicating.insert(attribute)
            }
        }
        let sends = !characteristic.properties.isDisjoint(with: [.notify, .indicate])
        let givesSockets = sends && applications[attribute.application]?.givesSockets == true
        try await objects.add(
            path,
            [
                ObjectServer.Interface(Self.characteristicInterface) { name in
                    switch name {
                    case "UUID": .string(characteristic.uuid.fullDescription)
                    case "Service": .objectPath(service)
                    case "Flags": .strings(flags)
                    // bluetoothd requests sockets for a characteristic with this property.
                    case "NotifyAcquired": givesSockets ? .boolean(false) : nil
                    default: nil
                    }
                } receive: { call in
                    // The end of the link may have been received together with the call, and would be handled before
                    // the answer begins.
                    let link = peripheral?.enter({ $0.link(of: call) }) ?? nil
                    return {
                        await peripheral?.answer(call, attribute, characteristic, link) ?? .failure(Self.gone)
                    }
                }
            ])
        for (position, descriptor) in characteristic.descriptors.enumerated() {
            var place = attribute
            place.descriptor = position
            let attribute = place
            try await objects.add(
                "\(path)/desc\(Self.digits(position))",
                [
                    ObjectServer.Interface(Self.descriptorInterface) { name in
                        switch name {
                        case "UUID": .string(descriptor.uuid.fullDescription)
                        case "Characteristic": .objectPath(path)
                        case "Flags":
                            .strings(BlueZFlags.descriptor(characteristic.security, isWritable: descriptor.isWritable))
                        default: nil
                        }
                    } receive: { call in
                        let link = peripheral?.enter({ $0.link(of: call) }) ?? nil
                        return {
                            await peripheral?.answer(call, attribute, characteristic, link) ?? .failure(Self.gone)
                        }
                    }
                ])
        }
    }

    /// Returns a number with four digits, so that paths are in order, too.
    private static func digits(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    private static let gone = DBusError.remote("org.bluez.Error.Failed", "gone")

    private static let serviceInterface = InterfaceDescription(
        BlueZ.gattService, .property("UUID", type: "s"), .property("Primary", type: "b"),
        .property("Handle", type: "q"),
        .property("Includes", type: "ao"))
    private static let characteristicInterface = InterfaceDescription(
        BlueZ.gattCharacteristic, .property("UUID", type: "s"), .property("Service", type: "o"),
        .property("Flags", type: "as"), .property("Value", type: "ay"), .property("NotifyAcquired", type: "b"),
        .method("AcquireNotify", takes: "a{sv}", returns: "hq"), .method("ReadValue", takes: "a{sv}", returns: "ay"),
        .method("WriteValue", takes: "aya{sv}"),
        .method("StartNotify"), .method("StopNotify"), .method("Confirm"))
    private static let descriptorInterface = InterfaceDescription(
        BlueZ.gattDescriptor, .property("UUID", type: "s"), .property("Characteristic", type: "o"),
        .property("Flags", type: "as"),
        .method("ReadValue", takes: "a{sv}", returns: "ay"), .method("WriteValue", takes: "aya{sv}"))

    // MARK: Requests

    private func answer(
        _ call: IncomingCall, _ attribute: ServedAttribute, _ characteristic: CharacteristicDefinition,
        _ link: CentralLink?
    ) async -> Result<MethodReply, DBusError> {
        guard let context else { return .failure(Self.gone) }
        if let path = call.arguments.last?[key: "device"]?.string { checkLink(path) }
        do throws(ATTError) {
            switch call.method {
            case "ReadValue":
                let request = Self.request(call.arguments.first, nil, link)
                return .success(MethodReply([.bytes(try await context.read(attribute, request))]))
            case "WriteValue":
                let request = Self.request(call.arguments.last, Self.writeType(characteristic), link)
                try await context.write(attribute, call.arguments.first?.bytes ?? [], request)
            case "AcquireNotify":
                return acquireNotify(Self.request(call.arguments.first, nil, link), attribute)
            case "StartNotify":
                guard applications[attribute.application] != nil else { return .failure(Self.gone) }
                report(.subscribed(attribute, central: nil, attMTU: nil))
            case "StopNotify": subscribersWithoutSocketEnded(attribute)
            case "Confirm": confirmed(by: nil, attribute)
            default: return .failure(.remote("org.freedesktop.DBus.Error.UnknownMethod", call.method))
            }
            return .success(MethodReply())
        } catch {
            return .failure(DBusError(answering: error))
        }
    }

    /// Returns the request that the options of a call describe.
    static func request(
        _ options: DBusValue?, _ writeType: WriteType?, _ link: CentralLink? = nil
    ) -> AttributeRequest {
        AttributeRequest(
            central: DeviceID(devicePath: options?[key: "device"]?.string ?? ""),
            transport: transport(options?[key: "link"]?.string),
            attMTU: options?[key: "mtu"]?.integer.flatMap { (23...517).contains($0) ? $0 : nil },
            offset: options?[key: "offset"]?.integer ?? 0, writeType: writeType,
            isPrepared: options?[key: "prepare-authorize"]?.boolean ?? false, link: link)
    }

    private static func transport(_ link: String?) -> Transport? {
        switch link {
        case "LE": .le
        case "BR/EDR": .classic
        default: nil
        }
    }

    /// Returns the only type that a characteristic can be written with. bluetoothd does not report it.
    private static func writeType(_ characteristic: CharacteristicDefinition) -> WriteType? {
        switch characteristic.properties.intersection([.write, .writeWithoutResponse, .reliableWrite]) {
        case .write: .withResponse
        case .writeWithoutResponse: .withoutResponse
        default: nil
        }
    }

    // MARK: Signals

    /// Returns the emitter of a characteristic's values.
    func emitter(of attribute: ServedAttribute) -> PropertyEmitter? {
        guard let application = applications[attribute.application] else { return nil }
        if let known = application.emitters[attribute] { return known }
        guard application.places.indices.contains(attribute.service) else { return nil }
        let service = Self.digits(application.places[attribute.service])
        let path = "\(application.root)/service\(service)/char\(Self.digits(attribute.characteristic))"
        let session = onStack { try? $0.openSession() }
        let emitter = session?.assumeIsolated {
            try? $0.makeEmitter(path: path, interface: BlueZ.gattCharacteristic, property: "Value")
        }
        applications[attribute.application]?.emitters[attribute] = emitter
        return emitter
    }
}

/// The flags of attributes (BlueZ's `doc/org.bluez.GattCharacteristic.rst`).
enum BlueZFlags {
    private static let names: [(CharacteristicProperties, String)] = [
        (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "write-without-response"),
        (.write, "write"), (.notify, "notify"), (.indicate, "indicate"),
        (.authenticatedSignedWrites, "authenticated-signed-writes"), (.reliableWrite, "reliable-write"),
        (.writableAuxiliaries, "writable-auxiliaries"),
    ]

    static func characteristic(_ characteristic: CharacteristicDefinition) -> [String] {
        let properties = characteristic.properties
        var flags = names.filter { properties.contains($0.0) }.map(\.1)
        // bluetoothd asks before it takes the parts of a long write. Other requests arrive anyway.
        if characteristic.authorize != nil { flags.append("authorize") }
        guard let prefix = prefix(characteristic.security) else { return flags }
        // These flags add the requirement to the plain ones.
        if properties.contains(.read) { flags.append("\(prefix)-read") }
        if !properties.isDisjoint(with: [.write, .writeWithoutResponse, .reliableWrite]) {
            flags.append("\(prefix)-write")
        }
        if properties.contains(.notify) { flags.append("\(prefix)-notify") }
        if properties.contains(.indicate) { flags.append("\(prefix)-indicate") }
        return flags
    }

    static func descriptor(_ security: AttributeSecurity, isWritable: Bool) -> [String] {
        (isWritable ? ["read", "write"] : ["read"]).map { name in
            prefix(security).map { "\($0)-\(name)" } ?? name
        }
    }

    private static func prefix(_ security: AttributeSecurity) -> String? {
        switch security {
        case .open: nil
        case .encrypted: "encrypt"
        case .authenticated: "encrypt-authenticated"
        }
    }
}

extension DBusError {
    /// Creates the error that makes bluetoothd send an ATT error (`dbus_error_to_att_ecode` in its
    /// `src/gatt-database.c`). For codes that it cannot send, it sends `unlikelyError`.
    init(answering error: ATTError) {
        let (name, text): (String, String) =
            switch error {
            case .readNotPermitted, .writeNotPermitted: ("NotPermitted", "not permitted")
            case .requestNotSupported: ("NotSupported", "not supported")
            case .insufficientAuthorization: ("NotAuthorized", "not authorized")
            case .invalidAttributeValueLength: ("InvalidValueLength", "invalid length")
            case .invalidOffset: ("InvalidOffset", "invalid offset")
            case .procedureInProgress: ("InProgress", "in progress")
            case .improperlyConfigured: ("ImproperlyConfigured", "improperly configured")
            // A number is an application error; for a number outside of 0x80 to 0x9F, bluetoothd sends 0x0E.
            default: ("Failed", "0x\(Hex.string([error.rawValue]))")
            }
        self = .remote("org.bluez.Error.\(name)", text)
    }
}
