import BLE
import BLEBlueZ
import BLEProfiles
import BLESimulation
import BLETestSupport
import BLEBackendTesting
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Foundation
import Logging
import Loop
import Testing

/// Messages of other programs and users on the bus that claim to be from bluetoothd, or from the bus; see
/// Docs/Security.md.
@Suite(.startsProcesses, .hangLimit)
struct TrustTests {
    /// Sends a message to every connection of a bus.
    private struct Stranger {
        let session = BusSession(
            loop: EventLoop(name: "stranger"), logger: Logger(label: "test"), onSignal: { _ in }, onLoss: {})

        init(on bus: PrivateBus) async throws {
            try await session.open(.address(bus.address), timeout: HangLimit.step)
        }

        func names() async throws -> [String] {
            let names = try await session.call(.bus("ListNames"), timeout: HangLimit.step).value()
            guard case .array(_, let values) = names else { return [] }
            return values.compactMap(\.string).filter { $0.hasPrefix(":") }
        }

        /// Returns once the bus has delivered it.
        func say(_ path: String, _ interface: String, _ signal: String, _ arguments: [DBusValue]) async throws {
            for name in try await names() {
                try await session.emit(path: path, interface: interface, signal: signal, arguments, to: name)
            }
            _ = try await session.call(.bus("GetId"), timeout: HangLimit.step)
        }
    }

    private static func value(_ byte: UInt8) -> [DBusValue] {
        [.string(BlueZ.gattCharacteristic), .options(["Value": .bytes([byte])]), .strings([])]
    }

    /// The strap's characteristic of that type, by its path on the fake.
    private static func path(_ uuid: BluetoothUUID, _ strap: Peripheral) async throws -> String {
        func hex(_ handle: UInt16) -> String { Hex.string([UInt8(handle >> 8), UInt8(handle & 0xFF)]) }
        for service in try await strap.services() {
            for characteristic in service where characteristic.uuid == uuid {
                let device = strap.id.rawValue.replacingOccurrences(of: ":", with: "_")
                return "/org/bluez/hci0/dev_\(device)/service\(hex(service.handle))/char\(hex(characteristic.handle))"
            }
        }
        throw BLEError(.characteristicNotFound, "\(uuid)")
    }

    @Test func `a value that another program sends is dropped`() async throws {
        let peer = try await FakePeer()
        let stranger = try await Stranger(on: peer.bus)
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        try await strap.connect()
        var values = try await strap.notifications(EchoStrap.output).makeAsyncIterator()
        let path = try await Self.path(EchoStrap.output.key.characteristic, strap)
        try await stranger.say(path, BlueZ.properties, "PropertiesChanged", Self.value(66))
        await peer.notify([2])
        #expect(try await values.next() == [2])
        await stranger.session.close()
        await central.shutDown()
    }

    @Test func `that bluetoothd is gone, or another, is only the bus's to say`() async throws {
        let peer = try await FakePeer()
        let stranger = try await Stranger(on: peer.bus)
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        try await strap.connect()
        let bus = "org.freedesktop.DBus"
        let owner = try await stranger.session.call(
            .bus("GetNameOwner", [.string(BlueZ.service)]), timeout: HangLimit.step
        ).value()
        for new in ["", try #require(await stranger.session.uniqueName)] {
            try await stranger.say(
                "/org/freedesktop/DBus", bus, "NameOwnerChanged", [.string(BlueZ.service), owner, .string(new)])
        }
        // In order with the signals.
        _ = try await central.adapters()
        #expect(await central.adapterState == .poweredOn)
        #expect(await strap.connectionState == .connected)
        #expect(try await strap.read(.batteryLevel) == 87)
        await stranger.session.close()
        await central.shutDown()
    }

    @Test func `objects that another program invents are not there`() async throws {
        let peer = try await FakePeer()
        let stranger = try await Stranger(on: peer.bus)
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        let known = await central.knownPeripherals().map(\.id)
        let device: DBusValue = .dictionary(
            key: "s", value: "a{sv}",
            [
                .string(BlueZ.device): .options([
                    "Address": .string("00:00:00:00:00:66"), "Adapter": .objectPath("/org/bluez/hci0"),
                    "RSSI": .int16(-40), "Connected": .boolean(true),
                ])
            ])
        try await stranger.say(
            "/", BlueZ.objectManager, "InterfacesAdded",
            [.objectPath("/org/bluez/hci0/dev_00_00_00_00_00_66"), device])
        try await stranger.say(
            "/", BlueZ.objectManager, "InterfacesRemoved",
            [.objectPath("/org/bluez/hci0"), .strings([BlueZ.adapter])])
        #expect(try await central.adapters().count == 1)
        #expect(await central.knownPeripherals().map(\.id) == known)
        try await strap.connect()
        await stranger.session.close()
        await central.shutDown()
    }

