import BLE
import BLEBackendTesting
import BLEBlueZ
import BLEFirmware
import BLEProfiles
import BLETestSupport
import BLETransfers
import BlueZTestSupport
import Foundation
import Testing

/// A second adapter beside the one in use, on the real bluetoothd. Runs inside `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .startsProcesses, .hangLimit)
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

    // MARK: Two radios of one central

    @Test func `a maintained link goes on over the other adapter when its own is unplugged`() async throws {
        try await peer.reset()
        try await plugSecond()
        let central = try await Central(radios: [.bluez(adapter: "hci0"), .bluez(adapter: "hci1")])
        let strap = try await central.first(matching: .service(.heartRate), timeout: HangLimit.step).peripheral
        let scan = Task { for try await _ in central.discoveries() {} }
        await until { await strap.radioPaths.filter { $0.age != nil }.count == 2 }
        try await strap.setRadios(["hci1"])
        try await strap.setConnectionPolicy(.maintained())
        var values = try await strap.notifications(EchoStrap.output).makeAsyncIterator()
        try await peer.until(subscribers: 1)
        try await peer.notify([1])
        #expect(try await values.next() == [1])
        #expect(await strap.radio == "hci1")
        try await strap.setRadios(nil)
        try await peer.tell("second off")
        await until { await strap.radio == "hci0" }
        #expect(await central.adapterState == .poweredOn)
        #expect(await central.radios.map(\.state).first == .poweredOn)
        try await peer.until(subscribers: 1)
        try await peer.notify([2])
        #expect(try await values.next() == [2])
        scan.cancel()
        try await strap.setConnectionPolicy(.manual)
        try await strap.disconnect()
        await central.shutDown()
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

    /// Prints how fast both clients are on the same link: with 500 kB, 12.8 kB/s and 16.9 kB/s in a guest of user-mode Linux.
    /// Only with `BLE_SMPCLIENT=1`: in a busy guest, bluetoothd ends each link of bleak between two of its own adapters before
    /// the services are known: in one of three runs five times in a row.
    @Test(
        .enabled(if: Guest.bluetoothdVersion ?? 0 >= 80 && OtherPrograms.has("smpclient")),
        .enabled(if: ProcessInfo.processInfo.environment["BLE_SMPCLIENT"] != nil))
    func `smpclient updates a device although it disconnects three times`() async throws {
        try await peer.reset()
        try await plugSecond()
        let storage = MemoryFirmwareStorage(.init(primary: FirmwareImage(version: FirmwareVersion(1, 0), program: [1])))
        let device = FirmwarePeripheral(
            storage, applicationInfo: "the guest",
            onExecute: { .init(output: $0.joined(separator: " "), returnCode: 3) },
            onReset: { _ in try await storage.reset() })
        let host = try await PeripheralHost(backend: .bluez(adapter: "hci0"))
        try await host.withServed(device.definition(name: "Updatable")) { _ in
            let session = try await OtherPrograms.firmwareSession(name: "Updatable", adapter: "hci1", length: 150_000)
            #expect(session.hasSuffix("ok\n"), "\(session)")
            print(session)
            let updated = await storage.contents.primary
            #expect(updated?.version == FirmwareVersion(3, 2, 1))
            #expect(updated?.bytes.count ?? 0 > 150_000)
            #expect(await storage.contents.isConfirmed)
            let central = try await Central(backend: .bluez(adapter: "hci1"))
            let lamp = try await central.first(matching: .name("Updatable"), timeout: HangLimit.step).peripheral
            let image = FirmwareImage(version: FirmwareVersion(4, 0), program: [UInt8](repeating: 7, count: 150_000))
            let elapsed = try await ContinuousClock().measure {
                for try await _ in FirmwareClient(lamp).upload(image) {}
            }
            #expect(await storage.contents.secondary == image)
            print(
                "this client: \(image.bytes.count) bytes, \(Int(Double(image.bytes.count) / (elapsed / .seconds(1)))) bytes/s"
            )
            await central.shutDown()
        }
        await host.shutDown()
        try await peer.tell("second off")
    }

    // MARK: Transfers from one adapter to the other

    @Test(
        .enabled(if: Guest.bluetoothdVersion ?? 0 >= 80), arguments: [TransferCarrier.characteristics, .channel(0x81)])
    func `a file goes on where it was cut, there and back`(_ carrier: TransferCarrier) async throws {
        try await peer.reset()
        try await plugSecond()
        let storage = MemoryTransferStorage()
        let receiver = TransferPeripheral(storage, library: storage)
        let host = try await PeripheralHost(backend: .bluez(adapter: "hci0"))
        let central = try await Central(backend: .bluez(adapter: "hci1"))
        let file = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
        try await host.withServed(receiver.definition(name: "Logger", channel: 0x81)) { _ in
            let logger = try await central.first(matching: .name("Logger"), timeout: HangLimit.step).peripheral
            let client = TransferClient(logger, over: carrier)
            try await cutTwice(client.send(file, as: "log", reconnects: 5))
            #expect(await storage.files == ["log": file])
            let copy = MemoryTransferStorage()
            try await cutTwice(client.receive("log", into: copy, reconnects: 5))
            #expect(await copy.files == ["log": file])
        }
        await central.shutDown()
        await host.shutDown()
        try await peer.tell("second off")
    }

    /// Cuts the link after 100 kB and after 200 kB, from where the transfer goes on.
    private func cutTwice(_ transfer: FileTransfer) async throws {
        var cuts = 0
        for try await progress in transfer where cuts < 2 && (cuts + 1) * 100_000 <= progress.transferredBytes {
            cuts += 1
            try await cut()
        }
        #expect(cuts == 2)
    }
}
