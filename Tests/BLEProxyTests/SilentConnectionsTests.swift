import Testing

@testable import BLEProxy

/// Which connections that have not greeted end for the sake of others.
struct SilentConnectionsTests {
    /// An address of IPv6: 64 bits of the network, and the rest of the host.
    private func address(_ network: UInt8, _ host: UInt8) -> [UInt8] {
        [0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, network] + [0, 0, 0, 0, 0, 0, 0, host]
    }

    /// The connections that are left of those that come in this order, by number from 0.
    private func left(of sources: [[UInt8]]) -> [Int: [UInt8]] {
        var left: [Int: [UInt8]] = [:]
        for (number, source) in sources.enumerated() {
            if let ended = SilentConnections(sources: left).replaced(by: source) {
                #expect(left[ended] != nil)
                left[ended] = nil
            }
            left[number] = source
        }
        return left
    }

    @Test func `a host with one address ends its own, and not those of its network`() {
        let (silent, other) = (address(1, 1), address(1, 2))
        let left = left(of: [other] + Array(repeating: silent, count: 100) + [other])
        #expect(left.keys.sorted() == [0, 97, 98, 99, 100, 101])
        #expect(left.values.count { $0 == other } == 2)
    }

    @Test func `a host with many addresses ends those of its network, and not those of others`() {
        let other = address(2, 1)
        let left = left(of: [other] + (0..<100).map { address(1, $0) } + [other])
        #expect(left.keys.sorted() == [0] + Array(93...100) + [101])
    }

    @Test func `in a network with too many, the address that has most ends its oldest`() {
        let sources = [1, 2, 2, 3, 3, 3, 4, 5].map { address(1, $0) }
        #expect(left(of: sources).count == 8)
        #expect(left(of: sources + [address(1, 6)])[3] == nil)
        #expect(left(of: sources + [address(1, 6)]).count == 8)
    }

    @Test func `of all together, the network that has most ends its oldest, and one of IPv4 is one address`() {
        let others: [[UInt8]] = (1...12).map { [192, 0, 2, $0] }
        let left = left(of: others + (1...4).map { address(1, $0) } + [[192, 0, 2, 13]])
        #expect(left.count == 16)
        #expect(left[12] == nil)
        // Of networks that have as many, the one with the oldest.
        let even = self.left(of: (0..<200).map { address($0, 1) })
        #expect(even.keys.sorted() == Array(184..<200))
    }
}
