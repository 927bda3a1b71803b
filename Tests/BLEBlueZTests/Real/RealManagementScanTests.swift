import BLE
import BLEBlueZ
import BLETestSupport
import BlueZTestSupport
import Foundation
import Testing

/// Scans whose advertisements come from the kernel's management socket, of the real kernel and bluetoothd. Runs inside
/// `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .startsProcesses, .inGuest, .hangLimit)
struct RealManagementScanTests {
    private let peer = RealPeer()
    private let strap = Peripheral.ID(rawValue: "F0:F1:F2:F3:F4:F5")

    private func withCentral(
        _ source: BlueZCentral.AdvertisementSource = .managementSocket, _ check: (Central) async throws -> Void
    ) async throws {
        let central = try await Central(backend: .bluez(advertisements: source))
        do {
            try await check(central)
        } catch {
            await central.shutDown()
            throw error
        }
        await central.shutDown()
    }

    /// The next advertisement of the strap that has what is asked for.
    private func next(
        _ events: inout DiscoveryEvents.AsyncIterator, where matches: (Advertisement) -> Bool = { _ in true }
    ) async throws -> Advertisement {
        while let event = try await events.next() {
            switch event {
            case .found(let found), .updated(let found):
                if matches(found.advertisement) { return found.advertisement }
            case .lost, .waiting: continue
            }
        }
        throw BLEError(.failed, "the scan has ended")
    }

    private func events(_ central: Central) -> DiscoveryEvents {
        central.discoveryEvents(matching: .id(strap), duplicates: true, staleAfter: nil)
    }

    @Test func `the strap's advertisements have all structures, and it can be connected to`() async throws {
        try await peer.reset()
        try await withCentral { central in
            var events = events(central).makeAsyncIterator()
            let advertisement = try await next(&events) { !$0.structures.isEmpty }
            #expect(advertisement.rssi != nil)
            #expect(advertisement.serviceUUIDs.contains(BluetoothUUID(0x180D)))
            let decoded = try Advertisement(AdvertisingData(structures: advertisement.structures))
            #expect(decoded.serviceUUIDs.contains(BluetoothUUID(0x180D)))
            #expect(decoded.flags != nil)
            // One packet after the other, each with its structures.
            for _ in 0..<5 { _ = try await next(&events) { !$0.structures.isEmpty } }
            let peripheral = central.peripheral(strap)
            try await peripheral.connect()
            #expect(try await peripheral.read(Characteristic<UInt8>(BluetoothUUID(0x2A19))) > 0)
            try await peripheral.disconnect()
            _ = try await next(&events) { !$0.structures.isEmpty }
        }
    }

    @Test func `of two centrals, one has the socket, and both hear`() async throws {
        try await peer.reset()
        try await withCentral(.bluetoothd) { other in
            var others = events(other).makeAsyncIterator()
            _ = try await next(&others)
            try await withCentral { central in
                var events = events(central).makeAsyncIterator()
                for _ in 0..<3 {
                    _ = try await next(&events) { !$0.structures.isEmpty }
                    let heard = try await next(&others)
                    #expect(heard.structures.isEmpty)
                }
            }
            // The scan of the other goes on.
            _ = try await next(&others)
        }
    }

    private func isDiscovering(_ expected: Bool) async throws {
        try await peer.run(
            "busctl get-property org.bluez /org/bluez/hci0 org.bluez.Adapter1 Discovering | grep -q \(expected)")
    }

    @Test func `bluetoothd does not scan, and other programs begin and end their scans beside this one`() async throws {
        try await peer.reset()
        try await withCentral { central in
            var events = events(central).makeAsyncIterator()
            _ = try await next(&events)
            try await isDiscovering(false)
            for _ in 0..<2 {
                try await withCentral(.bluetoothd) { other in
                    var others = self.events(other).makeAsyncIterator()
                    for _ in 0..<3 {
                        _ = try await next(&others)
                        _ = try await next(&events)
                    }
                    try await isDiscovering(true)
                }
                // More than may have waited.
                for _ in 0..<20 { _ = try await next(&events) }
            }
            try await isDiscovering(false)
        }
    }

    @Test func `a program without a filter is answered before D-Bus gives up`() async throws {
        try await peer.reset()
        try await withCentral { central in
            var events = events(central).makeAsyncIterator()
            _ = try await next(&events)
            try await peer.run("busctl --timeout=25 call org.bluez /org/bluez/hci0 org.bluez.Adapter1 StartDiscovery")
            // It has left, and with it its session.
            for _ in 0..<20 { _ = try await next(&events) }
        }
    }

    @Test func `a scan is longer than a discovery of the kernel's`() async throws {
        try await peer.reset()
        try await withCentral { central in
            var events = events(central).makeAsyncIterator()
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .seconds(25) { _ = try await next(&events) }
            try await isDiscovering(false)
        }
    }

    @Test func `a scan goes on when the adapter is on again`() async throws {
        try await peer.reset()
        try await withCentral { central in
            var events = events(central).makeAsyncIterator()
            _ = try await next(&events) { !$0.structures.isEmpty }
            try await central.setPowered(false)
            try await central.setPowered(true)
            // What arrived before is read first: the device is new when the adapter is on again.
            while case .some(let event) = try await events.next() {
                if case .waiting = event { break }
            }
            _ = try await next(&events) { !$0.structures.isEmpty }
        }
    }

    @Test func `a program without the capability is told what it lacks`() async throws {
        try await peer.reset()
        let ble = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "ble").path
        let result = try await TestProgram(
            "setpriv", ["--bounding-set", "-net_admin", ble, "scan", "--management-socket", "--duration", "5"]
        ).run()
        #expect(result.status == 77)
        #expect(result.errors.contains("CAP_NET_ADMIN"))
    }
}
