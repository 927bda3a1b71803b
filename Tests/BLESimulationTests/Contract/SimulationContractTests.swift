import BLE
import BLETestSupport
import BLEBackendTesting
import Testing

/// The contract on the simulated radio, in real time: a second of the radio is a real one.
@Suite(.hangLimit)
struct SimulationContractTests {
    @Test func `a part of the checks, with the others, has each check once`() {
        let parts = (1...3).map { BackendContract.part("\($0)of3", of: BackendContract.allCases) }
        #expect(parts.compactMap { $0?.isEmpty } == [false, false, false])
        #expect(
            parts.flatMap { $0 ?? [] }.map(\.rawValue).sorted() == BackendContract.allCases.map(\.rawValue).sorted())
        for part in ["", "3", "0of3", "4of3", "1of", "of3", "1of2of3", "-1of3", "1of1000"] {
            #expect(BackendContract.part(part, of: BackendContract.allCases) == nil)
        }
    }

    @Test(arguments: BackendContract.selected)
    func contract(_ item: BackendContract) async throws {
        try await item.check(await SimulatedPeer())
    }

    /// A central with several radios behaves as with one.
    @Test(arguments: BackendContract.selected, [1, 2, 3])
    func radios(_ item: BackendContract, count: Int) async throws {
        try await item.check(await SimulatedPeer(adapterCount: count))
    }

    /// Of several radios, a fault disturbs one.
    @Test(arguments: RadioContract.selected)
    func `the only one of several radios is disturbed as one is`(_ item: RadioContract) async throws {
        try await item.check(await SimulatedPeer(clock: ManualClock(), adapterCount: 1))
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
