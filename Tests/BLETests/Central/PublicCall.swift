import BLE
import BLETestSupport
import Testing

/// A public call that waits for the backend, and the backend's operation that it waits for.
struct PublicCall: Sendable, CustomTestStringConvertible {
    /// The declaration: `Scripts/awaits` compares it with the public API.
    let name: String
    let waitsFor: ScriptedBackend.Operation
    let run: @Sendable (Bench) async throws -> Void

    var testDescription: String { "\(name), \(waitsFor)" }

    init(
        _ name: String, _ waitsFor: ScriptedBackend.Operation, _ run: @escaping @Sendable (Bench) async throws -> Void
    ) {
        self.name = name
        self.waitsFor = waitsFor
        self.run = run
    }

    static let all = adapter + scans + links + attributes + services

    private static let adapter = [
        PublicCall("Central.adapters()", .adapters) { _ = try await $0.central.adapters() },
        PublicCall("Central.setPowered(_:adapter:)", .setPowered) { try await $0.central.setPowered(true) },
        PublicCall("Central.setAlias(_:adapter:)", .setAlias) { try await $0.central.setAlias("x", adapter: "hci1") },
    ]

    private static let scans = [
        PublicCall("Nearby.Iterator.next()", .startDiscovery) { for try await _ in $0.central.nearby() {} },
        PublicCall("SensorTables.Iterator.next()", .startDiscovery) {
            for try await _ in $0.central.sensors(formats: AdvertisementFormats()) {}
        },
        PublicCall("Central.first(matching:timeout:)", .startDiscovery) {
            _ = try await $0.central.first(matching: .any)
        },
        PublicCall("Central.first(_:timeout:)", .startDiscovery) { _ = try await $0.central.first(Gauge.self) },
        PublicCall("Central.read(_:timeout:)", .startDiscovery) { _ = try await $0.central.read(Bench.level) },
        PublicCall("Central.write(_:to:type:timeout:)", .startDiscovery) {
            try await $0.central.write([1], to: Bench.command)
        },
        PublicCall("Central.notifications(_:overflow:timeout:)", .startDiscovery) {
            _ = try await $0.central.notifications(Bench.level)
        },
        PublicCall("Central.discoveries(matching:for:)", .startDiscovery) {
            _ = try await $0.central.discoveries(for: .seconds(3))
        },
        PublicCall("Discoveries.Iterator.next()", .startDiscovery) { for try await _ in $0.central.discoveries() {} },
        PublicCall("DiscoveryEvents.Iterator.next()", .startDiscovery) {
            for try await _ in $0.central.discoveryEvents() {}
        },
        PublicCall("AutoConnections.Iterator.next()", .startDiscovery) {
            for try await _ in $0.central.autoConnections(matching: .any) {}
        },
        PublicCall("AutoConnectionEvents.Iterator.next()", .startDiscovery) {
            for try await _ in $0.central.autoConnections(matching: .any).events {}
        },
    ]

    private static let links =
        [
            PublicCall("Peripheral.systemProperties()", .systemProperties) {
                _ = try await $0.strap.systemProperties()
            }
        ]
        + onLink("Peripheral.connect(timeout:)", nil) { try await $0.strap.connect() }
        + onLink("Peripheral.services()", nil) { _ = try await $0.strap.services() }
        + onLink("Profile.all(on:)", nil) { _ = try await Gauge.all(on: $0.strap) }
        + onLink("Peripheral.readBytes(handle:timeout:)", .read) { _ = try await $0.strap.readBytes(handle: 2) }
        + onLink("Peripheral.writeBytes(_:handle:type:timeout:)", .write) {
            try await $0.strap.writeBytes([1], handle: 11)
        }
        + onLink("Peripheral.notifications(handle:overflow:timeout:)", .startNotifications) {
            _ = try await $0.strap.notifications(handle: 2)
        }
        + onLink("Peripheral.withConnection(isolation:_:)", nil) { try await $0.strap.withConnection { _ in } }
        + onLink("Peripheral.attMTU()", .attMTU) { _ = try await $0.strap.attMTU() }
        + onLink("Peripheral.maximumWriteLength(for:)", .attMTU) {
            _ = try await $0.strap.maximumWriteLength(for: .withoutResponse)
        }
        + onLink("Peripheral.signalStrength()", .signalStrength) { _ = try await $0.strap.signalStrength() }
        + onLink("Peripheral.pair(timeout:)", .pair) { try await $0.strap.pair() }
        + [
            PublicCall("Peripheral.unpair()", .unpair) {
                await $0.backend.setPaired($0.strap.id)
                try await $0.strap.unpair()
            },
            PublicCall("Peripheral.pairingState()", .pairingState) { _ = try await $0.strap.pairingState() },
            PublicCall("Peripheral.isPaired", .pairingState) { _ = try await $0.strap.isPaired },
            PublicCall("Peripheral.setTrusted(_:)", .set) { try await $0.strap.setTrusted(true) },
            PublicCall("Peripheral.setBlocked(_:)", .set) { try await $0.strap.setBlocked(true) },
        ]

