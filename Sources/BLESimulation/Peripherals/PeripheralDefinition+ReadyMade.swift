public import BLE
public import Logging
internal import Synchronization

extension PeripheralDefinition {
    /// A heart rate strap with a battery and device information. It notifies a measurement when a central subscribes,
    /// and then every second.
    ///
    /// - Parameters:
    ///   - beatsPerMinute: the rate, 1 to 65535.
    ///   - batteryLevel: percent, 0 to 100.
    public static func heartRateStrap(
        name: String = "Simulated Strap", beatsPerMinute: Int = 72, batteryLevel: UInt8 = 90
    ) -> PeripheralDefinition {
        heartRateStrap(name: name, batteryLevel: batteryLevel) { _ in beatsPerMinute }
    }

    /// A heart rate strap with a varying rate: `beatsPerMinute` returns it, given the number of measurements sent
    /// before.
    public static func heartRateStrap(
        name: String = "Simulated Strap", batteryLevel: UInt8 = 90, beatsPerMinute: @escaping @Sendable (Int) -> Int
    ) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(
                localName: name, rssi: -50, txPower: 4, serviceUUIDs: [BluetoothUUID(0x180D), BluetoothUUID(0x180F)],
                serviceData: [BluetoothUUID(0x180F): [batteryLevel]], appearance: 0x0341),
            services: [
                .heartRate(beatsPerMinute: beatsPerMinute), .battery(level: batteryLevel),
                .deviceInformation(manufacturer: "Simulated", model: "Strap", serialNumber: "0001"),
            ])
    }

    /// A peripheral with a battery.
    public static func battery(name: String = "Simulated Battery", level: UInt8 = 90) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(localName: name, rssi: -60, serviceUUIDs: [BluetoothUUID(0x180F)]),
            services: [.battery(level: level)])
    }
}

extension PeripheralDefinition {
    /// A weather station with two thermometers, which have the user descriptions `inside` and `outside`, and a
    /// hygrometer. While notifications are on, the values change: every second for the thermometers, every two seconds
    /// for the hygrometer.
    public static func weatherStation(name: String = "Simulated Weather Station") -> PeripheralDefinition {
        let service = BluetoothUUID(0x181A)
        return PeripheralDefinition(
            advertisement: Advertisement(localName: name, rssi: -65, serviceUUIDs: [service], appearance: 0x0540),
            services: [
                ServiceDefinition(
                    service,
                    characteristics: [
                        .sensor(0x2A6E, "inside", every: .seconds(1)) { 2137 + wave($0, 24) },
                        .sensor(0x2A6E, "outside", every: .seconds(1)) { -60 + 5 * wave($0, 40) },
                        .sensor(0x2A6F, nil, every: .seconds(2)) { 4650 - 10 * wave($0, 24) },
                    ]),
                .deviceInformation(manufacturer: "Simulated", model: "Weather Station", serialNumber: "0002"),
            ])
    }

    /// Ear buds with one battery each, which presentation formats distinguish.
    ///
    /// - Parameters:
    ///   - left: the charge of the left ear bud in percent, 0 to 100.
    ///   - right: the charge of the right ear bud in percent, 0 to 100.
    public static func earBuds(
        name: String = "Simulated Ear Buds", left: UInt8 = 80, right: UInt8 = 65
    ) -> PeripheralDefinition {
        func battery(_ level: UInt8, _ place: PresentationFormat.Description) -> ServiceDefinition {
            let format = PresentationFormat(format: .uint8, unit: BluetoothUUID(0x27AD), description: place)
            var service = ServiceDefinition.battery(level: level)
            service.characteristics[0].descriptors = [DescriptorDefinition(BluetoothUUID(0x2904), value: format.bytes)]
            return service
        }
        return PeripheralDefinition(
            advertisement: Advertisement(
                localName: name, rssi: -70, serviceUUIDs: [BluetoothUUID(0x180F)], appearance: 0x0941),
            services: [battery(left, .left), battery(right, .right)])
    }

    /// A triangle wave, from 0 up to half of `period` and down again.
    private static func wave(_ step: Int, _ period: Int) -> Int {
        min(step % period, period - step % period)
    }
}

extension CharacteristicDefinition {
    /// A 16-bit sensor. `value` returns its value, given the number of notifications sent before.
    fileprivate static func sensor(
        _ uuid: UInt32, _ description: String?, every interval: Duration, value: @escaping @Sendable (Int) -> Int
    ) -> CharacteristicDefinition {
        let present = Present(bytes(value(0)))
        return CharacteristicDefinition(
            BluetoothUUID(uuid), [.read, .notify],
            descriptors: description.map { [DescriptorDefinition(BluetoothUUID(0x2901), value: Array($0.utf8))] } ?? [],
            onRead: { (_) throws(ATTError) in present.bytes.withLock { $0 } },
            onSubscribe: { notifier in
                var count = 0
                while true {
                    let bytes = bytes(value(count))
                    present.bytes.withLock { $0 = bytes }
                    await notifier.notify(bytes)
                    count += 1
                    try await notifier.clock.sleep(for: interval)
                }
            })
    }

