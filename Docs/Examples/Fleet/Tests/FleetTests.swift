import BLE
import BLESimulation
import BLETesting
import Testing

/// Fifty sensors, an hour, and everything that can go wrong on the way.
@Suite(.hangLimit) struct FleetTests {
    /// Counts the values that a sensor sends.
    private static let count = Characteristic<UInt32>(BluetoothUUID(0xFF01), service: BluetoothUUID(0xFF00))
    /// How many values the sensor has sent so far.
    private static let total = Characteristic<UInt32>(BluetoothUUID(0xFF02), service: BluetoothUUID(0xFF00))

    /// The services of a sensor that sends the next number to a subscriber each second.
    private static func services(_ sent: SharedValue<UInt32>) -> [ServiceDefinition] {
        [
            ServiceDefinition(
                BluetoothUUID(0xFF00),
                characteristics: [
                    CharacteristicDefinition(
                        count.uuid, [.notify],
                        onSubscribe: { notifier in
                            while true {
                                try await notifier.clock.sleep(for: .seconds(1))
                                let next = sent.change { number in
                                    number += 1
                                    return number
                                }
                                await notifier.notify(try count.coding.encode(next))
                            }
                        }),
                    CharacteristicDefinition(
                        total.uuid, [.read],
                        onRead: { _ throws(ATTError) in
                            withUnsafeBytes(of: sent.value.littleEndian, Array.init)
                        }),
                ])
        ]
    }

    /// The program under test: keeps a sensor connected, reads what it has sent, and collects its values.
    private static func follow(_ sensor: Peripheral, _ received: SharedValue<[UInt32]>) async {
        while !Task.isCancelled {
            do {
                try await sensor.setConnectionPolicy(.maintained())
                let values = try await sensor.notifications(count, overflow: .fail(capacity: 1000))
                for try await event in values.events {
                    switch event {
                    case .value(let number): received.change { $0.append(number) }
                    case .gap: break
                    }
                    if received.value.count % 60 == 0 { _ = try? await sensor.read(total) }
                }
            } catch {
                try? await sensor.central.configuration.clock.sleep(for: .seconds(1))
            }
        }
    }

    /// Counts how often a sensor tells that its services have changed.
    private static func watch(_ sensor: Peripheral, _ changes: SharedValue<Int>) async throws {
        for try await event in await sensor.connectionEvents() {
            if case .servicesChanged = event { changes.change { $0 += 1 } }
        }
    }

    @Test func `fifty sensors are followed for an hour, and every value is accounted for`() async throws {
        let log = LogRecords()
        let world = try await SimulatedWorld(log: log, logsEvents: false)
        let sent = (0..<50).map { _ in SharedValue<UInt32>(0) }
        let received = sent.map { _ in SharedValue<[UInt32]>([]) }
        var sensors: [SimulatedPeripheral] = []
        for sent in sent {
            sensors.append(
                await world.radio.add(
                    PeripheralDefinition(
                        advertisement: Advertisement(localName: "Sensor", rssi: -60), services: Self.services(sent))))
        }
        let disturbances = await world.radio.disturb(
            [.connect: 0.2, .discover: 0.05, .subscribe: 0.1, .read: 0.2], seed: 1)
        let refused = await world.radio.fail(
            .subscribe, .probability(0.05, seed: 5), with: .insufficientResources)
        let slow = await world.radio.delay(.read, .probability(0.05, seed: 6), by: .seconds(3))
        let dropped = await world.radio.dropLink(after: .notify, .probability(0.002, seed: 2))
        let late = await world.radio.delay(.notify, .probability(0.002, seed: 3), by: .milliseconds(300))
        let lost = await world.radio.ignore(.notify, .probability(0.001, seed: 4))
        let changes = SharedValue(0)

        await world.run {
            await withTaskGroup { group in
                for (sensor, received) in zip(sensors, received) {
                    group.addTask { await Self.follow(world.central.peripheral(sensor.id), received) }
                    group.addTask { try? await Self.watch(world.central.peripheral(sensor.id), changes) }
                }
                for minute in 1...60 {
                    await world.clock.run(for: .seconds(60))
                    // A sensor has new firmware, with one more service.
                    let updated = minute % sensors.count
                    await sensors[updated].setServices(
                        Self.services(sent[updated]) + [
                            ServiceDefinition(
                                BluetoothUUID(0xFF10),
                                characteristics: [
                                    CharacteristicDefinition(BluetoothUUID(0xFF11), [.read], value: [UInt8(minute)])
                                ])
                        ])
                }
                group.cancelAll()
            }
        }

        var missing = 0
        for (sent, received) in zip(sent, received) {
            let numbers = received.value
            // Once, and in order.
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy(<))
            // Most of the hour.
            #expect(numbers.count > 3000)
            missing += Int(sent.value) - numbers.count
        }
        #expect(missing == (await lost.count))

        // All of it has gone wrong, and the central has seen it.
        for (event, fault) in disturbances { #expect(await fault.count > 0, "\(event)") }
        for fault in [refused, slow, dropped, late, lost] { #expect(await fault.count > 0) }
        let statistics = await world.central.statistics
        let ends = log.metadata(of: "simulated link ended").compactMap { $0["error"] }
        #expect(ends.count { $0.contains("the link was lost") } >= 100)
        #expect(statistics.linkEndCounts[.timeout, default: 0] >= 100)
        let attempts = [statistics[.connect], statistics[.reconnect]].map(\.failureCounts)
        #expect(attempts.reduce(0) { $0 + $1[.connectionFailed, default: 0] } > 0)
        #expect(statistics[.subscribe].failureCounts[.attributeError, default: 0] > 0)
        #expect(statistics[.read].longestDuration >= .seconds(3))
        #expect(log.metadata(of: "simulated fault").count { $0["fault"] == "setServices" } == 60)
        #expect(changes.value > 0)
        await world.central.shutDown()
    }
}
