import BLE
import BLETestSupport
import Testing

@testable import BLESimulation

/// A system with several adapters on one radio.
@Suite(.hangLimit) struct SimulatedAdaptersTests {
    private let radio = SimulatedRadio(clock: ManualClock())

    private func central(_ adapter: String?) async throws -> Central {
        try await Central(backend: .simulated(radio, adapter: adapter), configuration: .quiet(clock: radio.clock))
    }

    private func find(_ id: Peripheral.ID, _ central: Central) async throws -> Peripheral {
        for try await found in central.discoveries() where found.peripheral.id == id { return found.peripheral }
        throw BLEError.cancelled
    }

    @Test func `an adapter that is switched off takes its own links, and no others`() async throws {
        await radio.addAdapter("hci1")
        let (one, two) = (await radio.add(.battery()), await radio.add(.lamp()))
        let (first, second) = (try await central("hci0"), try await central("hci1"))
        try await find(one.id, first).connect()
        let lamp = try await find(two.id, second)
        try await lamp.connect()
        await radio.setPowered(false)
        #expect(await first.adapterState == .poweredOff)
        #expect(await second.adapterState == .poweredOn)
        #expect(await !one.isConnected)
        #expect(await two.isConnected)
        #expect(try await lamp.read(Characteristic<[UInt8]>(BluetoothUUID(0xFF01))).count == 1)
        await first.shutDown()
        await second.shutDown()
    }

    @Test func `a central that was given no adapter goes on with another`() async throws {
        await radio.addAdapter("hci1")
        let battery = await radio.add(.battery())
        let central = try await central(nil)
        let peripheral = try await find(battery.id, central)
        try await peripheral.connect()
        await radio.setPresent(false)
        await until { await central.adapterState == .poweredOn }
        #expect(try await central.adapters().map { [$0.id, "\($0.isInUse)"] } == [["hci1", "true"]])
        let again = try await find(battery.id, central)
        try await again.connect()
        #expect(await battery.isConnected)
        await central.shutDown()
    }

