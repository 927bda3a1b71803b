import BLE
import BLESimulation
import BLETestSupport
import Testing

/// Operations on attributes that the backend starts at once, without a task.
@Suite(.hangLimit) struct StartedOperationTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }

    init() async throws { bench = try await Bench(startsOperations: true) }

    /// A task that writes values one after the other to one characteristic, of which the first is held.
    private func writing(
        _ count: Int, timeout: Duration? = nil, first: ScriptedBackend.Behavior = .hold
    ) async throws -> Task<[String], Never> {
        try await strap.connect()
        await bench.backend.script(.write, first)
        let sleeping = bench.clock.sleeperCount
        let task = Task { [strap] in
            await withTaskGroup(of: String.self) { group in
                for number in 0..<count {
                    group.addTask {
                        do throws(BLEError) {
                            let value = UInt8(truncatingIfNeeded: number)
                            try await strap.write([value], to: Bench.command, timeout: timeout)
                            return "written"
                        } catch {
                            return error.code.rawValue
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        await bench.clock.sleepers(sleeping + count)
        await bench.backend.asked(.write)
        return task
    }

    @Test func `a result that is there at once, and an error, come to the caller`() async throws {
        await bench.backend.set([90], of: 2)
        #expect(try await strap.read(Bench.level) == 90)
        await bench.backend.script(.write, .fail(Bench.error(.attributeError)))
        let error = await expectError(.attributeError) { try await strap.write([1], to: Bench.command) }
        #expect(error?.characteristic == Bench.command.key.characteristic)
        try await strap.write([2], to: Bench.command)
        #expect(await bench.backend.calls(.read, .write) == [.read(2), .write([1], 11), .write([2], 11)])
    }

    @Test func `a result that comes later resumes the caller, and starts the next operation`() async throws {
        let writes = try await writing(3)
        #expect(await bench.backend.count(.write) == 1)
        await bench.backend.release(.write)
        #expect(await writes.value == ["written", "written", "written"])
        #expect(await bench.backend.count(.write) == 3)
    }

    @Test func `thousands that wait for one do not exhaust the stack when it is over`() async throws {
        let count = 20_000
        let writes = try await writing(count)
        await bench.backend.release(.write)
        let results = await writes.value
        #expect(results.count { $0 == "written" } == count)
        #expect(await bench.backend.count(.write) == count)
    }

    @Test func `when all are cancelled, none that is queued is started`() async throws {
        let writes = try await writing(4)
        // All before the first caller can leave, whose write then ends.
        await bench.backend.inOneStep { writes.cancel() }
        #expect(await writes.value == Array(repeating: "cancelled", count: 4))
        #expect(await bench.backend.count(.write) == 1)
        // The characteristic is free again.
        try await strap.write([9], to: Bench.command)
        #expect(await bench.backend.count(.write) == 2)
    }

    @Test func `when the time of all is up, none that is queued is started`() async throws {
        // The first write does not end when its caller leaves: the time of another may not be up yet.
        let writes = try await writing(4, timeout: .seconds(2), first: .ignore)
        bench.clock.advance(by: .seconds(2))
        #expect(await writes.value == Array(repeating: "timedOut", count: 4))
        #expect(await bench.backend.count(.write) == 1)
        await bench.backend.release(.write)
        try await strap.write([9], to: Bench.command)
        #expect(await bench.backend.count(.write) == 2)
    }

    @Test func `the end of the link fails what waits, and nothing is started`() async throws {
        let writes = try await writing(3)
        await bench.dropLink()
        #expect(await writes.value == Array(repeating: "disconnected", count: 3))
        #expect(await bench.backend.count(.write) == 1)
    }

    @Test func `the shutdown fails what waits, and nothing is started`() async throws {
        let writes = try await writing(3)
        await bench.central.shutDown()
        #expect(await writes.value == Array(repeating: "shutDown", count: 3))
        await until { await bench.backend.heldCount == 0 }
        #expect(await bench.backend.count(.write) == 1)
    }

    @Test func `descriptors are read and written`() async throws {
        await bench.backend.set([1, 0], of: 4)
        let read = try await strap.readDescriptor(BluetoothUUID(0x2902), of: Bench.level.key)
        #expect(read == [1, 0])
        try await strap.writeDescriptor([7], to: BluetoothUUID(0x2901), of: Bench.level.key)
        #expect(await bench.backend.calls(.writeDescriptor) == [.writeDescriptor([7], 5)])
    }

    @Test func `an unused link ends after the last operation`() async throws {
        try await strap.setConnectionPolicy(.onDemand(idle: .milliseconds(1250)))
        await bench.backend.script(.write, .hold)
        let write = Task { [strap] in try await strap.write([1], to: Bench.command) }
        await bench.backend.asked(.write)
        bench.clock.advance(by: .milliseconds(1250))
        #expect(await bench.backend.count(.disconnect) == 0)
        await bench.backend.release(.write)
        try await write.value
        await bench.clock.sleepers(1, for: .milliseconds(1250))
        bench.clock.advance(by: .milliseconds(1250))
        await bench.backend.asked(.disconnect)
    }
}