    private static func bytes(_ value: Int) -> [UInt8] {
        let bits = UInt16(truncatingIfNeeded: value)
        return [UInt8(bits & 0xFF), UInt8(bits >> 8)]
    }

    /// The current value of a sensor.
    private final class Present: Sendable {
        let bytes: Mutex<[UInt8]>

        init(_ bytes: [UInt8]) { self.bytes = Mutex(bytes) }
    }
}

extension ServiceDefinition {
    /// The Heart Rate service (1.0): a measurement every second, with contact, energy expended and one RR interval, and
    /// the sensor location chest.
    public static func heartRate(beatsPerMinute: @escaping @Sendable (Int) -> Int) -> ServiceDefinition {
        ServiceDefinition(
            BluetoothUUID(0x180D),
            characteristics: [
                CharacteristicDefinition(
                    BluetoothUUID(0x2A37), .notify,
                    onSubscribe: { notifier in
                        var count = 0
                        while true {
                            await notifier.notify(measurement(max(1, beatsPerMinute(count)), energyExpended: 10))
                            count += 1
                            try await notifier.clock.sleep(for: .seconds(1))
                        }
                    }),
                CharacteristicDefinition(BluetoothUUID(0x2A38), .read, value: [1]),
            ])
    }

    /// Encodes a measurement with these flags: 16-bit rate, contact supported and detected, energy expended, RR
    /// intervals.
    private static func measurement(_ beatsPerMinute: Int, energyExpended: UInt16) -> [UInt8] {
        let rate = UInt16(clamping: beatsPerMinute)
        let interval = UInt16(clamping: 60 * 1024 / beatsPerMinute)
        return [0x1F] + [rate, energyExpended, interval].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    }

    /// The Battery service (1.1) with a constant level in percent.
    public static func battery(level: UInt8) -> ServiceDefinition {
        ServiceDefinition(
            BluetoothUUID(0x180F),
            characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A19), [.read, .notify], value: [level])])
    }

    /// The Device Information service (1.1) with the given items.
    public static func deviceInformation(
        manufacturer: String? = nil, model: String? = nil, serialNumber: String? = nil, hardwareRevision: String? = nil,
        firmwareRevision: String? = nil, softwareRevision: String? = nil, systemID: [UInt8]? = nil,
        pnpID: [UInt8]? = nil, regulatoryCertifications: [UInt8]? = nil
    ) -> ServiceDefinition {
        let items: [(UInt32, [UInt8]?)] = [
            (0x2A29, manufacturer.map { Array($0.utf8) }), (0x2A24, model.map { Array($0.utf8) }),
            (0x2A25, serialNumber.map { Array($0.utf8) }), (0x2A27, hardwareRevision.map { Array($0.utf8) }),
            (0x2A26, firmwareRevision.map { Array($0.utf8) }), (0x2A28, softwareRevision.map { Array($0.utf8) }),
            (0x2A23, systemID), (0x2A50, pnpID), (0x2A2A, regulatoryCertifications),
        ]
        return ServiceDefinition(
            BluetoothUUID(0x180A),
            characteristics: items.compactMap { uuid, value in
                value.map { CharacteristicDefinition(BluetoothUUID(uuid), .read, value: $0) }
            })
    }
}

extension SimulatedRadio {
    /// A radio for trying a program, in real time: a heart rate strap of varying rate, a battery, a weather station,
    /// ear buds, a lamp that can be written, a lock that pairs with a number, and three beacons.
    ///
    /// - Parameter logger: receives log messages; see ``init(clock:logger:)``.
    public static func demonstration(logger: Logger = Logger(label: "ble")) async -> SimulatedRadio {
        let radio = SimulatedRadio(logger: logger)
        _ = await radio.add(.heartRateStrap { 72 + [0, 1, 3, 4, 2, 1][$0 % 6] })
        _ = await radio.add(.battery())
        _ = await radio.add(.weatherStation())
        _ = await radio.add(.earBuds())
        _ = await radio.add(.lamp())
        _ = await radio.add(.sealedBox(), pairing: .comparison { _ in true })
        for beacon in PeripheralDefinition.beacons { _ = await radio.add(beacon) }
        return radio
    }

    /// The number of peripherals of ``demonstration(logger:)``.
    package static let demonstrationCount = 6 + PeripheralDefinition.beacons.count
}
