import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Testing

/// The faults of a simulated radio, below the fake bluetoothd.
@Suite(.startsProcesses, .hangLimit) struct FakeFaultTests {
    private let world: BlueZWorld
    private let strap: SimulatedPeripheral
    private let central: Central
    private let peripheral: Peripheral

    init() async throws {
        world = try await BlueZWorld()
        strap = await world.radio.add(.heartRateStrap(beatsPerMinute: 72))
        central = try await world.makeCentral(.quiet())
        peripheral = try await central.find(strap.id)
    }

    @Test func `reads and subscriptions fail with the peripheral's error`() async throws {
        try await peripheral.connect()
        await strap.fail(.read(of: .bodySensorLocation), .next(1), with: .insufficientResources)
        let error = await expectError(.attributeError) { try await peripheral.read(.bodySensorLocation) }
        #expect(error?.attError == .insufficientResources)
        _ = try await peripheral.read(.bodySensorLocation)
        await strap.fail(.subscribe, .next(1), with: .insufficientResources)
        await #expect(throws: BLEError.self) { try await HeartRate(peripheral).measurements() }
        await central.shutDown()
    }

    @Test func `a failed attempt to connect fails, and the next one succeeds`() async throws {
        let fault = await strap.fail(.connect)
        await #expect(throws: BLEError.self) { try await peripheral.connect() }
        await strap.removeFaults()
        #expect(await fault.count > 0)
        try await peripheral.connect()
        await central.shutDown()
    }

    @Test func `a held read ends with its link, and one that is released has its value`() async throws {
        try await peripheral.connect()
        let held = await strap.hold(.read)
        let first = Task { [peripheral] in try await peripheral.read(.bodySensorLocation) }
        await held.disturbed(1)
        await held.release()
        _ = try await first.value
        let again = await strap.hold(.read)
        let second = Task { [peripheral] in try await peripheral.read(.bodySensorLocation) }
        await again.disturbed(1)
        await strap.dropLink()
        await expectError(.disconnected) { try await second.value }
        await central.shutDown()
    }

    @Test func `a link that is lost with a value is made again`() async throws {
        try await peripheral.setConnectionPolicy(.maintained())
        var events = try await HeartRate(peripheral).measurements().events.makeAsyncIterator()
        await strap.dropLink(after: .notify, .next(1))
        var hadGap = false
        while let event = try await events.next() {
            if case .gap = event { hadGap = true } else if hadGap { break }
        }
        #expect(hadGap)
        await central.shutDown()
    }
}
