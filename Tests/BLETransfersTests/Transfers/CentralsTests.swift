import BLE
import BLESimulation
import BLETesting
import Testing

@testable import BLETransfers

/// A host that serves two centrals.
@Suite(.hangLimit, .tracesFailures) struct CentralsTests {
    private func withCentrals(
        _ receiver: TransferPeripheral,
        _ body: (_ world: SimulatedWorld, _ first: Peripheral, _ second: Peripheral) async throws -> Void
    ) async throws {
        let world = try await SimulatedWorld()
        let host = try await PeripheralHost(
            backend: .simulated(world.radio), configuration: .init(clock: world.clock))
        var configuration = Central.Configuration()
        configuration.clock = world.clock
        let other = try await Central(backend: .simulated(world.radio), configuration: configuration)
        let serving = Task { try await host.serve(receiver.definition(name: "Receiver", channel: 0x0080)) }
        let (first, second) = try await world.asTimePasses {
            async let first = world.central.first(matching: .service(.transfer)).peripheral
            async let second = other.first(matching: .service(.transfer)).peripheral
            return try await (first, second)
        }
        try await body(world, first, second)
        serving.cancel()
        _ = await serving.result
        await other.shutDown()
        await host.shutDown()
    }

    @Test(arguments: TransferCarrier.all) func `two centrals send files at the same time`(
        _ carrier: TransferCarrier
    ) async throws {
        let storage = MemoryTransferStorage()
        let (one, two) = ([UInt8].random(50_000), [UInt8].random(50_000, seed: 2))
        try await withCentrals(TransferPeripheral(storage)) { _, first, second in
            async let sending: Void = TransferClient(first, over: carrier).send(one, as: "one").finish()
            try await TransferClient(second, over: carrier).send(two, as: "two").finish()
            try await sending
            #expect(await storage.files == ["one": one, "two": two])
        }
    }

    @Test func `a file of the same name is refused until the other central has ended`() async throws {
        let storage = SlowStorage()
        let bytes = [UInt8].random(50_000)
        try await withCentrals(TransferPeripheral(storage)) { world, first, second in
            let sending = Task { try await TransferClient(first).send(bytes, as: "a").finish() }
            await storage.isWaiting.until(1)
            let refusal = await expectError(.transferRefused) {
                try await TransferClient(second).send(bytes, as: "a").finish()
            }
            #expect(refusal?.transferRefusal == .busy && refusal?.isRetryable == true)
            storage.gate.change { $0 = true }
            try await sending.value
            try await TransferClient(second).send(bytes, as: "a").finish()
            #expect(await storage.base.files == ["a": bytes])
        }
    }

    @Test func `a storage that hangs for one central does not stop the other, nor its own caller`() async throws {
        let storage = SlowStorage(names: ["slow"])
        let bytes = [UInt8].random(20_000)
        try await withCentrals(TransferPeripheral(storage)) { world, first, second in
            let hanging = Task { try await TransferClient(first).send(bytes, as: "slow").finish() }
            await storage.isWaiting.until(1)
            try await TransferClient(second).send(bytes, as: "fast").finish()
            #expect(await storage.base.files == ["fast": bytes])
            _ = await world.asTimePasses(inSleepsOfAtMost: .seconds(10)) {
                await expectError(.timedOut) { try await hanging.value }
            }
            // The name is free when the storage has returned.
            await expectError(.transferRefused) { try await TransferClient(second).send(bytes, as: "slow").finish() }
            storage.gate.change { $0 = true }
            await until { (try? await TransferClient(second).send(bytes, as: "slow").finish()) != nil }
            #expect(await storage.base.files["slow"] == bytes)
        }
    }

    @Test func `more transfers than the maximum are refused`() async throws {
        let storage = SlowStorage()
        let bytes = [UInt8].random(20_000)
        let receiver = TransferPeripheral(storage, configuration: .init(maximumTransfers: 1))
        try await withCentrals(receiver) { _, first, second in
            let sending = Task { try await TransferClient(first).send(bytes, as: "a").finish() }
            await storage.isWaiting.until(1)
            let refusal = await expectError(.transferRefused) {
                try await TransferClient(second).send(bytes, as: "b").finish()
            }
            #expect(refusal?.transferRefusal == .busy)
            storage.gate.change { $0 = true }
            try await sending.value
        }
    }

    @Test func `a central that occupies its transfers does not keep another one from its own`() async throws {
        let storage = SlowStorage(names: ["0", "1", "2"])
        let bytes = [UInt8].random(20_000)
        let configuration = TransferPeripheral.Configuration(maximumTransfers: 4, maximumTransfersOfCentral: 3)
        try await withCentrals(TransferPeripheral(storage, configuration: configuration)) { _, first, second in
            let sending = (0..<3).map { number in
                Task {
                    try await TransferClient(first, over: .channel(0x0080)).send(bytes, as: "\(number)").finish()
                }
            }
            await storage.isWaiting.until(3)
            let refusal = await expectError(.transferRefused) {
                try await TransferClient(first).send(bytes, as: "more").finish()
            }
            #expect(refusal?.transferRefusal == .busy)
            try await TransferClient(second).send(bytes, as: "other").finish()
            #expect(await storage.base.files == ["other": bytes])
            storage.gate.change { $0 = true }
            for task in sending { try await task.value }
        }
    }

