import BLE
import BLEBlueZ
import BLESimulation
import DBus

/// The applications of clients, by the rules of the daemon's `src/gatt-database.c`: their registration, and the
/// requests of centrals.
extension FakeBlueZ {
    // MARK: GattManager1

    func gattManagerCall(_ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        guard let root = call.arguments.first?.string else {
            return .failure(.bluez("InvalidArguments", "Invalid arguments in method call"))
        }
        do throws(BLEError) {
            let serving = try await startedServing()
            let registered = serving.applications.first { $0.value.root == root && $0.value.client == call.sender }
            guard call.method == "RegisterApplication" else {
                guard let number = registered?.key else { return .failure(.bluez("DoesNotExist", "Does Not Exist")) }
                if let ended = serving.applications.removeValue(forKey: number) { self.ended(ended) }
                await serving.backend.unregister(number)
                showServing()
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
                guard serving.applications[number] != nil else { throw BLEError(.failed, "the client has left") }
                application.isHeard = true
                application.services = services.map(\.uuid)
                serving.applications[number] = application
                try? await session?.listen(Self.rule(for: application), timeout: timeouts.call)
                guard serving.applications[number] != nil else { throw BLEError(.failed, "the client has left") }
                try await serving.backend.register(services, as: number)
            } catch {
                if let failed = serving.applications.removeValue(forKey: number) { ended(failed) }
                throw error
            }
            guard serving.applications[number] != nil else {
                await serving.backend.unregister(number)
                return .failure(.bluez("Failed", "the client has left"))
            }
            serving.applications[number]?.isRegistered = true
            showServing()
            return .success(MethodReply())
        } catch {
            return .failure(.bluez("Failed", error.message))
        }
    }

    /// The match rule for the values that an application signals.
    private static func rule(for application: FakeServing.Application) -> String {
        "type='signal',sender='\(application.client)',interface='\(BlueZ.properties)',"
            + "path_namespace='\(application.root)'"
    }

    /// An application is no longer served.
    func ended(_ application: FakeServing.Application) {
        for socket in application.sockets.values.flatMap(\.values) { close(socket) }
        guard application.isHeard else { return }
        Task { try? await session?.stopListening(Self.rule(for: application), timeout: timeouts.call) }
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
                application.add(attribute, at: characteristic.0)
                let flags = characteristic.1[key: "Flags"]?.elements?.compactMap(\.string) ?? []
                if flags.contains("indicate"), !flags.contains("notify") { application.indicating.insert(attribute) }
                if flags.contains("write-without-response") { application.hasCommands.insert(attribute) }
                if characteristic.1[key: "NotifyAcquired"] != nil { application.acquiring.insert(attribute) }
                if flags.contains("authorize") { application.authorizing.insert(attribute) }
                var descriptors: [DescriptorDefinition] = []
                for (place, descriptor) in (descriptorsByParent[characteristic.0] ?? []).enumerated() {
                    var own = attribute
                    own.descriptor = place
                    application.add(own, at: descriptor.0)
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

    func path(of central: Peripheral.ID) -> String {
        devices[central]?.path ?? FakeDevice.path(of: central, onAdapter: adapterPath)
    }

    /// Calls a client's object, and returns its answer.
    func called(
        _ attribute: ServedAttribute, _ method: String, _ arguments: [DBusValue]
    ) async throws(ATTError) -> MethodReply {
        let (session, call) = try call(attribute, method, arguments)
        do throws(DBusError) {
            return try await session.call(call, timeout: timeouts.request)
        } catch {
            throw Self.attError(error)
        }
    }

    /// Calls a client's object without waiting for an answer.
    func tell(
        _ attribute: ServedAttribute, _ method: String, _ arguments: [DBusValue]
    ) async throws(ATTError) {
        let (session, call) = try call(attribute, method, arguments)
        do throws(DBusError) { try await session.send(call) } catch { throw Self.attError(error) }
    }

    private func call(
        _ attribute: ServedAttribute, _ method: String, _ arguments: [DBusValue]
    ) throws(ATTError) -> (BusSession, MethodCall) {
        guard let application = serving?.applications[attribute.application], let path = application.paths[attribute],
            let session
        else { throw .unlikelyError }
        let interface = attribute.descriptor == nil ? BlueZ.gattCharacteristic : BlueZ.gattDescriptor
        return (session, MethodCall(application.client, path, interface, method, arguments))
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
    func readServed(
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

    func writeServed(
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
        guard application?.hasCommands.contains(attribute) == true else {
            _ = try await called(attribute, "WriteValue", [.bytes(value), options(request)])
            return
        }
        // Such a write is passed on, and nothing waits for it: the values for which the client has no time are in the
        // bus, which drops them beyond its limit (`chrc_write_cb`, and `g_dbus_proxy_method_call` without a function).
        try await tell(attribute, "WriteValue", [.bytes(value), options(request)])
    }
}
