import BLE
import BLEBlueZ
import BLEProfiles
import BLESimulation
import Glibc

/// How often the temperature is measured.
actor Rhythm {
    private(set) var tenths: UInt8 = 10
    var interval: Duration { .milliseconds(100 * Int(tenths)) }

    func setTenths(_ tenths: UInt8) throws(ATTError) {
        guard tenths > 0 else { throw .valueNotAllowed }
        self.tenths = tenths
    }
}

extension Characteristic where Value == UInt8 {
    /// The time between two measurements, in tenths of a second.
    static let rhythm = Characteristic(
        BluetoothUUID("8E1D0001-5C0E-4F0B-9B5D-0A6A3B1F7C21")!, service: .environmentalSensing)
}

extension PeripheralDefinition {
    /// A thermometer. Centrals set its rhythm.
    static func thermometer() -> PeripheralDefinition {
        let rhythm = Rhythm()
        return PeripheralDefinition(
            advertisement: Advertisement(localName: "Thermometer", serviceUUIDs: [.environmentalSensing]),
            services: [
                ServiceDefinition(
                    .environmentalSensing,
                    characteristics: [
                        CharacteristicDefinition(.temperature) { notifier, send in
                            for step in 0... {
                                try await send(21.5 + Double(step % 10) / 10)
                                try await notifier.clock.sleep(for: await rhythm.interval)
                            }
                        },
                        CharacteristicDefinition(.rhythm, [.read, .write]) { _ in
                            await rhythm.tenths
                        } onWrite: { tenths, _ in
                            try await rhythm.setTenths(tenths)
                        },
                    ])
            ])
    }
}

/// What a phone does with a thermometer.
@Sendable func use(_ phone: Central) async throws {
    let thermometer = try await phone.first(matching: .service(.environmentalSensing)).peripheral
    try await thermometer.write(1, to: .rhythm)
    print("rhythm: \(try await thermometer.read(.rhythm)) tenths of a second")
    var count = 0
    for try await temperature in try await thermometer.notifications(.temperature) {
        print("\(temperature ?? .nan) °C")
        count += 1
        if count == 3 { break }
    }
    await phone.shutDown()
}

/// As a device in memory: tests a program that is a central.
@Sendable func runAsDevice() async throws {
    let radio = SimulatedRadio()
    _ = await radio.add(.thermometer())
    try await use(try await Central(backend: .simulated(radio)))
}

/// As this machine, on a radio in memory: tests a program that is a peripheral.
@Sendable func runInMemory() async throws {
    let radio = SimulatedRadio()
    let host = try await PeripheralHost(backend: .simulated(radio))
    let phone = try await Central(backend: .simulated(radio))
    try await host.withServed(.thermometer()) { _ in try await use(phone) }
    await host.shutDown()
}

/// As this machine, with its Bluetooth, until SIGTERM.
@Sendable func runOnAir() async throws {
    try await withPeripheralHost(waits: true) { host in
        let events = await host.events()
        try await withThrowingTaskGroup { group in
            group.addTask { try await host.serve(.thermometer()) }
            group.addTask {
                for try await event in events {
                    print(event)
                    fflush(nil)
                }
            }
            // Either ends both.
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

let run: @Sendable () async throws -> Void
switch CommandLine.arguments.dropFirst().first {
case "device": run = runAsDevice
case "memory": run = runInMemory
case "air": run = runOnAir
default:
    print("usage: thermometer device|memory|air")
    exit(64)
}
if await runProgram(run) != nil { print("stopped") }
