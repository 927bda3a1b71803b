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

    @Test func `fifty sensors are followed for an hour, and every value is accounted for`() async throws {
        let world = try await SimulatedWorld()
        let sent = (0..<50).map { _ in SharedValue<UInt32>(0) }
        let received = sent.map { _ in SharedValue<[UInt32]>([]) }
        var sensors: [SimulatedPeripheral] = []
        for sent in sent {
            sensors.append(
                await world.radio.add(
                    PeripheralDefinition(
                        advertisement: Advertisement(localName: "Sensor", rssi: -60), services: Self.services(sent))))
        }
        await world.radio.disturb([.connect: 0.2, .discover: 0.05, .subscribe: 0.1, .read: 0.2], seed: 1)
        await world.radio.dropLink(after: .notify, .probability(0.002, seed: 2))
        await world.radio.delay(.notify, .probability(0.002, seed: 3), by: .milliseconds(300))
        let lost = await world.radio.ignore(.notify, .probability(0.001, seed: 4))

        await world.run {
            await withTaskGroup { group in
                for (sensor, received) in zip(sensors, received) {
                    group.addTask { await Self.follow(world.central.peripheral(sensor.id), received) }
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
        await world.central.shutDown()
    }
}
