import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct LastReadTests {
    @Test(arguments: [false, true]) func `the last read of a link is known with its age`(_ starts: Bool) async throws {
        let bench = try await Bench(startsOperations: starts)
        let strap = bench.strap
        #expect(try await strap.lastRead(Bench.level) == nil)
        #expect(await bench.backend.calls == [.start])
        try await strap.connect()
        await bench.backend.set([77], of: 2)
        #expect(try await strap.read(Bench.level) == 77)
        bench.clock.advance(by: .seconds(4))
        #expect(try await strap.lastRead(Bench.level) == LastRead(value: 77, age: .seconds(4)))
        // A notification, a part and a failed read are not recorded.
        let stream = try await strap.notifications(Bench.level)
        await bench.backend.notify([5], from: 2)
        for try await _ in stream { break }
        _ = try await strap.readBytes(of: Bench.level.key, offset: 1)
        await bench.backend.script(.read, .fail(Bench.error(.notPermitted)))
        await expectError(.notPermitted) { try await strap.read(Bench.level) }
        #expect(try await strap.lastRead(Bench.level)?.value == 77)
        #expect(await bench.backend.count(.read) == 3)
        await bench.backend.set([78], of: 2)
        _ = try await strap.read(Bench.level)
        #expect(try await strap.lastRead(Bench.level) == LastRead(value: 78, age: .zero))
        // It belongs to the link.
        await bench.dropLink()
        #expect(try await strap.lastRead(Bench.level) == nil)
        try await strap.connect()
        #expect(try await strap.lastRead(Bench.level) == nil)
        // A read of the link before that is answered on this one is not recorded.
        await bench.backend.script(.read, .ignore)
        let late = Task { try await strap.read(Bench.level) }
        await bench.backend.asked(.read, 5)
        await bench.dropLink()
        await expectError(.disconnected) { try await late.value }
        try await strap.connect()
        await bench.backend.script(.read, .fail(Bench.error(.notPermitted)))
        let next = Task { try await strap.read(Bench.level) }
        await bench.backend.release(.read)
        // Its turn comes after the late answer.
        await expectError(.notPermitted) { try await next.value }
        #expect(try await strap.lastRead(Bench.level) == nil)
        await bench.central.shutDown()
    }
}
