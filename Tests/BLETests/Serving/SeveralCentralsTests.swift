import BLE
import BLESimulation
import BLETestSupport
import Logging
import Synchronization
import Testing

/// A host with several centrals, some of which misbehave.
@Suite(.hangLimit) struct SeveralCentralsTests {
    private let clock = ManualClock()
    private let backend = ServingBackend(distinguishesSubscribers: true)

    private static let uuid = BluetoothUUID(0xFFE1)
    private static let value = Characteristic<[UInt8]>(uuid)
    private static let central = Peripheral.ID(rawValue: "C0:00:00:00:00:01")
    private static let other = Peripheral.ID(rawValue: "C0:00:00:00:00:02")

    private func withServed(
        _ characteristic: CharacteristicDefinition, waitingWrites: Int = 64,
        onDisconnect: ServiceDefinition.DisconnectionHandler? = nil,
        _ check: (PeripheralHost, ServedPeripheral) async throws -> Void
    ) async throws {
        let host = try await PeripheralHost(
            backend: backend,
            configuration: PeripheralHost.Configuration(
                waitingWrites: waitingWrites, clock: clock,
                logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }))
        let definition = PeripheralDefinition(
            advertisement: Advertisement(serviceUUIDs: [BluetoothUUID(0xFFE0)]),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFFE0), characteristics: [characteristic], onDisconnect: onDisconnect)
            ])
        try await host.withServed(definition) { try await check(host, $0) }
        await host.shutDown()
    }

    /// The error that a write is rejected with.
    private func rejection(
        of value: [UInt8], by central: Peripheral.ID = central, link: CentralLink? = nil
    ) async -> ATTError? {
        do throws(ATTError) {
            try await backend.write(value, AttributeRequest(central: central, link: link))
            return nil
        } catch {
            return error
        }
    }

    // MARK: Writes

    @Test func `a write that was rejected takes no effect after a later one, and never beside it`() async throws {
        let (begun, state) = (SharedValue<[[UInt8]]>([]), SharedValue<[UInt8]>([]))
        let isOpen = SharedValue(false)
        let characteristic = CharacteristicDefinition(
            Self.uuid, .write,
            onWrite: { value, _ in
                begun.change { $0.append(value) }
                // Whether or not it is cancelled.
                while value == [1], !isOpen.value { await Task.yield() }
                state.change { $0 = value }
            })
        try await withServed(characteristic) { _, _ in
            let first = Task { await rejection(of: [1]) }
            await until { begun.value == [[1]] }
            await clock.sleepers(1, for: .seconds(4))
            clock.advance(by: .seconds(4))
            #expect(await first.value == .unlikelyError)
            // The central's next one waits, and another central's does not.
            let second = Task { await rejection(of: [2]) }
            await clock.sleepers(1, for: .seconds(4))
            #expect(await rejection(of: [3], by: Self.other) == nil)
            #expect(begun.value == [[1], [3]])
            isOpen.change { $0 = true }
            #expect(await second.value == nil)
            #expect(begun.value == [[1], [3], [2]])
            #expect(state.value == [2])
        }
    }

    @Test func `a central's waiting writes neither delay nor exhaust another's`() async throws {
        let characteristic = CharacteristicDefinition(
            Self.uuid, .write,
            onWrite: { [clock] _, request in
                if request.central == Self.central { try? await clock.sleep(for: .seconds(3600)) }
            })
        try await withServed(characteristic, waitingWrites: 2) { host, _ in
            var events = await host.events().makeAsyncIterator()
            let hostile = (0..<3).map { _ in Task { await rejection(of: [1]) } }
            await clock.sleepers(3, for: .seconds(4))
            #expect(await rejection(of: [1]) == .insufficientResources)
            for number in UInt8(0)..<5 { #expect(await rejection(of: [number], by: Self.other) == nil) }
            while let event = try await events.next() {
                guard case .failed(let error) = event else { continue }
                #expect(error.code == .overflow)
                break
            }
            await backend.report(.centralDisconnected(Self.central))
            for task in hostile { #expect(await task.value == .unlikelyError) }
        }
    }

    // MARK: Links

    @Test func `a request that the end of its link has overtaken is rejected`() async throws {
        let written = SharedValue(0)
        let characteristic = CharacteristicDefinition(
            Self.uuid, .write, onWrite: { _, _ in written.change { $0 += 1 } })
        try await withServed(characteristic) { host, _ in
            let link = CentralLink()
            #expect(await rejection(of: [1], link: link) == nil)
            link.end()
            await backend.report(.centralDisconnected(Self.central))
            #expect(await rejection(of: [2], link: link) == .unlikelyError)
            #expect(await host.connectedCentrals.isEmpty)
            #expect(await rejection(of: [3], link: CentralLink()) == nil)
            #expect(written.value == 2)
        }
    }

    @Test func `a handler is cancelled before its service is notified of the end of the link`() async throws {
        let order = SharedValue<[String]>([])
        let characteristic = CharacteristicDefinition(
            Self.uuid, .write,
            onWrite: { [clock] _, _ in
                await withTaskCancellationHandler {
                    order.change { $0.append("begun") }
                    try? await clock.sleep(for: .seconds(3600))
                } onCancel: {
                    order.change { $0.append("cancelled") }
                }
            })
        try await withServed(characteristic, onDisconnect: { _ in order.change { $0.append("told") } }) { _, _ in
            let write = Task { await rejection(of: [1]) }
            await until { order.value == ["begun"] }
            await backend.report(.centralDisconnected(Self.central))
            #expect(order.value == ["begun", "cancelled", "told"])
            #expect(await write.value == .unlikelyError)
        }
    }

    @Test func `a central's link is ended`() async throws {
        try await withServed(CharacteristicDefinition(Self.uuid, .read)) { host, _ in
            try await host.disconnect(Self.central)
            #expect(await backend.disconnected.isEmpty)
            await backend.report(.centralConnected(Self.central))
            try await host.disconnect(Self.central)
            #expect(await backend.disconnected == [Self.central])
            #expect(await host.connectedCentrals.isEmpty)
        }
    }

    // MARK: Values

    @Test func `stored values are sent in the order in which they were stored, whichever central wrote them`()
        async throws
    {
        try await withServed(CharacteristicDefinition(Self.uuid, [.write, .notify])) { _, served in
            await backend.report(.subscribed(backend.attribute, central: Self.central, attMTU: nil))
            await backend.holdValue()
            let first = Task { await rejection(of: [1]) }
            await until { await backend.isHoldingValue }
            let second = Task { await rejection(of: [2], by: Self.other) }
            await until { (try? await served.value(Self.value)) == [2] }
            let third = Task { try await served.setValue([3], of: Self.value) }
            await until { (try? await served.value(Self.value)) == [3] }
            for _ in 0..<50 { await Task.yield() }
            await backend.releaseValue()
            #expect(await first.value == nil)
            #expect(await second.value == nil)
            try await third.value
            #expect(await backend.notified.map(\.0) == [[1], [2], [3]])
        }
    }

    // MARK: Subscriptions

    @Test func `a subscriber that confirms nothing does not hold up indications to others`() async throws {
        try await withServed(CharacteristicDefinition(Self.uuid, .indicate)) { _, served in
            for central in [Self.central, Self.other] {
                await backend.report(.subscribed(backend.attribute, central: central, attMTU: nil))
            }
            let mute = (UInt8(1)...2).map { number in
                Task { try await served.indicate([number], from: Self.value, to: Self.central) }
            }
            await until { await backend.indicating == 1 }
            let indication = Task { try await served.indicate([3], from: Self.value, to: Self.other) }
            await until { await backend.indicating == 2 }
            await backend.confirm(.success(()), by: Self.other)
            try await indication.value
            // Its own requests wait for each other.
            #expect(await backend.notified.count == 2)
            await backend.confirm(.success(()), by: Self.central)
            await until { await backend.indicating == 1 }
            await backend.confirm(.success(()), by: Self.central)
            for indication in mute { try await indication.value }
        }
    }

    @Test func `the error of a handler ends its subscription alone`() async throws {
        let characteristic = CharacteristicDefinition(
            Self.uuid, .notify,
            onSubscribe: { [clock] notifier in
                if notifier.central == Self.central { throw ATTError.valueNotAllowed }
                await notifier.notify([1])
                try await clock.sleep(for: .seconds(1))
                throw BLEError(.failed, "later")
            })
        try await withServed(characteristic) { host, served in
            var events = await host.events().makeAsyncIterator()
            for central in [Self.central, Self.other] {
                await backend.report(.subscribed(backend.attribute, central: central, attMTU: nil))
            }
            #expect(await backend.refused.map(\.0) == [Self.central])
            #expect(await backend.refused.map(\.1) == [.valueNotAllowed])
            #expect(try await served.subscribers(of: Self.value) == [Self.other])
            await clock.sleepers(1, for: .seconds(1))
            clock.advance(by: .seconds(1))
            var failures: [(any Error)?] = []
            var ended: [Peripheral.ID?] = []
            while ended.count < 2, let event = try await events.next() {
                if case .failed(let error) = event { failures.append(error.cause) }
                if case .unsubscribed(let subscriber) = event { ended.append(subscriber.central) }
            }
            #expect(ended == [Self.central, Self.other])
            #expect(failures.count == 2)
            await until { await backend.refused.map(\.1) == [.valueNotAllowed, .unlikelyError] }
            #expect(try await served.subscribers(of: Self.value).isEmpty)
        }
    }
}
