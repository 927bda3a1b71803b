import BLE
import BLEBackendTesting
import BLEFakeBlueZ
import BLETestSupport
import BlueZTestSupport
import Testing

/// Services that change, as bluetoothd shows them with its errors.
@Suite(.startsProcesses, .hangLimit)
struct FakeServicesTests {
    private func services(
        of strap: Peripheral, until isRight: (GATTDatabase) -> Bool
    ) async throws -> GATTDatabase {
        while true {
            let services = try await strap.services()
            if isRight(services) { return services }
            try Task.checkCancellation()
        }
    }

    @Test func `a service that moves back behind its included one is lost, on later links, too`() async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find(EchoStrap.id)
        try await strap.connect()
        #expect(try await strap.services()[EchoStrap.service]?.isPrimary == true)
        await peer.setServices(.moved)
        let moved = try await services(of: strap) { $0[EchoStrap.addedService] != nil && $0[EchoStrap.service] != nil }
        // Their handles were those of others.
        #expect(moved[EchoStrap.service]?.isPrimary == false)
        #expect(moved[EchoStrap.addedService]?.isPrimary == false)
        await peer.setServices(.original)
        _ = try await services(of: strap) { $0[EchoStrap.addedService] == nil && $0[EchoStrap.included] != nil }
        #expect(try await strap.services()[EchoStrap.service] == nil)
        // The next discovery finds the hash of the last one.
        try await strap.disconnect()
        #expect(try await strap.services()[EchoStrap.service] == nil)
        await central.shutDown()
    }
}
