import BLE
import BLETestSupport
import BLEBackendTesting
import Testing

/// The contract on the simulated radio, in real time: a second of the radio is a real one.
@Suite(.hangLimit)
struct SimulationContractTests {
    @Test(arguments: BackendContract.selected)
    func contract(_ item: BackendContract) async throws {
        try await item.check(await SimulatedPeer())
    }

    /// Several centrals on one adapter share a link as the programs of one bluetoothd.
    @Test(arguments: SharedLinkContract.allCases)
    func sharing(_ item: SharedLinkContract) async throws {
        try await item.check(await SimulatedPeer())
    }

    @Test(arguments: RadioContract.selected)
    func radio(_ item: RadioContract) async throws {
        try await item.check(await SimulatedPeer(clock: ManualClock()))
    }
}
