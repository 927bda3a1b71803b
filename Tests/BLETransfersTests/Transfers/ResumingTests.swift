import BLE
import BLESimulation
import BLETesting
import BLETransfers
import Testing

@Suite(.hangLimit, .tracesFailures) struct ResumingTests {
    private let bytes = [UInt8].random(60_000)

    @Test func `a transfer goes on after a lost link, with what the peripheral lacks`() async throws {
        let setting = try await TransferWorld()
        let fault = await setting.grip.dropLink(after: .write, .nth(100))
        await expectError(.disconnected) { try await setting.client().send(bytes, as: "a").finish() }
        #expect(await fault.count == 1)
        let sent = setting.log.count
        let part = await setting.storage.partLengths["a"] ?? 0
        #expect(part > 20_000)
        // A later process has another client.
        let progress = SharedValue<[TransferProgress]>([])
        for try await step in setting.client().send(bytes, as: "a") { progress.change { $0.append(step) } }
        #expect(progress.value.first?.resumedBytes == part && progress.value.last?.fraction == 1)
        #expect(setting.log.count - sent == bytes.count - part)
        #expect(await setting.storage.files == ["a": bytes])
        // What is complete is not sent again.
        let total = setting.log.count
        try await setting.client().send(bytes, as: "a").finish()
        #expect(setting.log.count == total)
    }

    @Test(arguments: 1...40) func `a link that is lost at any packet does not keep a file from arriving`(
        _ packet: Int
    ) async throws {
        let setting = try await TransferWorld()
        let bytes = [UInt8].random(5_000)
        await setting.grip.dropLink(after: .write, .nth(packet))
        try await setting.whileTimePasses {
            try await setting.client().send(bytes, as: "a", reconnects: 1).finish()
        }
        #expect(await setting.storage.files == ["a": bytes])
    }

    @Test(arguments: 1...40) func `a link that is lost at any notification does not keep a file from arriving`(
        _ packet: Int
    ) async throws {
        let bytes = [UInt8].random(5_000)
        let setting = try await TransferWorld(files: ["a": bytes])
        await setting.grip.dropLink(after: .notify, .nth(packet))
        try await setting.whileTimePasses {
            let received = try await setting.client().receive("a", reconnects: 1)
            #expect(received == bytes)
        }
    }

    @Test(arguments: [TransferCarrier.characteristics, .channel(0x0080)], 0..<5)
    func `links that are lost at random do not keep files from arriving`(
        _ carrier: TransferCarrier, _ seed: Int
    ) async throws {
        let setting = try await TransferWorld(files: ["b": bytes])
        let client = setting.client(carrier)
        let storage = MemoryTransferStorage()
        let random = SharedValue(SeededGenerator(seed: UInt64(seed)))
        try await setting.world.asTimePasses {
            let transfers = [
                client.send(bytes, as: "a", reconnects: 10), client.receive("b", into: storage, reconnects: 10),
            ]
            for transfer in transfers {
                var losses = 0
                for try await _ in transfer where losses < 10 {
                    guard random.change({ Bool.random(using: &$0) }) else { continue }
                    losses += 1
                    await setting.grip.dropLink()
                }
            }
        }
        #expect(await setting.storage.files["a"] == bytes)
        #expect(await storage.files == ["b": bytes])
    }

    @Test(arguments: TransferCarrier.all) func `after a cancellation, the part stays, and the transfer goes on`(
        _ carrier: TransferCarrier
    ) async throws {
        let setting = try await TransferWorld()
        let bytes = [UInt8].random(500_000)
        let client = setting.client(carrier)
        for try await step in client.send(bytes, as: "a") where step.transferredBytes > 100_000 { break }
        let task = Task {
            for try await step in client.send(bytes, as: "a") where step.transferredBytes > 250_000 {
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        await expectError(.cancelled) { try await task.value }
        let progress = SharedValue<[Int]>([])
        for try await step in client.send(bytes, as: "a") { progress.change { $0.append(step.resumedBytes) } }
        #expect(progress.value.first ?? 0 > 100_000)
        #expect(await setting.storage.files == ["a": bytes])
    }

    @Test func `another file of the name begins anew`() async throws {
        let setting = try await TransferWorld()
        let client = setting.client()
        for try await step in client.send(bytes, as: "a") where step.transferredBytes > 10_000 { break }
        let other = [UInt8].random(60_000, seed: 2)
        let progress = SharedValue<[Int]>([])
        for try await step in client.send(other, as: "a") { progress.change { $0.append(step.resumedBytes) } }
        #expect(progress.value.first == 0)
        #expect(await setting.storage.files == ["a": other])
    }

    @Test func `lost packets are sent again on the same link`() async throws {
        let setting = try await TransferWorld(files: ["b": bytes])
        await setting.grip.ignore(.write, .nth(20))
        await setting.grip.ignore(.notify, .nth(3))
        await setting.grip.ignore(.write, .nth(120))
        try await setting.whileTimePasses {
            try await setting.client().send(bytes, as: "a").finish()
            await setting.grip.ignore(.notify, .nth(30))
            let received = try await setting.client().receive("b")
            #expect(received == bytes)
        }
        #expect(await setting.storage.files["a"] == bytes)
    }

    @Test func `on a maintained link, a transfer waits for the peripheral`() async throws {
        let setting = try await TransferWorld()
        try await setting.peripheral.setConnectionPolicy(.maintained())
        await setting.grip.dropLink(after: .write, .nth(50))
        try await setting.whileTimePasses {
            try await setting.client().send(bytes, as: "a", reconnects: 2).finish()
        }
        #expect(await setting.storage.files == ["a": bytes])
        await setting.world.central.shutDown()
    }

    @Test func `the calls of a client's storage do not overlap after a lost link`() async throws {
        let setting = try await TransferWorld(files: ["a": bytes])
        let storage = CountingStorage()
        let receiving = Task {
            for try await _ in setting.client().receive("a", into: storage, reconnects: 1) {}
        }
        await storage.slow.isWaiting.until(1)
        await setting.grip.dropLink()
        try await setting.whileTimePasses {
            try await setting.world.clock.sleep(for: .seconds(9))
            storage.slow.gate.change { $0 = true }
            try await receiving.value
        }
        #expect(await storage.slow.base.files == ["a": bytes])
        #expect(storage.maximum.value == 1)
    }
}

/// A storage that counts its calls at the same time.
private final class CountingStorage: TransferStorage {
    let slow = SlowStorage()
    private let count = SharedValue(0)
    let maximum = SharedValue(0)

    private func call<Value>(_ work: () async throws -> Value) async rethrows -> Value {
        count.change { $0 += 1 }
        let now = count.value
        maximum.change { $0 = max($0, now) }
        defer { count.change { $0 -= 1 } }
        return try await work()
    }

    func begin(_ file: TransferFile, isNew: Bool, from peer: DeviceID) async throws -> Int {
        try await call { try await slow.begin(file, isNew: isNew, from: peer) }
    }

    func read(_ file: TransferFile, at offset: Int, maximumLength: Int) async throws -> ArraySlice<UInt8> {
        try await call { try await slow.read(file, at: offset, maximumLength: maximumLength) }
    }

    func write(_ bytes: [UInt8], at offset: Int, of file: TransferFile) async throws {
        try await call { try await slow.write(bytes, at: offset, of: file) }
    }

    func finish(_ file: TransferFile) async throws { try await call { try await slow.finish(file) } }
    func discard(_ file: TransferFile) async throws { try await call { try await slow.discard(file) } }
    func suspend(_ file: TransferFile) async { await call { await slow.suspend(file) } }
}
