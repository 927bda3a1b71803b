import BLE
import Testing

extension ServingContract {
    func order() async throws {
        let first = ServiceDefinition(
            Self.service, characteristics: [Self.readable, Self.notifying, Self.readable])
        let second = ServiceDefinition(BluetoothUUID(0xFFF0), characteristics: [Self.readable])
        let definition = PeripheralDefinition(
            advertisement: Self.advertisement(),
            services: [first, second, ServiceDefinition(Self.service, characteristics: [Self.notifying])])
        try await withServed(definition) { _, _, remote in
            let own = try await remote.services().filter { [Self.service, second.uuid].contains($0.uuid) }
            #expect(own.map(\.uuid) == [Self.service, second.uuid, Self.service])
            #expect(own.first?.characteristics.map(\.uuid) == [Self.plain.uuid, Self.output.uuid, Self.plain.uuid])
            #expect(
                own.first?.characteristics.map(\.properties) == [[.read, .write], [.read, .notify], [.read, .write]])
            #expect(own.last?.characteristics.map(\.uuid) == [Self.output.uuid])
        }
    }

    func includes() async throws {
        let (inner, innermost, empty) = (BluetoothUUID(0xFFF0), BluetoothUUID(0xFFF1), BluetoothUUID(0xFFF2))
        // Each service includes a later one, and one has no characteristics.
        let definition = PeripheralDefinition(
            advertisement: Self.advertisement(),
            services: [
                ServiceDefinition(Self.service, includes: [inner], characteristics: [Self.readable]),
                ServiceDefinition(empty, characteristics: []),
                ServiceDefinition(inner, includes: [innermost], characteristics: [Self.notifying]),
                ServiceDefinition(innermost, characteristics: [Self.readable]),
            ])
        try await withServed(definition) { host, served, remote in
            let services = try await remote.services()
            func included(by type: BluetoothUUID) -> [BluetoothUUID] {
                let handles = services.first { $0.uuid == type }?.includedHandles ?? []
                return handles.compactMap { handle in services.first { $0.handle == handle }?.uuid }
            }
            #expect(included(by: Self.service) == [inner])
            #expect(included(by: inner) == [innermost])
            #expect(services.first { $0.uuid == empty }?.characteristics.isEmpty == true)
            // The attributes match the definition, independently of their handles.
            #expect(try await remote.read(Self.plain) == [1, 2, 3])
            var events = await host.events().makeAsyncIterator()
            let output = Characteristic<[UInt8]>(Self.output.uuid, service: inner)
            var values = try await remote.notifications(output).makeAsyncIterator()
            try await until(&events) { if case .subscribed = $0 { true } else { false } }
            try await served.notify([7], from: output)
            #expect(try await values.next() == [7])
        }
    }

    func storedValues() async throws {
        try await withServed(Self.definition(Self.readable)) { _, served, remote in
            #expect(try await remote.read(Self.plain) == [1, 2, 3])
            try await remote.write([4, 5], to: Self.plain)
            #expect(try await served.value(Self.plain) == [4, 5])
            #expect(try await remote.read(Self.plain) == [4, 5])
            try await served.setValue([6], of: Self.plain)
            #expect(try await remote.read(Self.plain) == [6])
            #expect(
                await error { _ = try await served.value(Self.output) }?.code == .characteristicNotFound)
        }
    }

    func whoAsks() async throws {
        let requests = Noted<[AttributeRequest]>([])
        let definition = Self.definition(
            CharacteristicDefinition(
                Self.handled.uuid, [.read, .write],
                onRead: { request in
                    await requests.change { $0.append(request) }
                    return [7]
                },
                onWrite: { _, request in await requests.change { $0.append(request) } }))
        try await withServed(definition) { host, _, remote in
            #expect(try await remote.read(Self.handled) == [7])
            try await remote.write([1], to: Self.handled)
            let seen = await requests.value
            #expect(seen.count == 2)
            #expect(Set(seen.map(\.central)) == (await host.connectedCentrals))
            #expect(seen.allSatisfy { $0.offset == 0 && !$0.isPrepared && $0.transport == .le })
            #expect(seen.allSatisfy { $0.attMTU.map { (23...517).contains($0) } ?? true })
        }
    }

    func authorization() async throws {
        let asked = Noted<[AttributeAccess]>([])
        let isAllowed = Noted(false)
        let definition = Self.definition(
            CharacteristicDefinition(
                Self.plain.uuid, [.read, .write], value: [1, 2, 3],
                authorize: { (access, _) throws(ATTError) in
                    await asked.change { $0.append(access) }
                    guard await isAllowed.value else { throw .insufficientAuthorization }
                }))
        try await withServed(definition) { _, served, remote in
            let long = [UInt8](repeating: 7, count: 500)
            var refused = await error { _ = try await remote.read(Self.plain) }
            #expect(refused?.attError == .insufficientAuthorization)
            refused = await error { try await remote.write([4], to: Self.plain) }
            #expect(refused?.attError == .insufficientAuthorization)
            #expect(await asked.value == [.read, .write])
            // The write is refused before its parts are sent.
            refused = await error { try await remote.write(long, to: Self.plain) }
            #expect(refused?.attError == .insufficientAuthorization)
            #expect(await asked.value == [.read, .write, .write])
            #expect(try await served.value(Self.plain) == [1, 2, 3])
            await isAllowed.change { $0 = true }
            try await remote.write(long, to: Self.plain)
            #expect(try await remote.read(Self.plain) == long)
        }
    }

    func fixedHandles() async throws {
        var definition = Self.definition(Self.readable, Self.notifying)
        definition.services[0].handle = 0x1230
        definition.services.append(ServiceDefinition(BluetoothUUID(0xFFF0), characteristics: [Self.readable]))
        for _ in 0..<2 {
            try await withServed(definition) { host, _, remote in
                let found = try await remote.services().first { $0.uuid == Self.service }
                #expect(found?.handle == 0x1230)
                #expect(found?.characteristics.map(\.handle) == [0x1231, 0x1233])
                #expect(try await remote.read(Self.plain) == [1, 2, 3])
                let overlapping = await error { try await host.serve(definition) }
                #expect(overlapping?.code == .invalidArgument)
            }
        }
    }

    /// The codes that every stack can send.
    private static let codes: [ATTError] = [
        .requestNotSupported, .invalidAttributeValueLength, .insufficientAuthorization, .procedureInProgress,
        ATTError(rawValue: 0x80), ATTError(rawValue: 0x9F),
    ]

    func rejections() async throws {
        let next = Noted(0)
        let rejection: @Sendable () async -> ATTError = {
            let index = await next.value
            await next.change { $0 += 1 }
            return Self.codes[index % Self.codes.count]
        }
        let definition = Self.definition(
            CharacteristicDefinition(
                Self.handled.uuid, [.read, .write],
                onRead: { (_) throws(ATTError) in throw await rejection() },
                onWrite: { (_, _) throws(ATTError) in throw await rejection() }))
        try await withServed(definition) { _, _, remote in
            for code in Self.codes {
                let refused = await error { _ = try await remote.read(Self.handled) }
                #expect(refused?.attError == code, "\(code): \(refused.map(String.init(describing:)) ?? "")")
            }
            for code in Self.codes {
                let refused = await error { try await remote.write([1], to: Self.handled) }
                #expect(refused?.attError == code, "\(code): \(refused.map(String.init(describing:)) ?? "")")
            }
        }
    }

    func rejectedWrites() async throws {
        // With both types, bluetoothd accepts a write before it asks (`chrc_write_cb` in its `src/gatt-database.c`),
        // and the rejection is lost.
        for (properties, isTold) in [([.read, .write], true), ([.read, .write, .writeWithoutResponse], false)]
            as [(CharacteristicProperties, Bool)]
        {
            let asked = Noted(0)
            let definition = Self.definition(
                CharacteristicDefinition(
                    Self.plain.uuid, properties, value: [1],
                    authorize: { (access, _) throws(ATTError) in
                        guard access == .write else { return }
                        await asked.change { $0 += 1 }
                        throw .insufficientAuthorization
                    }))
            try await withServed(definition) { _, _, remote in
                do {
                    try await remote.write([2], to: Self.plain)
                    #expect(!isTold)
                } catch let refused as BLEError {
                    #expect(refused.attError == .insufficientAuthorization)
                }
                try await asked.until { $0 == 1 }
                #expect(try await remote.read(Self.plain) == [1])
            }
        }
    }

    func longRead() async throws {
        let reads = Noted(0)
        let definition = Self.definition(
            CharacteristicDefinition(
                Self.handled.uuid, .read,
                onRead: { _ in
                    await reads.change { $0 += 1 }
                    // Each read returns another value.
                    return [UInt8](repeating: UInt8(truncatingIfNeeded: await reads.value), count: 512)
                }))
        try await withServed(definition) { _, _, remote in
            for number in UInt8(1)...3 {
                let value = try await remote.read(Self.handled)
                #expect(value.count == 512)
                #expect(value.allSatisfy { $0 == number }, "\(Set(value))")
            }
            #expect(await reads.value == 3)
        }
    }

    func changingLongRead() async throws {
        let box = Noted<ServedPeripheral?>(nil)
        let changes = Noted(UInt8(0))
        let definition = Self.definition(
            CharacteristicDefinition(
                Self.plain.uuid, .read, value: [UInt8](repeating: 0, count: 500),
                authorize: { (_, _) throws(ATTError) in
                    // Called before each part.
                    await changes.change { $0 += 1 }
                    let value = [UInt8](repeating: await changes.value, count: 500)
                    try? await box.value?.setValue(value, of: Self.plain)
                }))
        try await withServed(definition) { _, served, remote in
            await box.change { $0 = served }
            for _ in 0..<2 {
                let number = await changes.value + 1
                let value = try await remote.read(Self.plain)
                #expect(value == [UInt8](repeating: number, count: 500), "\(Set(value))")
            }
        }
    }

    func longWrite() async throws {
        let written = Noted<[[UInt8]]>([])
        let definition = Self.definition(
            CharacteristicDefinition(
                Self.handled.uuid, .write, onWrite: { value, _ in await written.change { $0.append(value) } }))
        try await withServed(definition) { _, _, remote in
            // bluetoothd accepts 512 bytes from 5.69 on.
            let long = (0..<508).map { UInt8(truncatingIfNeeded: $0 * 7) }
            try await remote.write(long, to: Self.handled)
            #expect(await written.value == [long])
        }
    }

    func writeOrder() async throws {
        let (written, areSent) = (Noted<[[UInt8]]>([]), Noted(false))
        let definition = Self.definition(
            CharacteristicDefinition(
                Self.handled.uuid, .writeWithoutResponse,
                onWrite: { value, _ in
                    // Later writes wait for earlier ones, even if these take long.
                    if value == [0] { try? await areSent.until { $0 } }
                    await written.change { $0.append(value) }
                }))
        try await withServed(definition) { _, _, remote in
            for number in UInt8(0)..<20 { try await remote.write([number], to: Self.handled, type: .withoutResponse) }
            await areSent.change { $0 = true }
            try await written.until { $0.count == 20 }
            let order = await written.value.map { $0[0] }
            #expect(order == Array(0..<20))
        }
    }

    func commands() async throws {
        let written = Noted<[[UInt8]]>([])
        let definition = Self.definition(
            CharacteristicDefinition(
                Self.handled.uuid, .writeWithoutResponse,
                onWrite: { value, _ in await written.change { $0.append(value) } }))
        try await withServed(definition) { _, _, remote in
            // A central without channels writes in the standard way.
            let writer = try? await remote.packetWriter(to: Self.handled)
            for number in UInt8(0)..<10 {
                if let writer {
                    try await writer.write([number, 1])
                } else {
                    try await remote.write([number, 1], to: Self.handled, type: .withoutResponse)
                }
            }
            try await written.until { $0.count == 10 }
            #expect(await written.value == (UInt8(0)..<10).map { [$0, 1] })
            writer?.close()
        }
    }

    func descriptors() async throws {
        let definition = Self.definition(
            CharacteristicDefinition(
                Self.plain.uuid, .read, value: [1],
                descriptors: [
                    .userDescription("A name"),
                    DescriptorDefinition(BluetoothUUID(0xFFEE), value: [5, 6], isWritable: true),
                ]))
        try await withServed(definition) { _, _, remote in
            #expect(try await remote.userDescription(of: Self.plain.key) == "A name")
            #expect(try await remote.readDescriptor(BluetoothUUID(0xFFEE), of: Self.plain.key) == [5, 6])
            try await remote.writeDescriptor([7], to: BluetoothUUID(0xFFEE), of: Self.plain.key)
            #expect(try await remote.readDescriptor(BluetoothUUID(0xFFEE), of: Self.plain.key) == [7])
        }
    }

    func slowHandler() async throws {
        let definition = Self.definition(
            CharacteristicDefinition(
                Self.handled.uuid, .read,
                onRead: { (_) throws(ATTError) in
                    try? await Task.sleep(for: .seconds(3600))
                    return [1]
                }),
            Self.readable)
        try await withHost(PeripheralHost.Configuration(requestTimeout: .milliseconds(50))) { host in
            var events = await host.events().makeAsyncIterator()
            try await host.withServed(definition) { _ in
                try await withCentral { central in
                    let remote = try await find(central)
                    let refused = await error { _ = try await remote.read(Self.handled) }
                    #expect(refused?.attError == .unlikelyError)
                    try await until(&events) { event in
                        guard case .failed(let error) = event else { return false }
                        #expect(error.code == .timedOut)
                        #expect(error.characteristic == Self.handled.uuid)
                        return true
                    }
                    // The other services are still served.
                    #expect(try await remote.read(Self.plain) == [1, 2, 3])
                }
            }
        }
    }

    func reservedServices() async throws {
        try await withHost { host in
            let definition = PeripheralDefinition(
                advertisement: Self.advertisement(),
                services: [ServiceDefinition(BluetoothUUID(0x1800), characteristics: [Self.readable])])
            let refused = await error { try await host.serve(definition) }
            #expect(refused?.code == .invalidArgument)
        }
    }
}
