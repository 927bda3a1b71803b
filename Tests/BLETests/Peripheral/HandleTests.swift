import BLE
import BLETestSupport
import Testing

@Suite(.hangLimit) struct HandleTests {
    private let bench: Bench

    init() async throws { bench = try await Bench() }

    @Test func `attributes are read, written and subscribed to by their handles`() async throws {
        let strap = bench.strap
        await bench.backend.set([77], of: 2)
        await bench.backend.set([1, 2], of: 5)
        // The declaration, and the value behind it.
        #expect(try await strap.readBytes(handle: 2) == [77])
        #expect(try await strap.readBytes(handle: 3) == [77])
        #expect(try await strap.readBytes(handle: 5) == [1, 2])
        try await strap.writeBytes([9], handle: 14)
        try await strap.writeBytes([8], handle: 12, type: .withoutResponse)
        try await strap.writeBytes([7], handle: 5)
        var levels = try await strap.notifications(handle: 3).makeAsyncIterator()
        await bench.backend.notify([5], from: 2)
        #expect(try await levels.next() == [5])
        let calls = await bench.backend.calls(.read, .readDescriptor, .write, .writeDescriptor, .startNotifications)
        #expect(
            calls == [
                .read(2), .read(2), .readDescriptor(5), .write([9], 14), .write([8], 11), .writeDescriptor([7], 5),
                .startNotifications(2),
            ])
    }

    @Test func `a handle without an attribute, and one that cannot do it, are errors before anything is sent`()
        async throws
    {
        let strap = bench.strap
        try await strap.connect()
        let count = await bench.backend.calls.count
        let missing = await expectError(.characteristicNotFound) { try await strap.readBytes(handle: 99) }
        #expect(missing?.peripheral == strap.id)
        await expectError(.characteristicNotFound) { try await strap.writeBytes([1], handle: 1) }
        await expectError(.notSupported) { try await strap.notifications(handle: 5) }
        await expectError(.notSupported) { try await strap.readBytes(handle: 11) }
        #expect(await bench.backend.calls.count == count)
    }
}
