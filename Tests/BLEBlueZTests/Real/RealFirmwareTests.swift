import BLE
import BLEBlueZ
import BLEFirmware
import BLETestSupport
import BlueZTestSupport
import Testing

/// Firmware updates from one adapter of the real bluetoothd to a device that is served on another. Runs inside
/// `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .startsProcesses, .hangLimit)
struct RealFirmwareTests {
    private let peer = RealPeer()
    private static let length = 500_000
    private static let name = "Updatable"

    /// Serves a device on the first adapter while the second one is there.
    private func whileServed(_ body: (MemoryFirmwareStorage) async throws -> Void) async throws {
        try await peer.reset()
        try await peer.tell("second on")
        try await peer.run(
            "until busctl get-property org.bluez /org/bluez/hci1 org.bluez.Adapter1 Powered | grep true; do sleep 0.1; done"
        )
        let storage = MemoryFirmwareStorage(.init(primary: FirmwareImage(version: FirmwareVersion(1, 0), program: [1])))
        let device = FirmwarePeripheral(
            storage, applicationInfo: "guest",
            onExecute: { .init(output: $0.joined(separator: " "), returnCode: 3) },
            onReset: { _ in try await storage.reset() })
        let host = try await PeripheralHost(backend: .bluez(adapter: "hci0"))
        let result: Result<Void, any Error>
        do {
            result = .success(
                try await host.withServed(device.definition(name: Self.name)) { _ in try await body(storage) })
        } catch {
            result = .failure(error)
        }
        await host.shutDown()
        try await peer.tell("second off")
        try result.get()
    }

    /// Ends the link on the device's side.
    private func cut() async throws {
        try await peer.run(
            """
            for device in $(busctl tree --list org.bluez | grep -E '^/org/bluez/hci0/dev_[0-9A-F_]+$'); do
                busctl get-property org.bluez $device org.bluez.Device1 Connected | grep -q true || continue
                busctl call org.bluez $device org.bluez.Device1 Disconnect
            done
            """)
    }

    @Test func `an image of 500 kB arrives although the link is cut three times`() async throws {
        let image = FirmwareImage(
            version: FirmwareVersion(2, 0),
            program: (0..<Self.length).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
        try await whileServed { storage in
            let central = try await Central(backend: .bluez(adapter: "hci1"))
            let lamp = try await central.first(matching: .name(Self.name), timeout: HangLimit.step).peripheral
            let client = FirmwareClient(lamp)
            var (cuts, reported) = (0, 0)
            for try await progress in client.upload(image, reconnects: 5) {
                if progress.sentBytes >= reported + 100_000 {
                    reported = progress.sentBytes
                    try await peer.run(": \(progress.sentBytes)")
                }
                guard cuts != 3, (cuts + 1) * 100_000 <= progress.sentBytes else { continue }
                cuts += 1
                try await cut()
            }
            #expect(cuts == 3)
            let slots = try await client.test(hash: image.hash)
            #expect(slots.contains { $0.hash == image.hash && $0.isPending })
            #expect(await storage.contents.secondary == image)

            // A smaller one without a cut, for the time that it takes.
            try await client.reset()
            #expect(await storage.contents.primary == image)
            try await client.confirm()
            let other = FirmwareImage(version: FirmwareVersion(3, 0), program: Array(image.bytes.prefix(200_000)))
            let time = try await ContinuousClock().measure { try await client.upload(other).finish() }
            print("BLEFirmware: \(other.bytes.count) bytes in \(time)")
            await central.shutDown()
        }
    }

    @Test(.enabled(if: OtherPrograms.has("smpclient")))
    func `smpclient updates the device, with the link cut three times, and uses everything else`() async throws {
        try await whileServed { storage in
            // The session has a time limit of its own.
            let ticks = Task {
                while !Task.isCancelled {
                    try await peer.run(": the session")
                    try await Task.sleep(for: .seconds(20))
                }
            }
            defer { ticks.cancel() }
            let session = try await OtherPrograms.firmwareSession(
                name: Self.name, adapter: "hci1", length: Self.length)
            print("smpclient: \(session)")
            #expect(session.hasSuffix("ok\n"))
            #expect(await storage.contents.primary?.version == FirmwareVersion(3, 2, 1))
            #expect(await storage.contents.primary?.bytes.count ?? 0 > Self.length)
        }
    }
}
