import BLE
import BLESimulation
import BLETesting
import BLETransfers
import Testing

/// A call of `BLETransfers` that waits for a peripheral that may be out of range.
struct TransferCall: Sendable, CustomTestStringConvertible {
    /// The declaration: `Scripts/awaits` compares it with the public API.
    let name: String
    let run: @Sendable (TransferClient) async throws -> Void

    var testDescription: String { name }

    init(_ name: String, _ run: @escaping @Sendable (TransferClient) async throws -> Void) {
        (self.name, self.run) = (name, run)
    }

    static let all = [
        TransferCall("TransferClient.receive(_:maximumLength:reconnects:)") { _ = try await $0.receive("a") },
        TransferCall("FileTransfer.finish()") { try await $0.send([1], as: "a").finish() },
        TransferCall("FileTransfer.Iterator.next()") { client in
            for try await _ in client.send([1], as: "a") {}
        },
        TransferCall("FileTransfer.Iterator.next(isolation:)") { client in
            for try await _ in client.receive("a", into: MemoryTransferStorage()) {}
        },
    ]
}

/// Every await of `BLETransfers` ends with its task, at its deadline, and with its central.
@Suite(.hangLimit) struct TransferAwaitTests {
    private let world: SimulatedWorld
    private let peripheral: Peripheral

    init() async throws {
        world = try await SimulatedWorld()
        peripheral = world.central.peripheral("00:11:22:33:44:55")
    }

    private func begin(_ call: TransferCall, _ carrier: TransferCarrier) async -> Task<Void, any Error> {
        let client = TransferClient(peripheral, over: carrier)
        let task = Task { try await call.run(client) }
        await until { await world.central.isScanning }
        return task
    }

    @Test(arguments: TransferCall.all, TransferCarrier.all) func `a cancelled call ends at once`(
        _ call: TransferCall, _ carrier: TransferCarrier
    ) async throws {
        let task = await begin(call, carrier)
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        await until { await !world.central.isScanning }
        await until { world.clock.sleeperCount == 0 }
    }

    @Test(arguments: TransferCall.all, TransferCarrier.all) func `a call ends at its deadline`(
        _ call: TransferCall, _ carrier: TransferCarrier
    ) async throws {
        let task = await begin(call, carrier)
        await world.clock.sleepers(1, for: .seconds(20))
        world.clock.advance(by: .seconds(20))
        await expectError(.peripheralNotFound) { try await task.value }
    }

    @Test(arguments: TransferCall.all, TransferCarrier.all) func `a call ends with the central`(
        _ call: TransferCall, _ carrier: TransferCarrier
    ) async throws {
        let task = await begin(call, carrier)
        await world.central.shutDown()
        await expectError(.shutDown) { try await task.value }
    }
}
