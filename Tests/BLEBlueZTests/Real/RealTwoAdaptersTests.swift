import BLE
import BLEBackendTesting
import BLEBlueZ
import BLEFirmware
import BLETestSupport
import BlueZTestSupport
import Testing

/// A second adapter beside the one in use, on the real bluetoothd. Runs inside `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealTwoAdaptersTests {
    private let peer = RealPeer()

    private static let service = BluetoothUUID(0xFFE0)
    private static let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2), service: service)
    private static let second = "/org/bluez/hci1"
    private static let central = "dev_F8_F9_FA_FB_FC_01"

    /// Plugs in the second adapter.
    private func plugSecond() async throws {
        try await peer.tell("second on")
        try await peer.run(
            "until busctl get-property org.bluez \(Self.second) org.bluez.Adapter1 Powered | grep true; do sleep 0.1; done"
        )
    }

    /// Plugs in the second adapter, and lets a central on it discover the device.
    private func whileHeard(_ id: Peripheral.ID, body: () async throws -> Void) async throws {
        try await plugSecond()
        let listener = try await Central(backend: .bluez(adapter: "hci1"))
        _ = try await listener.find(id)
        try await body()
        await listener.shutDown()
        try await peer.tell("second off")
    }

    @Test func `a device of the second adapter that goes ends nothing of the central with its address`() async throws {
        try await peer.reset()
        let disconnections = SharedValue(0)
        let definition = PeripheralDefinition(
            advertisement: Advertisement(serviceUUIDs: [Self.service]),
            services: [
                ServiceDefinition(
                    Self.service, characteristics: [CharacteristicDefinition(Self.output.uuid, [.read, .notify])],
                    onDisconnect: { _ in disconnections.change { $0 += 1 } })
            ])
        let host = try await PeripheralHost()
        let central = try await Central(backend: BumbleCentral(1))
        try await host.withServed(definition) { served in
            let remote = try await central.first(matching: .service(Self.service), timeout: HangLimit.step).peripheral
            var values = try await remote.notifications(Self.output).makeAsyncIterator()
            await until { (try? await served.subscribers(of: Self.output))?.isEmpty == false }
            try await peer.tell("central 1 adv on")
            try await whileHeard(Peripheral.ID(address: "F8:F9:FA:FB:FC:01")) {
                try await peer.run(
                    "busctl call org.bluez \(Self.second) org.bluez.Adapter1 RemoveDevice o \(Self.second)/\(Self.central)"
                )
                try await served.setValue([1], of: Self.output)
                #expect(try await values.next() == [1])
            }
            // The second adapter is gone by now, with all devices that it has discovered.
            try await served.setValue([2], of: Self.output)
            #expect(try await values.next() == [2])
            #expect(await host.connectedCentrals.count == 1)
            #expect(disconnections.value == 0)
            try await remote.disconnect()
            await until { disconnections.value == 1 }
        }
        await central.shutDown()
        await host.shutDown()
    }

    // MARK: A firmware update from one adapter to the other

    /// Ends the link on the first adapter's side.
    private func cut() async throws {
        try await peer.run(
            """
            for device in $(busctl tree --list org.bluez | grep -E '^/org/bluez/hci0/dev_[0-9A-F_]+$'); do
                busctl get-property org.bluez $device org.bluez.Device1 Connected | grep -q true || continue
                busctl call org.bluez $device org.bluez.Device1 Disconnect
            done
            """)
    }

    /// 5.66 opens further channels of the Attribute Protocol between two of its own, over which the first request is
    /// never answered.
    @Test(.enabled(if: Guest.bluetoothdVersion ?? 0 >= 80))
    func `a firmware image of 500 kB arrives although the link is cut three times`() async throws {
        try await peer.reset()
        try await plugSecond()
        let storage = MemoryFirmwareStorage(.init(primary: FirmwareImage(version: FirmwareVersion(1, 0), program: [1])))
        let device = FirmwarePeripheral(storage, onReset: { _ in try await storage.reset() })
        let host = try await PeripheralHost(backend: .bluez(adapter: "hci0"))
        let central = try await Central(backend: .bluez(adapter: "hci1"))
        let image = FirmwareImage(
            version: FirmwareVersion(2, 0), program: (0..<500_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
        )
        try await host.withServed(device.definition(name: "Updatable")) { _ in
            let lamp = try await central.first(matching: .name("Updatable"), timeout: HangLimit.step).peripheral
            let client = FirmwareClient(lamp)
            var (cuts, reported) = (0, 0)
            for try await progress in client.upload(image, reconnects: 5) {
                if progress.sentBytes >= reported + 25_000 {
                    reported = progress.sentBytes
                    // The test makes progress.
                    try await peer.run(": \(reported)")
                }
                guard cuts != 3, (cuts + 1) * 100_000 <= progress.sentBytes else { continue }
                cuts += 1
                try await cut()
            }
            #expect(cuts == 3)
            #expect(await storage.contents.secondary == image)
            let slots = try await client.test(hash: image.hash)
            #expect(slots.contains { $0.hash == image.hash && $0.isPending })
            try await client.reset()
            #expect(await storage.contents.primary == image)
            try await client.confirm()
            #expect(await storage.contents.isConfirmed)
        }
        await central.shutDown()
        await host.shutDown()
        try await peer.tell("second off")
    }
}
