import BLE
import BLEBlueZ
import BLETestSupport
import BlueZTestSupport
import Testing

/// A Classic device beside the LE peripherals, on the real bluetoothd and a second adapter that has both transports.
/// Runs inside `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealClassicTests {
    private let peer = RealPeer()
    private static let second = "/org/bluez/hci1"
    private static let device = "\(second)/dev_F0_0D_00_00_00_05"
    private static let headset = Peripheral.ID(address: "F0:0D:00:00:00:05")
    private static let strap = Peripheral.ID(address: "F0:F1:F2:F3:F4:F5")

    /// Plugs in the adapter, switches the headset on, and has a central on that adapter. bluetoothd knows nothing of
    /// the headset before and after.
    private func withCentral(
        _ source: BlueZCentral.AdvertisementSource = .bluetoothd, _ body: (Central) async throws -> Void
    ) async throws {
        try await peer.reset()
        try await peer.tell("second dual")
        try await peer.tell("headset on")
        try await peer.run(
            "until busctl get-property org.bluez \(Self.second) org.bluez.Adapter1 Powered | grep true; do sleep 0.1; done"
        )
        let central = try await Central(backend: .bluez(adapter: "hci1", advertisements: source))
        do {
            try await body(central)
        } catch {
            Issue.record(error)
        }
        await central.shutDown()
        try await peer.run("busctl call org.bluez \(Self.second) org.bluez.Adapter1 RemoveDevice o \(Self.device)")
        try await peer.tell("headset off")
        try await peer.tell("second off")
    }

    private func expectHeadset(_ advertisement: Advertisement?) {
        #expect(advertisement?.deviceClass == 0x240404)
        #expect(advertisement?.localName == "Bumble Headset")
        #expect(advertisement?.rssi == -50)
        #expect(advertisement?.addressType == .public)
    }

    private func expectStrap(_ advertisement: Advertisement?) {
        #expect(advertisement != nil)
        #expect(advertisement?.deviceClass == nil)
        #expect(advertisement?.localName == "Bumble HR")
        #expect(advertisement?.rssi == -50)
    }

    /// What a scan finds up to a device, which may take the kernel a while.
    private func found(
        _ central: Central, _ criteria: DiscoveryCriteria, upTo last: Peripheral.ID
    ) async throws -> [Peripheral.ID: Advertisement] {
        var all: [Peripheral.ID: Advertisement] = [:]
        for try await found in central.discoveries(matching: criteria) {
            all[found.peripheral.id] = found.advertisement
            if found.peripheral.id == last { break }
        }
        return all
    }

    @Test func `a scan finds Classic devices, LE devices or both`() async throws {
        try await withCentral { central in
            // The kernel listens for one after the other.
            var both: [Peripheral.ID: Advertisement] = [:]
            for try await found in central.discoveries(matching: .transport(.any)) {
                both[found.peripheral.id] = found.advertisement
                if both.keys.contains(Self.headset), both.keys.contains(Self.strap) { break }
            }
            expectHeadset(both[Self.headset])
            expectStrap(both[Self.strap])
            let classic = try await found(central, .transport(.classic), upTo: Self.headset)
            expectHeadset(classic[Self.headset])
            #expect(classic[Self.strap] == nil)
            // bluetoothd knows the headset, but no longer listens for it.
            try await peer.run(
                "while busctl get-property org.bluez \(Self.device) org.bluez.Device1 RSSI; do sleep 0.1; done")
            let le = try await found(central, .any, upTo: Self.strap)
            expectStrap(le[Self.strap])
            let others = try await central.discoveries(for: .seconds(6))
            #expect(!others.contains { $0.peripheral.id == Self.headset })
        }
    }

    /// Waits until advertisements of the strap have arrived from the kernel, more than may have waited before.
    private func hear(_ events: inout DiscoveryEvents.AsyncIterator) async throws {
        var count = 0
        while count < 20, let event = try await events.next() {
            switch event {
            case .found(let found), .updated(let found): count += found.advertisement.structures.isEmpty ? 0 : 1
            case .lost, .waiting: break
            }
        }
    }

    @Test func `a scan by the kernel goes on beside scans for Classic, of its own and of others`() async throws {
        try await withCentral(.managementSocket) { central in
            var events = central.discoveryEvents(
                matching: .id(Self.strap), duplicates: true, staleAfter: nil
            ).makeAsyncIterator()
            try await hear(&events)
            let other = try await Central(backend: .bluez(adapter: "hci1"))
            do {
                // bluetoothd stops the kernel's discovery, and starts its own.
                for transport in [Transport.any, .classic] {
                    expectHeadset(try await found(other, .transport(transport), upTo: Self.headset)[Self.headset])
                    try await hear(&events)
                }
            } catch {
                Issue.record(error)
            }
            await other.shutDown()
            try await hear(&events)
            expectHeadset(try await found(central, .transport(.any), upTo: Self.headset)[Self.headset])
            try await hear(&events)
        }
    }

    @Test func `connecting to it is not supported, and fails at once`() async throws {
        try await withCentral { central in
            let headset = try await central.first(matching: .transport(.classic)).peripheral
            // bluetoothd asks for its services at the first attempt only.
            for _ in 1...2 {
                let error = await expectError(.notSupported) { try await headset.connect(timeout: .seconds(3600)) }
                #expect(error?.isRetryable == false)
                #expect(error?.remedy?.contains("LE") == true)
                #expect((error?.cause as? BLEError)?.code == .notSupported)
            }
            // bluetoothd keeps the link for this discovery for 2 s.
            try await peer.run(
                "until busctl get-property org.bluez \(Self.device) org.bluez.Device1 Connected | grep false; do sleep 0.1; done"
            )
            // An LE peripheral beside it is connected to.
            let strap = try await central.find(Self.strap)
            #expect(try await strap.read(Characteristic<UInt8>(BluetoothUUID(0x2A19))) > 0)
            try await strap.disconnect()
        }
    }
}
