import BLETestSupport
import Testing

@testable import BLE

@Suite(.hangLimit) struct ValueStoreTests {
    private let store = ValueStore()
    private let key = CharacteristicKey(service: nil, characteristic: BluetoothUUID(0x2A19))

    @Test func `nothing becomes known or ready after the end`() async throws {
        let reader = try #require(store.becomeReader(of: key))
        let revision = store.revision(of: key)
        store.finish(.cancelled)
        store.notified([1], for: key, reader)
        #expect(store.value(key) == nil)
        store.read([2], for: key, since: revision)
        #expect(store.value(key) == nil)
        store.becomeReady()
        #expect(!store.isReady)
    }

    /// What is done for a link may end when the next one is up already.
    @Test func `waiting for a link does not end with what becomes of an earlier one`() async throws {
        store.begin(1)
        let ready = Task { try await store.untilReady(store.beginWait(on: 2)) }
        let other = Task { try await store.untilReady(store.beginWait(on: 1)) }
        await until { store.waiterCount == 2 }
        store.becomeReady()
        try await other.value
        #expect(store.waiterCount == 1)
        store.fail(BLEError(.attributeError, "of the first link"))
        #expect(store.waiterCount == 1)
        store.begin(2)
        store.becomeReady()
        try await ready.value
    }

    @Test func `the gap at the end of a link does not hide one in the next link`() throws {
        let error = BLEError(.disconnected, "gone")
        #expect(store.becomeReader(of: key) != nil)
        store.begin()
        // Reported before the end, after it, and on the next link.
        #expect(!store.gap(in: key, isConnected: false))
        store.linkEnded(error)
        store.begin()
        #expect(store.gap(in: key, isConnected: true))
        store.linkEnded(error)
        // The next attempt to connect fails.
        #expect(!store.gap(in: key, isConnected: false))
        store.linkEnded(error)
        store.begin()
        #expect(store.gap(in: key, isConnected: true))
        store.linkEnded(error)
        store.begin()
        #expect(!store.gap(in: key, isConnected: true))
        #expect(store.gap(in: key, isConnected: true))
    }

    @Test func `values that a gap erases before they are ready are read once more`() throws {
        #expect(store.becomeReader(of: key) != nil)
        store.begin()
        store.read([1], for: key, since: store.revision(of: key))
        #expect(store.gap(in: key, isConnected: true))
        #expect(store.becomeReady(having: [key]) == key)
        #expect(!store.isReady)
        store.read([2], for: key, since: store.revision(of: key))
        #expect(store.becomeReady(having: [key]) == nil)
        #expect(store.isReady)
        #expect(store.value(key) == [2])
        // A value that was read after the gap, and one that is only notified.
        store.begin()
        #expect(store.gap(in: key, isConnected: true))
        #expect(store.becomeReady() == nil)
        store.begin()
        #expect(store.gap(in: key, isConnected: true))
        store.read([3], for: key, since: store.revision(of: key))
        #expect(store.becomeReady(having: [key]) == nil)
    }

    @Test func `what was read on a link that has ended is not stored`() {
        let revision = store.revision(of: key)
        store.linkEnded(BLEError(.disconnected, "gone"))
        store.read([1], for: key, since: revision)
        #expect(store.value(key) == nil)
        store.read([2], for: key, since: store.revision(of: key))
        #expect(store.value(key) == [2])
    }
}
