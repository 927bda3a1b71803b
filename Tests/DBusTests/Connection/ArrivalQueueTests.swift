import Testing

@testable import DBus

struct ArrivalQueueTests {
    /// Reads what fits into so many bytes.
    private func read(_ queue: inout ArrivalQueue, _ count: Int) -> (bytes: [UInt8], descriptors: Int?) {
        var space = [UInt8](repeating: 0, count: count)
        let reading = space.withUnsafeMutableBytes { queue.read(into: $0) }
        return (Array(space[..<reading.count]), reading.descriptors?.count)
    }

    @Test func `messages are read in order, together and in parts`() {
        var queue = ArrivalQueue()
        for message: [UInt8] in [[1, 2], [3], [4, 5, 6]] { #expect(queue.append(message, nil)) }
        #expect(read(&queue, 4) == ([1, 2, 3, 4], nil))
        #expect(!queue.isEmpty)
        #expect(read(&queue, 4) == ([5, 6], nil))
        #expect(queue.isEmpty)
        #expect(read(&queue, 4) == ([], nil))
    }

    @Test func `descriptors are those of the message that begins last`() throws {
        let (one, other) = try PacketSocket.pair()
        var queue = ArrivalQueue()
        #expect(queue.append([1], nil))
        #expect(queue.append([2, 2], [one, other]))
        #expect(queue.append([3], []))
        #expect(queue.append([4], nil))
        #expect(read(&queue, 2) == ([1, 2], 2))
        #expect(read(&queue, 2) == ([2, 3], 0))
        #expect(read(&queue, 2) == ([4], nil))
    }

    @Test func `there is no room for too many bytes and descriptors`() throws {
        var queue = ArrivalQueue()
        let (large, descriptor) = ([UInt8](repeating: 0, count: 1 << 20), try PacketSocket.pair().0)
        for _ in 0..<63 { #expect(queue.append(large, nil)) }
        for _ in 0..<256 { #expect(queue.append([0], [descriptor])) }
        #expect(!queue.append([0], [descriptor]))
        #expect(!queue.append(large, nil))
        #expect(queue.append([0], nil))
        // What was read makes room.
        _ = read(&queue, 63 << 20 + 1)
        #expect(queue.append(large, [descriptor]))
    }
}