    @Test func `a central that replaces its transfer waits for the storage, and is not refused`() async throws {
        let storage = SlowStorage(names: [], suspends: false)
        let bytes = [UInt8].random(20_000)
        let receiver = TransferPeripheral(storage, configuration: .init(maximumTransfers: 1))
        try await withCentrals(receiver) { _, first, _ in
            let channel = try await first.openChannel(0x0080)
            for name in ["a", "b"] {
                let file = TransferFile(name: name, bytes: bytes)
                for packet in TransferOpening.begin(file, isNew: false).packets(1, length: 100) {
                    try await channel.send(packet.bytes)
                }
                if name == "b" {
                    await storage.isWaiting.until(1)
                    storage.gate.change { $0 = true }
                }
                let answer = try await channel.receive(timeout: .seconds(1)).map { try TransferPacket(decoding: $0) }
                #expect(answer?.message == .accept(version: 1, offset: 0, checksum: 0, limit: 20_000))
            }
        }
    }

    @Test func `a central that leaves transfers incomplete for ever leaves the name to others`() async throws {
        let storage = MemoryTransferStorage()
        try await withCentrals(TransferPeripheral(storage)) { _, first, second in
            let channel = try await first.openChannel(0x0080)
            let file = TransferFile(name: "a", length: 1000, checksum: 0, identifier: 0)
            for token in 0..<20 {
                for packet in TransferOpening.begin(file, isNew: false).packets(UInt16(token), length: 100) {
                    try await channel.send(packet.bytes)
                }
            }
            var last: TransferMessage?
            while last != .stop(.busy), let bytes = try await channel.receive(timeout: .seconds(1)) {
                last = try TransferPacket(decoding: bytes).message
            }
            #expect(last == .stop(.busy))
            try await TransferClient(second).send([1, 2, 3], as: "a").finish()
            #expect(await storage.files == ["a": [1, 2, 3]])
        }
    }

    @Test func `a central that disconnects leaves its part to another one`() async throws {
        let storage = MemoryTransferStorage()
        let bytes = [UInt8].random(500_000)
        try await withCentrals(TransferPeripheral(storage)) { _, first, second in
            for try await step in TransferClient(first).send(bytes, as: "a") where step.transferredBytes > 50_000 {
                break
            }
            try await first.disconnect()
            let progress = SharedValue<[Int]>([])
            let sending = TransferClient(second).send(bytes, as: "a", reconnects: 3)
            for try await step in sending { progress.change { $0.append(step.resumedBytes) } }
            #expect(progress.value.first ?? 0 > 50_000)
            #expect(await storage.files == ["a": bytes])
        }
    }
}

/// A storage whose writes wait until a gate is open.
final class SlowStorage: TransferStorage {
    let base = MemoryTransferStorage()
    let gate = SharedValue(false)
    let isWaiting = SharedCount()
    private let names: Set<String>?
    private let suspends: Bool

    /// - Parameters:
    ///   - names: the files whose writes wait. Nil for all.
    ///   - suspends: whether the end of a transfer does not wait.
    init(names: Set<String>? = nil, suspends: Bool = true) { (self.names, self.suspends) = (names, suspends) }

    /// A number that tests wait for.
    final class SharedCount: Sendable {
        let value = SharedValue(0)
        func until(_ count: Int) async { try? await value.until { $0 >= count } }
    }

    func begin(_ file: TransferFile, isNew: Bool, from peer: DeviceID) async throws -> Int {
        try await base.begin(file, isNew: isNew, from: peer)
    }

    func read(_ file: TransferFile, at offset: Int, maximumLength: Int) async throws -> ArraySlice<UInt8> {
        try await base.read(file, at: offset, maximumLength: maximumLength)
    }

    func write(_ bytes: [UInt8], at offset: Int, of file: TransferFile) async throws {
        if names?.contains(file.name) ?? true {
            isWaiting.value.change { $0 += 1 }
            try await gate.until { $0 }
        }
        try await base.write(bytes, at: offset, of: file)
    }

    func finish(_ file: TransferFile) async throws { try await base.finish(file) }
    func discard(_ file: TransferFile) async throws { await base.discard(file) }
    func suspend(_ file: TransferFile) async {
        if !suspends {
            isWaiting.value.change { $0 += 1 }
            try? await gate.until { $0 }
        }
        await base.suspend(file)
    }
}
