import BLE
import BLESimulation
import BLETesting
import BLETransfers
import Testing

@Suite(.hangLimit, .tracesFailures) struct TransferTests {
    @Test(arguments: TransferCarrier.all, [0, 1, 237, 238, 100_000])
    func `a file arrives at the peripheral`(_ carrier: TransferCarrier, _ count: Int) async throws {
        let setting = try await TransferWorld()
        let bytes = [UInt8].random(count)
        let progress = SharedValue<[TransferProgress]>([])
        for try await step in setting.client(carrier).send(bytes, as: "a.bin") { progress.change { $0.append(step) } }
        #expect(await setting.storage.files == ["a.bin": bytes])
        #expect(progress.value.last == TransferProgress(transferredBytes: count, totalBytes: count))
        let counts = progress.value.map(\.transferredBytes)
        #expect(counts == counts.sorted())
        if carrier == .characteristics { #expect(setting.log.count == count) }
    }

    @Test(arguments: TransferCarrier.all, [0, 1, 237, 238, 100_000])
    func `a file arrives from the peripheral`(_ carrier: TransferCarrier, _ count: Int) async throws {
        let bytes = [UInt8].random(count)
        let setting = try await TransferWorld(files: ["log": bytes])
        #expect(try await setting.client(carrier).receive("log") == bytes)
    }

    @Test(arguments: [23, 24, 100, 247, 517]) func `packets fill the link`(_ mtu: Int) async throws {
        let name = String(repeating: "n", count: 200)
        let bytes = [UInt8].random(10_000)
        let setting = try await TransferWorld(mtu: mtu)
        try await setting.client().send(bytes, as: name).finish()
        #expect(await setting.storage.files == [name: bytes])
        #expect(setting.log.packets.value.max() == min(mtu - 3, 512))
        #expect(try await setting.client().receive(name) == bytes)
    }
}
