import BLE
import BLESimulation
import BLETestSupport
import Logging
import Synchronization
import Testing

/// A host on a backend that the test controls.
@Suite(.hangLimit) struct PeripheralHostTests {
    private let clock = ManualClock()
    private let backend = ServingBackend()

    private static let uuid = BluetoothUUID(0xFFE1)
    private static let value = Characteristic<[UInt8]>(uuid)
    private static let central = Peripheral.ID(rawValue: "C0:00:00:00:00:01")
    private static let other = Peripheral.ID(rawValue: "C0:00:00:00:00:02")

    private func host(waitingWrites: Int = 64) async throws -> PeripheralHost {
        try await PeripheralHost(
            backend: backend,
            configuration: PeripheralHost.Configuration(
                waitingWrites: waitingWrites, clock: clock,
                logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }))
    }

    private func definition(_ characteristic: CharacteristicDefinition) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(serviceUUIDs: [BluetoothUUID(0xFFE0)]),
            services: [ServiceDefinition(BluetoothUUID(0xFFE0), characteristics: [characteristic])])
    }

    private func request(_ offset: Int = 0, _ attMTU: Int? = nil, central: Peripheral.ID = central) -> AttributeRequest
    {
        AttributeRequest(central: central, attMTU: attMTU, offset: offset)
    }

    /// The error that a read is rejected with.
    private func rejection(ofReading request: AttributeRequest) async -> ATTError? {
        do throws(ATTError) {
            _ = try await backend.read(request)
            return nil
        } catch {
            return error
        }
    }

    /// The error that a write is rejected with.
    private func rejection(
        of value: [UInt8], _ request: AttributeRequest? = nil, descriptor: Int? = nil
    ) async -> ATTError? {
        do throws(ATTError) {
            try await backend.write(value, request ?? self.request(), descriptor: descriptor)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Reads

    @Test func `a value that changes while it is read in parts is read unchanged, and the new one from its start`()
        async throws
    {
        let host = try await host()
        let (old, new) = ([UInt8](repeating: 1, count: 100), [UInt8](repeating: 2, count: 60))
        let newest = [UInt8](repeating: 3, count: 50)
        let definition = definition(CharacteristicDefinition(Self.uuid, [.read, .write], value: old))
        try await host.withServed(definition) { served in
            #expect(try await backend.read(request()) == old)
            #expect(try await backend.read(request(22)) == Array(old[22...]))
            // By the program, and by another central, which reads the new one meanwhile.
            try await served.setValue(new, of: Self.value)
            #expect(try await backend.read(request(central: Self.other)) == new)
            try await backend.write(newest, request(central: Self.other))
            #expect(try await backend.read(request(44)) == Array(old[44...]))
            #expect(await rejection(ofReading: request(101)) == .invalidOffset)
            #expect(await rejection(ofReading: request(-1)) == .invalidOffset)
            // With the last part, the read ends, and with a new one.
            #expect(try await backend.read(request(88)) == Array(old[88...]))
            #expect(try await backend.read(request(22)) == Array(newest[22...]))
            #expect(try await backend.read(request()) == newest)
            try await served.setValue(old, of: Self.value)
            #expect(try await backend.read(request(22)) == Array(newest[22...]))
            #expect(try await backend.read(request()) == old)
            // A central's own write ends its read.
            try await backend.write(new, request())
            #expect(try await backend.read(request(22)) == Array(new[22...]))
            // And so does the end of its link.
            #expect(try await backend.read(request()) == new)
            try await served.setValue(old, of: Self.value)
            await backend.report(.centralDisconnected(Self.central))
            #expect(try await backend.read(request(22)) == Array(old[22...]))
        }
        await host.shutDown()
    }

    @Test func `each central reads its own snapshot`() async throws {
        let host = try await host()
        let count = Mutex(UInt8(0))
        let definition = definition(
            CharacteristicDefinition(
                Self.uuid, .read,
                onRead: { _ in
                    [UInt8](
                        repeating: count.withLock {
                            $0 += 1
                            return $0
                        }, count: 30)
                }))
        try await host.withServed(definition) { _ in
            let part4 = try await backend.read(request())
            #expect(part4[0] == 1)
            let part5 = try await backend.read(request(central: Self.other))
            #expect(part5[0] == 2)
            let part6 = try await backend.read(request(22))
            #expect(part6 == [UInt8](repeating: 1, count: 8))
            let part7 = try await backend.read(request(22, central: Self.other))
            #expect(part7 == [UInt8](repeating: 2, count: 8))
            // That was the last part: the next one is of a new value.
            let part8 = try await backend.read(request(22))
            #expect(part8[0] == 3)
        }
        await host.shutDown()
    }

    @Test func `what cannot be read or written is rejected whatever the stack passes on`() async throws {
        let host = try await host()
        let definition = definition(
            CharacteristicDefinition(Self.uuid, .notify, descriptors: [.userDescription("fixed")]))
        try await host.withServed(definition) { _ in
            #expect(
                await rejection(ofReading: request()) == .readNotPermitted)
            #expect(
                await rejection(of: [1]) == .writeNotPermitted
            )
            #expect(
                await rejection(of: [1], descriptor: 0)
                    == .writeNotPermitted)
            let part9 = try await backend.read(request(), descriptor: 0)
            #expect(part9 == Array("fixed".utf8))
        }
        await host.shutDown()
    }

    // MARK: Writes

    @Test func `a write that waits for its turn ends with its deadline, and its handler never runs`() async throws {
        let host = try await host()
        let written = SharedValue<[[UInt8]]>([])
        let definition = definition(
            CharacteristicDefinition(
                Self.uuid, .write,
                onWrite: { [clock] value, _ in
                    written.change { $0.append(value) }
                    try? await clock.sleep(for: .seconds(3600))
                }))
        try await host.withServed(definition) { _ in
            let first = Task { await rejection(of: [1]) }
            await until { written.value.count >= 1 }
            let second = Task { await rejection(of: [2]) }
            await clock.sleepers(2, for: .seconds(4))
            clock.advance(by: .seconds(4))
            #expect(await first.value == .unlikelyError)
            #expect(await second.value == .unlikelyError)
            #expect(written.value == [[1]])
        }
        await host.shutDown()
    }

    @Test func `waiting writes end with the central's link, and with the host`() async throws {
        let host = try await host()
        let written = SharedValue<[[UInt8]]>([])
        let definition = definition(
            CharacteristicDefinition(
                Self.uuid, .write,
                onWrite: { [clock] value, _ in
                    written.change { $0.append(value) }
                    try? await clock.sleep(for: .seconds(3600))
                }))
        try await host.withServed(definition) { _ in
            var tasks = [Task { await rejection(of: [1]) }]
            await until { written.value.count >= 1 }
            for number in UInt8(2)...4 {
                tasks.append(
                    Task { await rejection(of: [number]) })
            }
            await clock.sleepers(4, for: .seconds(4))
            await backend.report(.centralDisconnected(Self.central))
            for task in tasks { #expect(await task.value == .unlikelyError) }
            #expect(written.value == [[1]])
            let last = Task { await rejection(of: [5]) }
            await until { written.value.count >= 2 }
            await host.shutDown()
            #expect(await last.value == .unlikelyError)
            #expect(
                await rejection(of: [6]) == .unlikelyError)
            #expect(written.value == [[1], [5]])
        }
    }

    @Test func `a flood of writes is rejected, and reported once`() async throws {
        let host = try await host(waitingWrites: 2)
        var events = await host.events().makeAsyncIterator()
        let written = SharedValue(0)
        let definition = definition(
            CharacteristicDefinition(
                Self.uuid, .write,
                onWrite: { [clock] _, _ in
                    written.change { $0 += 1 }
                    try? await clock.sleep(for: .seconds(3600))
                }))
        try await host.withServed(definition, isAdvertised: false) { _ in
            let tasks = (0..<3).map { _ in
                Task { await rejection(of: [1]) }
            }
            await clock.sleepers(3, for: .seconds(4))
            for _ in 0..<10 {
                #expect(
                    await rejection(of: [1])
                        == .insufficientResources)
            }
            await backend.report(.centralDisconnected(Self.central))
            for task in tasks { _ = await task.value }
        }
        var failures = 0
        while let event = try await events.next() {
            if case .failed(let error) = event {
                #expect(error.code == .overflow)
                failures += 1
            }
            if case .centralDisconnected = event { break }
        }
        #expect(failures == 1)
        await host.shutDown()
    }

    // MARK: Values

    @Test func `a value that was written is read at once, even if the one before is still being sent`() async throws {
        let host = try await host()
        let definition = definition(CharacteristicDefinition(Self.uuid, [.read, .write, .notify]))
        try await host.withServed(definition) { _ in
            await backend.report(.subscribed(backend.attribute, central: nil, attMTU: nil))
            await backend.holdValue()
            let first = Task { await rejection(of: [1]) }
            await until { await backend.isHoldingValue }
            let second = Task { await rejection(of: [2]) }
            await until { (try? await backend.read(request())) == [2] }
            await backend.releaseValue()
            #expect(await first.value == nil)
            #expect(await second.value == nil)
            #expect(await backend.notified.map(\.0) == [[1], [2]])
        }
        await host.shutDown()
    }

    @Test func `one central's short packets do not keep values from the others`() async throws {
        let host = try await host()
        let definition = definition(CharacteristicDefinition(Self.uuid, [.read, .notify]))
        try await host.withServed(definition) { served in
            // The first has only subscribed; the second has read before it asked for longer packets.
            await backend.report(.centralConnected(Self.central))
            await backend.report(.subscribed(backend.attribute, central: nil, attMTU: nil))
            _ = try await backend.read(request(0, 23, central: Self.other))
            try await served.setValue([UInt8](repeating: 1, count: 100), of: Self.value)
            #expect(await backend.notified.count == 1)
            // When all lengths are known, a value that fits none is refused.
            _ = try await backend.read(request(0, 100))
            let refused = await expectError(.invalidLength) {
                try await served.notify([UInt8](repeating: 1, count: 98), from: Self.value)
            }
            #expect(refused?.remedy?.contains("97") == true)
        }
        await host.shutDown()
    }

    @Test func `indications that wait end with the last subscriber`() async throws {
        let host = try await host()
        let definition = definition(CharacteristicDefinition(Self.uuid, [.read, .indicate]))
        try await host.withServed(definition) { served in
            await backend.report(.subscribed(backend.attribute, central: nil, attMTU: nil))
            let indications = (UInt8(1)...3).map { number in
                Task { try await served.indicate([number], from: Self.value) }
            }
            await until { await backend.indicating == 1 }
            await clock.sleepers(3, for: .seconds(30))
            await backend.report(.unsubscribed(backend.attribute, central: nil))
            await backend.confirm(.failure(BLEError(.disconnected, "gone")))
            for indication in indications { await expectError(.disconnected) { try await indication.value } }
            #expect(await backend.notified.count == 1)
        }
        await host.shutDown()
    }

    @Test func `a value is not indicated by what only notifies`() async throws {
        let host = try await host()
        try await host.withServed(definition(CharacteristicDefinition(Self.uuid, .notify))) { served in
            await backend.report(.subscribed(backend.attribute, central: nil, attMTU: nil))
            await expectError(.notSupported) { try await served.indicate([1], from: Self.value) }
        }
        await host.shutDown()
    }

    // MARK: Losses

    @Test func `a renewal outlasts what keeps it from succeeding`() async throws {
        let host = try await host()
        var events = await host.events().makeAsyncIterator()
        let serving = Task { try await host.serve(definition(CharacteristicDefinition(Self.uuid, .read))) }
        guard case .advertisingStarted? = try await events.next() else { throw BLEError(.failed, "no start") }
        await backend.refuse([
            BLEError(.failed, "not now"), BLEError(.busy, "no set is free", isRetryable: true),
            BLEError(.adapterNotFound, "gone for a moment"),
        ])
        await backend.lose()
        await backend.comeBack()
        for pause in [1, 2, 4] {
            await clock.sleepers(1, for: .seconds(pause))
            clock.advance(by: .seconds(pause))
        }
        while let event = try await events.next() {
            if case .advertisingStarted = event { break }
        }
        #expect(await backend.registrations == 2)
        serving.cancel()
        await expectError(.cancelled) { try await serving.value }
        #expect(await backend.unregistered == [1])
        await host.shutDown()
    }

    @Test(arguments: [4, 5])
    func `a renewal waits for what the stack does not offer yet, and not for what it never offers`(
        _ refusals: Int
    ) async throws {
        let host = try await host()
        var events = await host.events().makeAsyncIterator()
        let serving = Task { try await host.serve(definition(CharacteristicDefinition(Self.uuid, .read))) }
        guard case .advertisingStarted? = try await events.next() else { throw BLEError(.failed, "no start") }
        await backend.refuse(Array(repeating: BLEError(.notSupported, "no such interface"), count: refusals))
        await backend.lose()
        await backend.comeBack()
        for pause in [1, 2, 4, 8] {
            await clock.sleepers(1, for: .seconds(pause))
            clock.advance(by: .seconds(pause))
        }
        var hasFailed = false
        reading: while let event = try await events.next() {
            switch event {
            case .advertisingStarted: break reading
            case .failed:
                hasFailed = true
                break reading
            default: break
            }
        }
        #expect(hasFailed == (refusals == 5))
        serving.cancel()
        _ = await serving.result
        await host.shutDown()
    }

    @Test func `a switched-off adapter keeps subscribers that the stack does not tell apart`() async throws {
        let host = try await host()
        try await host.withServed(definition(CharacteristicDefinition(Self.uuid, .notify))) { served in
            await backend.report(.subscribed(backend.attribute, central: nil, attMTU: nil))
            await backend.report(.adapterStateChanged(.poweredOff))
            await backend.report(.adapterStateChanged(.poweredOn))
            // Those with a bond do not subscribe again.
            try await served.notify([1], from: Self.value)
            #expect(await backend.notified.map(\.0) == [[1]])
        }
        await host.shutDown()
    }

    @Test func `serving ends with the host, also while it begins`() async throws {
        let host = try await host()
        await backend.hold()
        let serving = Task { try await host.serve(definition(CharacteristicDefinition(Self.uuid, .read))) }
        await until { await backend.isHolding }
        let ending = Task { await host.shutDown() }
        await until { await backend.isShutDown }
        await backend.release()
        await ending.value
        await expectError(.shutDown) { try await serving.value }
    }

    @Test func `a host that is released without a shutdown ends its backend`() async throws {
        do {
            let host = try await host()
            let states = await host.adapterStates()
            for try await state in states {
                #expect(state == .poweredOn)
                break
            }
        }
        await until { await backend.isShutDown }
    }

    @Test func `a definition that cannot be served says why`() async throws {
        let host = try await host()
        var wrong = definition(
            CharacteristicDefinition(
                Self.uuid, .read, value: [UInt8](repeating: 0, count: 513),
                descriptors: [DescriptorDefinition(BluetoothUUID(0x2902), value: [0, 0])], onSubscribe: { _ in }))
        wrong.services.append(
            ServiceDefinition(BluetoothUUID(0x1801), includes: [BluetoothUUID(0xFFFE)], characteristics: []))
        let found = host.diagnostics(for: wrong)
        #expect(found.count { $0.isError } == 5, "\(found)")
        await expectError(.invalidArgument) { try await host.serve(wrong) }
        var circular = definition(CharacteristicDefinition(Self.uuid, .read))
        circular.services[0].includes = [BluetoothUUID(0xFFE9)]
        circular.services.append(
            ServiceDefinition(BluetoothUUID(0xFFE9), includes: [BluetoothUUID(0xFFE0)], characteristics: []))
        #expect(host.diagnostics(for: circular).map(\.message) == ["services include each other"])
        let both = definition(
            CharacteristicDefinition(Self.uuid, [.write, .writeWithoutResponse], onWrite: { _, _ in }))
        #expect(host.diagnostics(for: both).map(\.isError) == [false])
        #expect(await backend.registrations == 0)
        await host.shutDown()
    }

    @Test func `a definition that takes more handles than there are is refused`() {
        let plain = CharacteristicDefinition(Self.uuid, .read)
        var definition = PeripheralDefinition(
            advertisement: Advertisement(),
            services: [ServiceDefinition(Self.uuid, characteristics: Array(repeating: plain, count: 32_767))])
        // The service takes one, and each characteristic two.
        #expect(definition.diagnostics().isEmpty)
        definition.services[0].characteristics[5].descriptors = [.userDescription("One")]
        let found = definition.diagnostics()
        #expect(found.map(\.isError) == [true])
        #expect(found.first?.message.contains("65536 handles") == true)
        #expect(found.first?.remedy != nil)
    }

    @Test func `a handler that fails for all leaves them the values that are sent to all`() async throws {
        let host = try await host()
        var events = await host.events().makeAsyncIterator()
        let begun = SharedValue(0)
        let definition = definition(
            CharacteristicDefinition(
                Self.uuid, [.write, .notify],
                onSubscribe: { _ in
                    begun.change { $0 += 1 }
                    throw BLEError(.timedOut, "one of them has not confirmed")
                }))
        try await host.withServed(definition) { served in
            for number in UInt8(1)...2 {
                await backend.report(.subscribed(backend.attribute, central: nil, attMTU: nil))
                while let event = try await events.next() {
                    guard case .failed(let error) = event else { continue }
                    #expect((error.cause as? BLEError)?.code == .timedOut)
                    break
                }
                // For the next subscriber, the handler runs again.
                #expect(begun.value == Int(number))
                #expect(try await served.subscribers(of: Self.value) == [nil])
                try await served.setValue([number], of: Self.value)
            }
            try await served.notify([3], from: Self.value)
            #expect(await backend.notified.map(\.0) == [[1], [2], [3]])
            #expect(await backend.refused.isEmpty)
        }
        await host.shutDown()
    }
}
