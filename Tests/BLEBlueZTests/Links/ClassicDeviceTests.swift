import BLE
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

/// A device with a link over Classic, of which bluetoothd shows no services.
@Suite(.startsProcesses, .hangLimit)
struct ClassicDeviceTests {
    /// A headset, found by a central.
    private func withHeadset(
        _ body: (BlueZWorld, Peripheral) async throws -> Void
    ) async throws {
        let world = try await BlueZWorld()
        let headset = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Headset", rssi: -40, deviceClass: 0x240404), services: []))
        let central = try await world.makeCentral()
        let found = try await central.first(matching: .transport(.classic))
        #expect(found.peripheral.id == headset.id)
        try await body(world, found.peripheral)
        await central.shutDown()
    }

    /// `cause` is bluetoothd's answer to the attempt.
    private func expectNotSupported(_ headset: Peripheral, cause: BLEError.Code?) async {
        let error = await expectError(.notSupported) { try await headset.connect(timeout: .seconds(3600)) }
        #expect(error?.isRetryable == false)
        #expect(error?.remedy?.contains("LE") == true)
        #expect((error?.cause as? BLEError)?.code == cause)
    }

    @Test func `a connect is refused at once, also while the link for the device's services is up`() async throws {
        try await withHeadset { world, headset in
            await world.daemon.hang("Disconnected")
            await expectNotSupported(headset, cause: .notSupported)
            #expect(await world.daemon.hungCount == 1)
            await expectNotSupported(headset, cause: .notSupported)
            #expect(await world.daemon.calls["Connect"] == 1)
            // Its services are known by then.
            await world.daemon.release()
            await until { await headset.central.knownPeripherals().allSatisfy { !$0.isConnected } }
            await expectNotSupported(headset, cause: .notSupported)
            #expect(await world.daemon.calls["Connect"] == 2)
        }
    }

    @Test(arguments: [true, false])
    func `a link that another program has caused for its services is none, and says so if it ends`(ends: Bool)
        async throws
    {
        try await withHeadset { world, headset in
            await world.daemon.hang("Disconnected")
            await expectNotSupported(headset, cause: .notSupported)
            let clock = ManualClock()
            let other = try await world.makeCentral(.quiet(clock: clock))
            let connecting = Task { try await other.peripheral(headset.id).connect(timeout: .seconds(3600)) }
            await clock.sleepers(1, for: .seconds(1))
            if ends { await world.daemon.release() } else { clock.advance(by: .seconds(1)) }
            let error = await expectError(ends ? .disconnected : .notSupported) { try await connecting.value }
            #expect(error?.remedy?.contains("LE") == true)
            await world.daemon.release()
            await other.shutDown()
        }
    }

    @Test func `a connect is not supported, and fails at once, if bluetoothd has a profile for it`() async throws {
        try await withHeadset { world, headset in
            await world.daemon.addClassicProfile()
            await expectNotSupported(headset, cause: nil)
        }
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
