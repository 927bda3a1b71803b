import BLE
import BLEBackendTesting
import BLEBlueZ
import BLETestSupport
import BlueZTestSupport
import Testing

/// The contract of the peripheral role on the real bluetoothd, with a central on an independent stack. Runs inside
/// `Scripts/with-bluez` only: `Scripts/test` sees to that.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealPeripheralContractTests {
    @Test(arguments: PeripheralContract.selected)
    func contract(_ item: PeripheralContract) async throws {
        try await item.check(RealServingPeer())
    }
}

struct RealServingPeer: PeripheralContractPeer {
    var transport = BlueZConnection.Transport.socket
    private let peer = RealPeer()

    let timeout = Duration.seconds(60)
    private let backend = SharedValue<BlueZPeripheral?>(nil)
    var distinguishesSubscribers: Bool { backend.value?.limits.distinguishesSubscribers ?? false }

    func makeHost(_ configuration: PeripheralHost.Configuration) async throws -> PeripheralHost {
        let backend = BlueZConnection(transport: transport).makePeripheral()
        self.backend.change { $0 = backend }
        return try await PeripheralHost(backend: backend, configuration: configuration)
    }

    func makeCentral(_ configuration: Central.Configuration) async throws -> Central {
        try await Central(backend: BumbleCentral(1), configuration: configuration)
    }

    func restartStack() async throws {
        try await peer.stopBluetooth()
        try await peer.restartBluetooth()
    }

    func setPowered(_ isPowered: Bool) async throws { try await peer.setPowered(isPowered) }

    func setPresent(_ isPresent: Bool) async throws {
        if isPresent { try await peer.plug() } else { try await peer.unplug() }
    }

    func reset() async throws {
        try await peer.reset()
        try await peer.setPowered(true)
    }
}
