import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct CentralControlPointTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }

    init() async throws { bench = try await Bench() }

    /// A request that has been written.
    private func requesting(
        _ value: [UInt8] = [1], timeout: Duration = .seconds(20),
        matching isAnswer: @escaping @Sendable ([UInt8]) -> Bool = { _ in true }
    ) async -> Task<[UInt8], any Error> {
        let written = await bench.backend.count(.write)
        let task = Task { [strap] in
            try await strap.request(value, on: Bench.setting, timeout: timeout, matching: isAnswer)
        }
        await bench.backend.asked(.write, written + 1)
        return task
    }

    @Test func `the next value after the request is the answer`() async throws {
        let request = await requesting()
        #expect(
            await bench.backend.calls(.startNotifications, .write) == [.startNotifications(14), .write([1], 14)])
        await bench.backend.notify([9], from: 14)
        #expect(try await request.value == [9])
        await bench.backend.asked(.stopNotifications)
    }

    @Test func `an answer that comes before the write is confirmed is not missed`() async throws {
        await bench.backend.script(.write, .hold)
        let request = await requesting()
        await bench.backend.notify([9], from: 14)
        await bench.backend.release(.write)
        #expect(try await request.value == [9])
    }

    @Test func `an indication before the request is not its answer`() async throws {
        let others = try await strap.notifications(Bench.setting)
        await bench.backend.script(.write, .hold)
        let writing = Task { [strap] in try await strap.write([0], to: Bench.setting) }
        await bench.backend.asked(.write)
        // The request waits behind the other write, and receives indications meanwhile.
        let request = Task { [strap] in try await strap.request([1], on: Bench.setting) }
        await bench.clock.sleepers(2)
        await bench.backend.notify([8], from: 14)
        await bench.backend.release(.write)
        try await writing.value
        await bench.backend.asked(.write, 2)
        await bench.backend.notify([9], from: 14)
        #expect(try await request.value == [9])
        var seen = others.makeAsyncIterator()
        #expect(try await [seen.next(), seen.next()] == [[8], [9]])
        #expect(await bench.backend.count(.startNotifications) == 1)
    }

    @Test func `values that do not match are passed over`() async throws {
        let request = await requesting { $0.first == 0x20 }
        for value in [[1], [], [0x20, 7]] as [[UInt8]] { await bench.backend.notify(value, from: 14) }
        #expect(try await request.value == [0x20, 7])
    }

    @Test func `a second request does not wait for the first`() async throws {
        let request = await requesting()
        let error = await expectError(.requestInProgress) { try await strap.request([2], on: Bench.setting) }
        #expect(error?.isRetryable == true)
        #expect(error?.characteristic == Bench.setting.key.characteristic)
        await bench.backend.notify([9], from: 14)
        #expect(try await request.value == [9])
        let next = await requesting()
        await bench.backend.notify([8], from: 14)
        #expect(try await next.value == [8])
    }

    @Test func `without an answer the deadline ends it, and the next request waits for a late one for 5 s`()
        async throws
    {
        let request = await requesting(timeout: .seconds(3))
        bench.clock.advance(by: .seconds(3))
        await expectError(.timedOut) { try await request.value }
        let next = Task { [strap] in try await strap.request([2], on: Bench.setting) }
        await bench.clock.sleepers(2)
        #expect(await bench.backend.count(.write) == 1)
        bench.clock.advance(by: .seconds(5))
        await bench.backend.asked(.write, 2)
        await bench.backend.notify([8], from: 14)
        #expect(try await next.value == [8])
    }

    @Test func `a late answer is not taken for the next one's`() async throws {
        let request = await requesting { $0.first == 0x20 }
        request.cancel()
        await expectError(.cancelled) { try await request.value }
        let next = Task { [strap] in
            try await strap.request([2], on: Bench.setting) { $0.first == 0x20 }
        }
        await bench.clock.sleepers(2)
        for value in [[1], [0x20, 7]] as [[UInt8]] { await bench.backend.notify(value, from: 14) }
        await bench.backend.asked(.write, 2)
        await bench.backend.notify([0x20, 8], from: 14)
        #expect(try await next.value == [0x20, 8])
    }

    @Test func `the end of the link ends the wait for a late answer`() async throws {
        let request = await requesting()
        request.cancel()
        await expectError(.cancelled) { try await request.value }
        await bench.dropLink()
        await bench.clock.sleepers(0)
    }

    @Test func `the time that subscribing takes counts`() async throws {
        await bench.backend.script(.startNotifications, .hold)
        let request = Task { [strap] in try await strap.request([1], on: Bench.setting, timeout: .seconds(3)) }
        await bench.backend.asked(.startNotifications)
        await bench.clock.sleepers(1)
        bench.clock.advance(by: .seconds(2))
        await bench.backend.release(.startNotifications)
        await bench.backend.asked(.write)
        await until { bench.clock.sleeperCount >= 1 }
        bench.clock.advance(by: .seconds(1))
        await expectError(.timedOut) { try await request.value }
    }

    @Test func `the end of the link ends it`() async throws {
        let request = await requesting()
        await bench.dropLink()
        let error = await expectError(.disconnected) { try await request.value }
        #expect(error?.peripheral == strap.id)
    }

    @Test func `cancelling ends it`() async throws {
        let request = await requesting()
        request.cancel()
        await expectError(.cancelled) { try await request.value }
        await bench.backend.notify([9], from: 14)
        await bench.backend.asked(.stopNotifications)
    }

    @Test func `a request that was not written yet owes no answer`() async throws {
        await bench.backend.script(.startNotifications, .hold)
        let request = Task { [strap] in try await strap.request([1], on: Bench.setting) }
        await bench.backend.asked(.startNotifications)
        request.cancel()
        await expectError(.cancelled) { try await request.value }
        await bench.backend.release(.startNotifications)
        let next = await requesting()
        await bench.backend.notify([8], from: 14)
        #expect(try await next.value == [8])
    }

    @Test func `a refused write is the request's error`() async throws {
        await bench.backend.script(.write, .fail(BLEError(ATTError.writeRequestRejected)))
        let error = await expectError(.attributeError) { try await strap.request([1], on: Bench.setting) }
        #expect(error?.attError == .writeRequestRejected)
        await bench.backend.asked(.stopNotifications)
    }

    @Test func `what cannot answer is refused`() async {
        await expectError(.notSupported) { try await strap.request([1], on: Bench.command) }
        await expectError(.notSupported) { try await strap.request(1, on: Bench.level) }
        #expect(await bench.backend.count(.startNotifications) == 0)
    }
}
