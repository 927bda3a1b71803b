import BLE
import BLEBeacons
import BLESimulation
import BLETesting
import Observation
import Testing

@testable import Monitor

/// The model of the program, in virtual time.
@MainActor @Suite(.hangLimit) struct MonitorTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    /// Returns when a line contains all of the texts, with that line.
    @discardableResult private func line(_ monitor: Monitor, _ texts: String...) async throws -> String {
        try await world.asTimePasses {
            for await lines in Observations({ monitor.lines }) {
                if let line = lines.first(where: { line in texts.allSatisfy(line.contains) }) { return line }
            }
            throw CancellationError()
        }
    }

    /// A strap with these services' heart rate and battery.
    private func strap(_ name: String, heartRate: [UInt8]?, battery: [UInt8]?) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(localName: name, rssi: -50, serviceUUIDs: [BluetoothUUID(0x180D)]),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0x180D),
                    characteristics: [
                        CharacteristicDefinition(
                            BluetoothUUID(0x2A37), .notify,
                            onSubscribe: { notifier in if let heartRate { await notifier.notify(heartRate) } })
                    ]),
                ServiceDefinition(
                    BluetoothUUID(0x180F),
                    characteristics: [
                        CharacteristicDefinition(
                            BluetoothUUID(0x2A19), [.read, .notify],
                            onRead: { request throws(ATTError) in
                                if let battery { return battery }
                                try? await request.clock.sleep(for: .seconds(100_000))
                                throw .unlikelyError
                            })
                    ]),
            ])
    }

    @Test func `two straps are shown with their values, and a silent and a hostile one do not disturb them`()
        async throws
    {
        let first = await world.radio.add(.heartRateStrap(beatsPerMinute: 72, batteryLevel: 90))
        let second = await world.radio.add(.heartRateStrap(beatsPerMinute: 61, batteryLevel: 15))
        let silent = await world.radio.add(strap("Silent", heartRate: nil, battery: nil))
        let hostile = await world.radio.add(strap("\u{1B}[2JHostile\n", heartRate: [0x01], battery: [1, 2, 3]))
        let monitor = Monitor(world.central, chosen: [first.id, second.id, silent.id, hostile.id])
        let running = Task { try await monitor.run() }
        try await line(monitor, "\(first.id)", "  connected", "72 bpm", "90 %")
        try await line(monitor, "\(second.id)", "  connected", "61 bpm", "15 %")
        let shown = try await line(monitor, "\(silent.id)", "  connected")
        #expect(!shown.contains("%") && !shown.contains("bpm"))
        // Its values are errors of their own.
        try await line(monitor, "\(hostile.id)", "  connected", "  (", ")")
        #expect(monitor.lines.allSatisfy { !$0.contains("\u{1B}") && !$0.contains("\n") })

        running.cancel()
        await #expect(throws: (any Error).self) { try await running.value }
        await world.central.shutDown()
    }

    @Test func `a strap that drops its link shows why, and its values when it is back`() async throws {
        let strap = await world.radio.add(.heartRateStrap(beatsPerMinute: 72, batteryLevel: 90))
        let monitor = Monitor(world.central, chosen: [strap.id])
        let running = Task { try await monitor.run() }
        try await line(monitor, "\(strap.id)", "  connected", "72 bpm")
        await strap.setAdvertising(false)
        await strap.dropLink()
        let lost = try await line(monitor, "\(strap.id)", "lost")
        #expect(!lost.contains("bpm"))
        await strap.setAdvertising(true)
        let back = try await line(monitor, "\(strap.id)", "  connected", "72 bpm")
        #expect(!back.contains("lost"))
        await world.radio.setPowered(false)
        try await line(monitor, "Bluetooth: poweredOff")
        await world.radio.setPowered(true)
        try await line(monitor, "Bluetooth: on")
        running.cancel()
        await #expect(throws: (any Error).self) { try await running.value }
        await world.central.shutDown()
    }

    @Test func `a sensor in range is shown with its readings`() async throws {
        var advertisement = try RuuviTag(temperatureCelsius: 21.5, humidityPercent: 48).advertisement()
        (advertisement.localName, advertisement.rssi) = ("Ruuvi", -61)
        let tag = await world.radio.add(PeripheralDefinition(advertisement: advertisement, services: []))
        let monitor = Monitor(world.central)
        let running = Task { try await monitor.run() }
        try await line(monitor, "-61 dBm", "\(tag.id)", "Ruuvi", "21.5 °C", "48 %")
        await world.central.shutDown()
        await expectError(.shutDown) { try await world.asTimePasses { try await running.value } }
    }
}
