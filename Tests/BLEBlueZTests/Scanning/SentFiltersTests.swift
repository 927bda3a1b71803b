import BLE
import BLEBlueZ
import BLEFakeBlueZ
import BLEProfiles
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Testing

/// What bluetoothd is asked to scan for, as a monitor of the bus shows it.
@Suite(.startsProcesses, .hangLimit)
struct SentFiltersTests {
    @Test func `a filter serves all scans of a central, and is cleared after the last`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.battery())
        try await SentFilters.check(bus: world.bus.address) { try await world.makeCentral() }
    }

    @Test func `the end of a scan that is refused is requested again`() async throws {
        let world = try await BlueZWorld()
        try await world.daemon.refuse(
            "StopDiscovery", with: "org.bluez.Error.InProgress", "Operation already in progress", count: 2)
        try await AdapterCalls.monitored(bus: world.bus.address) { calls in
            let central = try await world.makeCentral()
            let scan = SentFilters.scan(central, .service(.battery))
            #expect(try await calls.next().method == "SetDiscoveryFilter")
            #expect(try await calls.next() == AdapterCalls.Call("StartDiscovery"))
            scan.cancel()
            for _ in 1...3 { #expect(try await calls.next() == AdapterCalls.Call("StopDiscovery")) }
            #expect(try await calls.next() == AdapterCalls.Call("SetDiscoveryFilter"))
            #expect(await !world.daemon.isDiscovering)
            await central.shutDown()
        }
    }
}

/// The same on the real one.
@Suite(.enabled(if: Guest.isHere), .startsProcesses, .serialized, .inGuest, .hangLimit)
struct RealSentFiltersTests {
    @Test func `a filter serves all scans of a central, and is cleared after the last`() async throws {
        try await RealPeer().reset()
        try await SentFilters.check(bus: nil) { try await Central() }
    }
}

private enum SentFilters {
    private typealias Call = AdapterCalls.Call

    private static let (heartRate, battery) =
        ("0000180d-0000-1000-8000-00805f9b34fb", "0000180f-0000-1000-8000-00805f9b34fb")

    private static func filter(_ options: [String: String], by caller: Int = 0) -> Call {
        Call("SetDiscoveryFilter", options.merging(["DuplicateData": "true"]) { $1 }, by: caller)
    }

    fileprivate static func scan(_ central: Central, _ criteria: DiscoveryCriteria) -> Task<Void, any Error> {
        Task { for try await _ in central.discoveries(matching: criteria) {} }
    }

    static func check(bus: String?, makeCentral: () async throws -> Central) async throws {
        try await AdapterCalls.monitored(bus: bus) { calls in
            let central = try await makeCentral()
            let one = filter(["Transport": "le", "RSSI": "-70", "UUIDs": heartRate])
            let both = filter(["Transport": "le", "Pathloss": "137", "UUIDs": "\(heartRate) \(battery)"])
            let all = filter(["Transport": "auto", "Pathloss": "137"])

            let first = scan(central, .service(.heartRate) && .rssi(atLeast: -70))
            #expect(try await calls.next() == one)
            #expect(try await calls.next() == Call("StartDiscovery"))
            // The session goes on with each new filter.
            let second = scan(central, .service(.battery))
            #expect(try await calls.next() == both)
            let third = scan(central, .transport(.any))
            #expect(try await calls.next() == all)
            third.cancel()
            #expect(try await calls.next() == both)
            second.cancel()
            #expect(try await calls.next() == one)

            // Each program has a filter of its own, which bluetoothd unites.
            let other = try await makeCentral()
            let fourth = scan(other, .service(.battery))
            #expect(
                try await calls.next()
                    == filter(["Transport": "le", "Pathloss": "137", "UUIDs": battery], by: 1))
            #expect(try await calls.next() == Call("StartDiscovery", by: 1))
            first.cancel()
            #expect(try await calls.next() == Call("StopDiscovery"))
            #expect(try await calls.next() == Call("SetDiscoveryFilter"))
            let found = try await other.first(matching: .service(.battery))
            #expect(found.advertisement.serviceUUIDs.contains(.battery))
            fourth.cancel()
            var call = try await calls.next()
            #expect(call == Call("StopDiscovery", by: 1))
            // The kernel may still be changing the filter, and refuse.
            while call.method == "StopDiscovery" { call = try await calls.next() }
            #expect(call == Call("SetDiscoveryFilter", by: 1))
            await central.shutDown()
            await other.shutDown()
        }
    }
}