    @Test func `an adapter keeps its address, and no two have the same`() async throws {
        await radio.addAdapter("hci1")
        let central = try await central(nil)
        let addresses = try await central.adapters().map(\.address)
        #expect(addresses == ["C0:FF:EE:00:00:01", "C0:FF:EE:00:00:02"])
        await radio.setPresent(false)
        #expect(try await central.adapters().map(\.address) == ["C0:FF:EE:00:00:02"])
        await radio.addAdapter("hci2")
        await radio.returnAdapter("hci0", as: "hci3")
        #expect(
            try await central.adapters().map(\.address)
                == ["C0:FF:EE:00:00:02", "C0:FF:EE:00:00:03", "C0:FF:EE:00:00:01"])
        await central.shutDown()
    }

    @Test func `an adapter comes back under another name`() async throws {
        let battery = await radio.add(.battery())
        let (any, bound) = (try await central(nil), try await central("hci0"))
        await radio.setPresent(false)
        #expect(await any.adapterState == .unavailable)
        await radio.addAdapter("hci1")
        #expect(await any.adapterState == .poweredOn)
        #expect(await bound.adapterState == .unavailable)
        _ = try await find(battery.id, any)
        await any.shutDown()
        await bound.shutDown()
    }

    @Test func `an adapter that comes back under another name has its bonds`() async throws {
        let battery = await radio.add(.battery())
        let (any, bound) = (try await central(nil), try await central("hci0"))
        let peripheral = try await find(battery.id, any)
        try await peripheral.pair()
        await radio.setPresent(false)
        #expect(await any.adapterState == .unavailable)
        await radio.returnAdapter("hci0", as: "hci1")
        #expect(await any.adapterState == .poweredOn)
        #expect(await bound.adapterState == .unavailable)
        #expect(await any.knownPeripherals().map(\.id) == [battery.id])
        #expect(try await any.peripheral(battery.id).isPaired)
        // What is plugged in under the former name is another adapter.
        await radio.setPresent(true)
        #expect(await bound.adapterState == .poweredOn)
        #expect(await bound.knownPeripherals().isEmpty)
        await any.shutDown()
        await bound.shutDown()
    }

    @Test func `a bond is one adapter's`() async throws {
        await radio.addAdapter("hci1")
        let battery = await radio.add(.battery())
        let (first, second) = (try await central("hci0"), try await central("hci1"))
        let peripheral = try await find(battery.id, first)
        try await peripheral.pair()
        #expect(try await peripheral.isPaired)
        try await peripheral.disconnect()
        #expect(try await !find(battery.id, second).isPaired)
        await first.shutDown()
        await second.shutDown()
    }

    @Test func `a peripheral that has forgotten its bonds bonds with one adapter again, and that bond holds`()
        async throws
    {
        await radio.addAdapter("hci1")
        let box = await radio.add(.sealedBox(), pairing: .justWorks)
        let (first, second) = (try await central("hci0"), try await central("hci1"))
        let one = try await find(box.id, first)
        try await one.pair()
        try await one.disconnect()
        await box.loseBond()
        let other = try await find(box.id, second)
        try await other.pair()
        try await other.disconnect()
        // The other bond is as it was, and the new one secures the next link.
        try await other.connect()
        #expect(try await other.isPaired)
        #expect(await radio.isSecure(box.id))
        try await other.disconnect()
        try await one.connect()
        #expect(await !radio.isSecure(box.id))
        await first.shutDown()
        await second.shutDown()
    }

    @Test func `an adapter that is plugged in again knows the peripherals with a bond`() async throws {
        let (one, two) = (await radio.add(.battery()), await radio.add(.lamp()))
        let central = try await central("hci0")
        _ = try await find(two.id, central)
        let battery = central.peripheral(one.id)
        try await battery.pair()
        try await battery.disconnect()
        await radio.setPresent(false)
        #expect(await central.knownPeripherals().isEmpty)
        await radio.setPresent(true)
        #expect(await central.knownPeripherals().map(\.id) == [one.id])
        try await battery.connect()
        #expect(await one.isConnected)
        await central.shutDown()
    }

    /// What centrals receive when everything ends at once.
    private func ends(_ end: (SimulatedRadio) async -> Void) async throws -> [String] {
        let radio = SimulatedRadio(clock: ManualClock())
        let received = SharedValue<[String]>([])
        var ids: [Peripheral.ID] = []
        for _ in 1...8 {
            let battery = await radio.add(.battery())
            await radio.remember(battery.id)
            ids.append(battery.id)
        }
        var ports: [Int] = []
        for name in ["a", "b", "c"] {
            let port = try await radio.open(
                { event in received.change { $0.append("\(name) \(event)") } }, .none, adapter: nil)
            ports.append(port)
        }
        for id in ids.reversed() { for port in ports.reversed() { try await radio.connect(id, port) } }
        await end(radio)
        return received.value.map { String($0.prefix(60)) }
    }

    @Test func `what ends at once ends in the same order each time`() async throws {
        let ways: [(SimulatedRadio) async -> Void] = [
            { await $0.stop() }, { await $0.setPowered(false) }, { await $0.setPresent(false) },
        ]
        for way in ways {
            let first = try await ends(way)
            #expect(first.count >= 6)
            for _ in 1...5 { #expect(try await ends(way) == first) }
        }
    }

    @Test func `an adapter that there is not is refused by name`() async throws {
        let error = await #expect(throws: BLEError.self) { try await central("hci7") }
        #expect(error?.code == .adapterNotFound)
        #expect(error?.message.contains("hci7") == true)
    }
}

extension SimulatedRadio {
    fileprivate func remember(_ id: Peripheral.ID) { remembered.insert(id) }

    /// Whether all links to a peripheral are encrypted.
    fileprivate func isSecure(_ id: Peripheral.ID) -> Bool {
        peripherals[id]?.links.values.allSatisfy { $0.shared.security != .open } == true
    }
}
