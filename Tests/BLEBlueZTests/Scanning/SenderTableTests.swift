import Testing

@testable import BLEBlueZ

/// What is known of the senders of advertisements.
@Suite struct SenderTableTests {
    private func sender(_ address: UInt64, isRandom: Bool = true) -> ReceivedAdvertisement.Sender {
        ReceivedAdvertisement.Sender(address: address, isRandom: isRandom)
    }

    @Test func `addresses of the two types are two senders`() {
        var table = SenderTable()
        table.set("/a", sender(1))
        table.set("/b", sender(1, isRandom: false))
        #expect(table.find(sender(1), 0) == .object("/a"))
        #expect(table.find(sender(1, isRandom: false), 0) == .object("/b"))
        #expect(table.find(sender(2), 0) == nil)
    }

    @Test func `a sender without an object is looked up again after a change of identities, and only then`() {
        var table = SenderTable()
        #expect(table.find(sender(1), 7) == nil)
        table.setUnknown(sender(1), 7)
        #expect(table.find(sender(1), 7) == .unknown)
        #expect(table.find(sender(1), 8) == nil)
        table.set("/a", sender(1))
        #expect(table.find(sender(1), 9) == .object("/a"))
        // Its object is gone.
        #expect(table.find(sender(1), 10) == .object("/a"))
        table.setUnknown(sender(1), 10)
        #expect(table.find(sender(1), 10) == nil || table.find(sender(1), 10) == .unknown)
    }

    @Test func `however many senders there are, a limited number is kept`() {
        var table = SenderTable()
        for number in 0..<20_000 as Range<UInt64> {
            _ = table.find(sender(number), 0)
            table.setUnknown(sender(number), 0)
            table.set("/\(number)", sender(number + 100_000))
            #expect(table.count <= 2 * SenderTable.capacity)
        }
        #expect(table.find(sender(19_999), 0) == .unknown)
        #expect(table.find(sender(119_999), 0) == .object("/19999"))
    }
}