    private static let attributes =
        onLink("Peripheral.read(_:timeout:)", .read) { _ = try await $0.strap.read(Bench.level) }
        + onLink("Peripheral.readIfPresent(_:timeout:)", .read) { _ = try await $0.strap.readIfPresent(Bench.level) }
        + onLink("Peripheral.readBytes(of:offset:timeout:)", .read) {
            _ = try await $0.strap.readBytes(of: Bench.level.key, offset: 1)
        }
        + onLink("Peripheral.write(_:to:type:timeout:)", .write) { try await $0.strap.write([1], to: Bench.command) }
        + onLink("Peripheral.writeBytes(_:to:type:offset:timeout:)", .write) {
            try await $0.strap.writeBytes([1], to: Bench.command.key, type: .withoutResponse)
        }
        + onLink("Peripheral.readDescriptor(_:handle:of:timeout:)", .readDescriptor) {
            _ = try await $0.strap.readDescriptor(BluetoothUUID(0x2901), of: Bench.level.key)
        }
        + onLink("Peripheral.writeDescriptor(_:to:handle:of:timeout:)", .writeDescriptor) {
            try await $0.strap.writeDescriptor([1], to: BluetoothUUID(0x2901), of: Bench.level.key)
        }
        + onLink("Peripheral.userDescription(of:timeout:)", .readDescriptor) {
            _ = try await $0.strap.userDescription(of: Bench.level.key)
        }
        + onLink("Peripheral.notifications(_:delivery:overflow:timeout:)", .startNotifications) {
            _ = try await $0.strap.notifications(Bench.level)
        }
        + onLink("Peripheral.notifications(_:delivery:overflow:timeout:), socket", .acquireNotifications) {
            _ = try await $0.strap.notifications(Bench.level.key.bytes, delivery: .socket)
        }
        + onLink("Peripheral.packetWriter(to:timeout:)", .acquireWriting) {
            _ = try await $0.strap.packetWriter(to: Bench.command)
        }
        + onLink("Peripheral.packetWriter(to:timeout:), bytes", .acquireWriting) {
            _ = try await $0.strap.packetWriter(to: Bench.command.key.bytes)
        }
        + onLink("Peripheral.openChannel(_:security:maximumReceiveLength:timeout:)", .openChannel) {
            _ = try await $0.strap.openChannel(0x0080)
        }
        + onLink("Peripheral.readableValues(timeout:)", .read) { _ = try await $0.strap.readableValues() }
        + onLink("Peripheral.values(_:timeout:)", .startNotifications) {
            _ = try await $0.strap.values([.readAndNotify(Bench.level)])
        }

    private static let services =
        onLink("PeripheralService.discover()", nil) { _ = try await $0.gauge.discover() }
        + onLink("PeripheralService.characteristic(_:)", nil) { _ = try await $0.gauge.characteristic(Bench.level) }
        + onLink("PeripheralService.read(_:timeout:)", .read) { _ = try await $0.gauge.read(Bench.level) }
        + onLink("PeripheralService.readIfPresent(_:timeout:)", .read) {
            _ = try await $0.gauge.readIfPresent(Bench.level)
        }
        + onLink("PeripheralService.readBytes(of:offset:timeout:)", .read) {
            _ = try await $0.gauge.readBytes(of: Bench.level.key)
        }
        + onLink("PeripheralService.write(_:to:type:timeout:)", .write) {
            try await $0.tool.write([1], to: Bench.command)
        }
        + onLink("PeripheralService.writeBytes(_:to:type:offset:timeout:)", .write) {
            try await $0.tool.writeBytes([1], to: Bench.command.key)
        }
        + onLink("PeripheralService.notifications(_:delivery:overflow:timeout:)", .startNotifications) {
            _ = try await $0.gauge.notifications(Bench.level)
        }
        + onLink("PeripheralService.packetWriter(to:timeout:)", .acquireWriting) {
            _ = try await $0.tool.packetWriter(to: Bench.command)
        }
        + onLink("PeripheralService.readDescriptor(_:handle:of:timeout:)", .readDescriptor) {
            _ = try await $0.gauge.readDescriptor(BluetoothUUID(0x2901), of: Bench.level.key)
        }
        + onLink("PeripheralService.writeDescriptor(_:to:handle:of:timeout:)", .writeDescriptor) {
            try await $0.gauge.writeDescriptor([1], to: BluetoothUUID(0x2901), of: Bench.level.key)
        }
        + onLink("PeripheralService.userDescription(of:timeout:)", .readDescriptor) {
            _ = try await $0.gauge.userDescription(of: Bench.level.key)
        }

    private static func onLink(
        _ name: String, _ operation: ScriptedBackend.Operation?, _ run: @escaping @Sendable (Bench) async throws -> Void
    ) -> [PublicCall] {
        [.connect, .discoverServices, operation].compactMap { $0 }.map { PublicCall(name, $0, run) }
    }
}

/// A profile of the battery's service.
private struct Gauge: Profile {
    static let serviceUUID = Bench.battery
    let service: PeripheralService
}

extension Bench {
    fileprivate var gauge: PeripheralService { PeripheralService(Self.battery, on: strap) }
    fileprivate var tool: PeripheralService { PeripheralService(Self.vendor, on: strap) }
}
