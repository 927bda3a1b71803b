import BLE
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Testing

/// A device with a link over Classic, of which bluetoothd shows no services.
@Suite(.startsProcesses, .hangLimit)
struct ClassicDeviceTests {
    @Test func `it is not supported, and told at once`() async throws {
        let world = try await BlueZWorld()
        let headset = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Headset", rssi: -40, deviceClass: 0x240404), services: []))
        let central = try await world.makeCentral()
        let found = try await central.first(matching: .transport(.classic))
        #expect(found.peripheral.id == headset.id)
        let error = await expectError(.notSupported) { try await found.peripheral.connect(timeout: .seconds(3600)) }
        #expect(error?.isRetryable == false)
        #expect(error?.remedy?.contains("LE") == true)
        await central.shutDown()
    }

    @Test func `a peripheral without services is connected to`() async throws {
        let world = try await BlueZWorld()
        let tag = await world.radio.add(
            PeripheralDefinition(advertisement: Advertisement(localName: "Tag", rssi: -40), services: []))
        let central = try await world.makeCentral()
        #expect(try await central.peripheral(tag.id).services().isEmpty)
        await central.shutDown()
    }
}
