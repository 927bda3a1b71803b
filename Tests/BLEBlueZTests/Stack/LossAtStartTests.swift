import BLE
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Logging
import Testing

@testable import BLEBlueZ

/// A bluetoothd that ends while a program starts to use it.
@Suite(.startsProcesses, .hangLimit)
struct LossAtStartTests {
    @Test func `bluetoothd that ends right after it has listed its objects is unavailable, not its adapter`()
        async throws
    {
        let world = try await BlueZWorld()
        let host = world.makeStack()
        // The bus's signal that the name has no owner is read together with the answer, before the start goes on.
        let role = BlueZStack.Role(kind: .central, logger: Logger(label: "test"), clock: ContinuousClock()) { event in
            guard case .objectsListed = event else { return }
            host.assumeIsolated { $0.ownerChanged() }
        }
        await expectError(.bluetoothUnavailable) { try await host.join(role) }
        #expect(await host.session == nil)
        #expect(await world.daemon.calls["GetManagedObjects"] == 1)
    }
}