    /// Whether the distribution's policies are installed, and this process can act as another user.
    private static let hasPolicies =
        geteuid() == 0
        && ["/usr/share/dbus-1/system.conf", "/etc/dbus-1/system.d/bluetooth.conf"].allSatisfy {
            FileManager.default.isReadableFile(atPath: $0)
        }

    /// The policies of a file of the bus's configuration.
    private static func policies(_ path: String) throws -> String {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        return text.matches(of: /(?s)<policy .*?<\/policy>/).map { String($0.output) }.joined(separator: "\n")
    }

    @Test(.enabled(if: hasPolicies, "needs root, and the policies of dbus and bluez"))
    func `under the distribution's policies another user is not believed either`() async throws {
        let policy = try ["/usr/share/dbus-1/system.conf", "/etc/dbus-1/system.d/bluetooth.conf"].map(Self.policies)
            .joined()
        let world = try await BlueZWorld(policy: policy)
        let peripheral = await world.radio.add(SimulatedStrap().definition)
        let central = try await world.makeCentral()
        let strap = try await central.find()
        try await strap.connect()
        var values = try await strap.notifications(.batteryLevel).makeAsyncIterator()
        let path = try await Self.path(BluetoothUUID(0x2A19), strap)
        let stranger = try await Stranger(on: world.bus)
        for name in try await stranger.names() {
            for (path, signal, arguments) in [
                (
                    path, "\(BlueZ.properties).PropertiesChanged",
                    ["'\(BlueZ.gattCharacteristic)'", "{'Value': <[byte 66]>}", "@as []"]
                ),
                (
                    "/org/freedesktop/DBus", "org.freedesktop.DBus.NameOwnerChanged",
                    ["'org.bluez'", "'\(name)'", "''"]
                ),
            ] {
                let forger = TestProgram(
                    "setpriv",
                    [
                        "--reuid=65534", "--regid=65534", "--clear-groups", "gdbus", "emit", "--address",
                        world.bus.address, "--dest", name, "--object-path", path, "--signal", signal,
                    ] + arguments)
                let result = try await forger.run()
                #expect(result.status == 0, "\(result.errors)")
            }
        }
        _ = try await central.adapters()
        #expect(await central.adapterState == .poweredOn)
        // The level is read from the strap, whose own value comes next.
        await peripheral.notify([2], from: BluetoothUUID(0x2A19))
        #expect(try await values.next() == 2)
        await stranger.session.close()
        await central.shutDown()
    }

    // MARK: Odd messages of bluetoothd

    @Test func `a property of another type than documented counts as not said`() async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        try await strap.connect()
        let states = await strap.connectionStates()
        await peer.daemon.say(
            ["RSSI": .string("strong"), "Name": .uint16(7), "Connected": .boolean(false)], of: strap.id)
        for try await state in states where state == .disconnected { break }
        await central.shutDown()
    }

    // MARK: The way out

    @Test func `links are ended all at once, in a cancelled task, too`() async throws {
        let world = try await BlueZWorld()
        var peripherals: [SimulatedPeripheral] = []
        for _ in 0..<3 { peripherals.append(await world.radio.add(.battery())) }
        let central = try await world.makeCentral()
        var found: Set<Peripheral.ID> = []
        for try await discovery in central.discoveries() {
            found.insert(discovery.peripheral.id)
            if found.count == 3 { break }
        }
        for id in found { try await central.peripheral(id).connect() }
        await world.daemon.hang("Disconnect")
        let leaving = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await central.shutDown()
        }
        // One after the other, only the first would hang.
        await until { await world.daemon.hungCount == 3 }
        await world.daemon.release()
        await leaving.value
        for peripheral in peripherals {
            #expect(await peripheral.isConnected == false)
        }
    }
}
