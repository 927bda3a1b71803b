import BLE
import BLEBlueZ
import BLETestSupport
import BlueZTestSupport
import Testing

/// Passive scans on the real bluetoothd, which supports them with the option --experimental. Runs inside
/// `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealPassiveScanTests {
    private let peer = RealPeer()
    private let strap = Peripheral.ID(rawValue: "F0:F1:F2:F3:F4:F5")

    private func restart(_ options: String) async throws {
        try await peer.run("/run/bluez/terminate && /run/bluez/start \(options)")
    }

    private func withCentral(_ check: (Central) async throws -> Void) async throws {
        let central = try await Central()
        do {
            try await check(central)
        } catch {
            await central.shutDown()
            throw error
        }
        await central.shutDown()
    }

    /// The first reports of the strap, as many as given.
    private func heard(
        _ count: Int, _ central: Central, _ criteria: DiscoveryCriteria
    ) async throws -> [Discovery] {
        var heard: [Discovery] = []
        for try await event in central.discoveryEvents(matching: criteria, duplicates: true) {
            switch event {
            case .found(let found), .updated(let found):
                if found.peripheral.id == strap { heard.append(found) }
            case .lost, .waiting: continue
            }
            guard heard.count == count else { continue }
            // No scan request is sent.
            try await peer.run(
                "busctl get-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 Discovering | grep -q false")
            break
        }
        return heard
    }

    @Test func `an experimental bluetoothd scans passively again and again, without lasting effects`()
        async throws
    {
        try await peer.reset()
        try await restart("--experimental")
        try await withCentral { central in
            let heard = try await heard(3, central, .passive)
            #expect(heard.allSatisfy { $0.advertisement.rssi != nil })
            #expect(heard.allSatisfy { $0.advertisement.serviceUUIDs.contains(BluetoothUUID(0x180D)) })
            // Another scan after the first has ended, and a link after both.
            let again = try await self.heard(1, central, .passive && .service(BluetoothUUID(0x180D)))
            let strap = try #require(again.first?.peripheral)
            try await strap.connect()
            #expect(try await strap.read(Characteristic<UInt8>(BluetoothUUID(0x2A19))) > 0)
            try await strap.disconnect()
        }
        try await restart("")
    }

    @Test func `a bluetoothd that is not experimental says that it has no passive scans`() async throws {
        try await withCentral { central in
            let error = await #expect(throws: BLEError.self) { _ = try await heard(1, central, .passive) }
            #expect(error?.code == .notSupported)
            #expect(error?.remedy != nil)
        }
    }
}
