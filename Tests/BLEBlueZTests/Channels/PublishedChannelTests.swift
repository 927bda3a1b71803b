import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@testable import BLEFakeBlueZ
@testable import BlueZTestSupport

/// Channels that a host accepts, and the adapters on whose addresses they are published.
@Suite(.startsProcesses, .hangLimit)
struct PublishedChannelTests {
    private static let hci0 = "C0:FF:EE:00:00:01"
    private static let hci1 = FakeBlueZ.otherAddress

    @Test func `a published channel follows the adapter in use, which may change meanwhile`() async throws {
        let world = try await BlueZWorld()
        await world.daemon.addAdapter("hci1")
        let host = try await world.makeHost()
        let listener = try await host.publishChannel()
        let psm = listener.psm
        #expect(world.daemon.channelNumbers(at: Self.hci0) == [psm])
        await world.daemon.hang("listen")
        await world.daemon.setPresent(false)
        await world.daemon.untilHung()
        // The adapter is off and on again before the earlier socket is ready.
        var states = await host.adapterStates().makeAsyncIterator()
        await world.daemon.setPowered(false, adapter: "hci1")
        while try await states.next() != .poweredOff {}
        await world.daemon.setPowered(true, adapter: "hci1")
        while try await states.next() != .poweredOn {}
        await world.daemon.release()
        await until { world.daemon.channelNumbers(at: Self.hci1) == [psm] }
        #expect(world.daemon.channelNumbers(at: Self.hci0) == [])
        // The channel also moves back, and is still published.
        await world.daemon.setPresent(true)
        await world.daemon.removeAdapter("hci1")
        await until { world.daemon.channelNumbers(at: Self.hci0) == [psm] }
        #expect(world.daemon.channelNumbers(at: Self.hci1) == [])
        let central = try await Central(backend: .simulated(world.radio), configuration: .quiet())
        let advertising = Task { try await host.advertise(AdvertisingParameters(serviceUUIDs: [.battery])) }
        let remote = try await central.first(matching: .service(.battery), timeout: HangLimit.step).peripheral
        let channel = try await remote.openChannel(psm)
        var accepted = listener.makeAsyncIterator()
        #expect(try await accepted.next() != nil)
        channel.close()
        advertising.cancel()
        _ = await advertising.result
        await central.shutDown()
        await host.shutDown()
    }

    @Test func `a channel that is still being published follows the adapter in use, too`() async throws {
        let world = try await BlueZWorld()
        await world.daemon.addAdapter("hci1")
        let host = try await world.makeHost()
        await world.daemon.hang("listen")
        let publishing = Task { try await host.publishChannel(0x0090) }
        await world.daemon.untilHung()
        var states = await host.adapterStates().makeAsyncIterator()
        await world.daemon.setPresent(false)
        // The other adapter, which is used from now on.
        await world.daemon.setPowered(false, adapter: "hci1")
        while try await states.next() != .poweredOff {}
        await world.daemon.setPowered(true, adapter: "hci1")
        while try await states.next() != .poweredOn {}
        await world.daemon.release()
        let listener = try await publishing.value
        await until { world.daemon.channelNumbers(at: Self.hci1) == [listener.psm] }
        #expect(world.daemon.channelNumbers(at: Self.hci0) == [])
        listener.close()
        await host.shutDown()
    }
}
