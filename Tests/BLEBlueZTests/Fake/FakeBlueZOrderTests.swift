import BLE
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Testing

/// bluetoothd has one thread: what it sends together arrives together. The fake one has several.
@Suite(.startsProcesses, .hangLimit)
struct FakeBlueZOrderTests {
    @Test func `nothing comes between the signal of a read and its answer`() async throws {
        let world = try await BlueZWorld()
        let thing = await world.radio.add(.battery(name: "Thing", level: 90))
        let central = try await world.makeCentral()
        let battery = try #require(try await central.discoveries().first { _ in true }).peripheral
        try await battery.connect()
        let level = CharacteristicKey(characteristic: BluetoothUUID(0x2A19))
        var values = try await battery.notifications(level).makeAsyncIterator()
        // An answer that does not follow at once would let its value be taken for a notification.
        for _ in 0..<500 { _ = try await battery.read(level) }
        await thing.notify([1], from: level.characteristic)
        #expect(try await values.next() == [1])
        await central.shutDown()
    }
}
