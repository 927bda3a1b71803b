import BLE
import BLEProfiles
import BLETestSupport
import Dispatch
import Logging
import Loop
import Synchronization
import Testing

@testable import BLEBlueZ
@testable import BLEFakeBlueZ
@testable import BlueZTestSupport
@testable import DBus

/// The links of centrals, as requests name them.
@Suite(.startsProcesses, .hangLimit)
struct FakeCentralLinkTests {
    private static let one = DeviceID(rawValue: "C0:00:00:00:0A:01")

    private enum Event: Equatable {
        case connected, disconnected, subscribed
        case adapter(AdapterState, isUp: Bool?)
        case written([UInt8], isUp: Bool?)
    }

    private let world: BlueZWorld
    private let events = SharedValue<[Event]>([])

    init() async throws { world = try await BlueZWorld(minorVersion: 80) }

    /// A role that serves a characteristic, and records whether the link of a request is up when the request is
    /// handled.
    private func withServed(_ check: (BlueZStack) async throws -> Void) async throws {
        let stack = world.makeStack()
        let backend = BlueZPeripheral(stack)
        let link = SharedValue<CentralLink?>(nil)
        try await backend.start(
            PeripheralContext(
                handleEvent: { [events] event in
                    switch event {
                    case .centralConnected: events.change { $0.append(.connected) }
                    case .subscribed: events.change { $0.append(.subscribed) }
                    case .centralDisconnected: events.change { $0.append(.disconnected) }
                    case .adapterStateChanged(let state):
                        events.change { $0.append(.adapter(state, isUp: link.value?.isUp)) }
                    default: break
                    }
                }, read: { (_, _) throws(ATTError) in [] },
                write: { [events] (_, value, request) throws(ATTError) in
                    link.change { $0 = request.link }
                    events.change { $0.append(.written(value, isUp: request.link?.isUp)) }
                },
                logger: Logger(label: "test"), clock: ContinuousClock()))
        let uuid = BluetoothUUID(0xFFE1)
        try await backend.register(
            [ServiceDefinition(.battery, characteristics: [CharacteristicDefinition(uuid, [.write, .notify])])], as: 1)
        await world.daemon.pretend(Self.one, isConnected: true)
        try await events.until { $0 == [.connected] }
        try await check(stack)
        await backend.shutDown()
    }

    @Test func `a write that is received together with the end of its link is one of that link`() async throws {
        try await withServed { stack in
            // Meanwhile, nothing is received.
            let gate = DispatchSemaphore(value: 0)
            stack.loop.perform { gate.wait() }
            await world.daemon.pretendToWriteAndLeave([1], Self.one)
            gate.signal()
            try await events.until { $0.count >= 3 }
            // In either order of handling. The end may be reported again, because the write asks for it.
            let order = events.value.prefix(3)
            #expect(
                order == [.connected, .written([1], isUp: true), .disconnected]
                    || order == [.connected, .disconnected, .written([1], isUp: false)])
        }
    }

    @Test func `a subscription that is received together with the end of its link does not begin after it`()
        async throws
    {
        try await withServed { stack in
            let gate = DispatchSemaphore(value: 0)
            stack.loop.perform { gate.wait() }
            let subscribing = await world.daemon.pretendToSubscribeAndLeave(Self.one)
            gate.signal()
            let isAccepted = await subscribing.value
            try await events.until { $0.contains(.disconnected) }
            #expect(
                events.value.prefix { $0 != .disconnected } == (isAccepted ? [.connected, .subscribed] : [.connected]))
            // The end of the link may be reported again, because the call asks for it.
            #expect(!events.value.drop { $0 != .disconnected }.contains(.subscribed))
        }
    }

    @Test func `links have ended when the end of the adapter's power is reported`() async throws {
        try await withServed { _ in
            await world.daemon.pretendToWrite([1], Self.one)
            #expect(events.value == [.connected, .written([1], isUp: true)])
            await world.daemon.setPowered(false)
            try await events.until { $0.count >= 3 }
            #expect(events.value.last == .adapter(.poweredOff, isUp: false))
        }
    }
}
