import BLEESPHome
import BLESimulation
import Testing

@testable import BLEProxy

/// How clients of a proxy share its links.
struct LinkSlotsTests {
    @Test func `a hold is ending until it is released, and one that has followed is not`() throws {
        var slots = LinkSlots(limit: 1, isShared: false)
        let taken = slots.take(1, for: 1)
        let first = try #require(taken)
        #expect(!slots.isEnding(first))
        slots.willRelease(1, first)
        #expect(slots.isEnding(first))
        let isReleased = slots.release(1, first)
        #expect(isReleased)
        let following = slots.take(1, for: 2)
        let next = try #require(following)
        // What is told too late concerns no other hold.
        slots.willRelease(1, first)
        #expect(!slots.isEnding(first))
        #expect(!slots.isEnding(next))
    }

    @Test func `what the Matter server waits for is owed to it, also when others release theirs`() throws {
        var slots = LinkSlots(limit: 3, isShared: true)
        let taken = slots.take(1, for: 1)
        _ = slots.take(2, for: 2)
        #expect(slots.available(to: 2) == 1)
        slots.beginMatterWait()
        slots.beginMatterWait()
        #expect(slots.available(to: 2) == 0)
        let first = try #require(taken)
        let isReleased = slots.release(1, first)
        slots.endMatterWait()
        #expect(isReleased)
        #expect(slots.available(to: 2) == 0)
        slots.endMatterWait()
        #expect(slots.available(to: 2) == 1)
    }

    /// The free slots of each client that has asked, given what each holds.
    @Test(
        arguments: [
            // A client that is alone leaves one for the next, unless there is no next, or only one slot.
            (5, true, [0], [4]), (5, true, [4], [0]), (5, false, [4], [1]), (1, true, [0], [1]),
            // Each may have its share, and what the shares of the others leave.
            (5, true, [4, 0], [0, 1]), (5, true, [0, 0], [3, 3]), (5, true, [2, 1], [1, 2]),
            (6, true, [1, 1, 1], [1, 1, 1]),
            (6, true, [2, 2, 0], [0, 0, 2]),
            // With more clients than slots, each may have one while there is one.
            (2, true, [1, 0, 0], [0, 1, 1]), (2, true, [1, 1, 0], [0, 0, 0]), (0, true, [0], [0]),
        ])
    func `a client may have its share, and what the shares of the others leave`(
        _ limit: Int, _ isShared: Bool, _ held: [Int], _ free: [Int]
    ) {
        var slots = LinkSlots(limit: limit, isShared: isShared)
        var address: UInt64 = 0
        // The first clients take before the others ask, as far as they may.
        for (client, count) in held.enumerated() {
            for _ in 0..<count {
                address += 1
                let hold = slots.take(address, for: client)
                #expect(hold != nil)
            }
        }
        for client in held.indices { slots.ask(client) }
        #expect(held.indices.map { slots.available(to: $0) } == free)
        for client in held.indices {
            let told = slots.slots(of: client)
            #expect(told.allocated.count == held[client])
            #expect(told.limit == told.free + UInt32(held[client]))
        }
    }

    @Test func `a peripheral has one holder, and a client that leaves holds until its links have ended`() throws {
        var slots = LinkSlots(limit: 3, isShared: true)
        let first = slots.take(7, for: 1)
        let hold = try #require(first)
        let second = slots.take(7, for: 2)
        #expect(second == nil)
        let left = slots.leave(1)
        #expect(left == [7])
        #expect(slots.hold(of: 7) == hold)
        #expect(slots.available(to: 2) == 2)
        #expect(slots.slots(of: 2).allocated.isEmpty)
        let released = [ProxyHold(client: 2, link: 9), hold, hold].map { slots.release(7, $0) }
        #expect(released == [false, true, false])
        #expect(slots.isEmpty)
        #expect(slots.available(to: 2) == 2)
    }

    @Test func `whatever clients do, none holds all while another asks, and no more are held than there are`() {
        for round in 0..<200 {
            var random = SeededGenerator(seed: UInt64(round))
            let limit = 2 + round % 6
            var slots = LinkSlots(limit: limit, isShared: true)
            var holds: [(UInt64, ProxyHold)] = []
            var asking: Set<Int> = []
            for _ in 0..<60 {
                let client = Int.random(in: 0..<4, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0:
                    slots.ask(client)
                    asking.insert(client)
                case 1 where !holds.isEmpty:
                    let (address, hold) = holds.remove(at: Int.random(in: holds.indices, using: &random))
                    let isReleased = slots.release(address, hold)
                    #expect(isReleased)
                case 2:
                    let held = slots.leave(client)
                    asking.remove(client)
                    #expect(Set(held) == Set(holds.filter { $0.1.client == client }.map(\.0)))
                    for (address, hold) in holds where hold.client == client {
                        let isReleased = slots.release(address, hold)
                        #expect(isReleased)
                    }
                    holds.removeAll { $0.1.client == client }
                default:
                    let free = slots.available(to: client)
                    asking.insert(client)
                    // Peripherals are asked for again, also while another client holds them.
                    let address = UInt64.random(in: 0..<8, using: &random)
                    let holder = slots.hold(of: address)
                    #expect(holder == holds.first { $0.0 == address }?.1)
                    if let hold = slots.take(address, for: client) {
                        holds.append((address, hold))
                    } else {
                        #expect(holder != nil || free == 0 || slots.available(to: client) == 0)
                    }
                }
                #expect(holds.count <= limit)
                let largest = Dictionary(grouping: holds, by: \.1.client).values.map(\.count).max() ?? 0
                #expect(asking.count < 2 || largest < limit)
            }
        }
    }

    @Test func `a Matter server has a share while it has links, and not afterward`() throws {
        var slots = LinkSlots(limit: 4, isShared: true)
        slots.ask(1)
        #expect(slots.share == 3)
        let taken = slots.take(7, for: LinkSlots.matter)
        let hold = try #require(taken)
        let refused = slots.take(7, for: 1)
        #expect(refused == nil)
        #expect(slots.share == 2)
        let isReleased = slots.release(7, hold)
        #expect(isReleased)
        #expect(slots.share == 3)
        let again = slots.take(7, for: 1)
        #expect(again != nil)
        let held = slots.take(7, for: LinkSlots.matter)
        #expect(held == nil)
        #expect(slots.share == 3)
    }
}
