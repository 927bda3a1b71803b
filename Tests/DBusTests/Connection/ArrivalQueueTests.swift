import Loop
import Testing

@testable import DBus

struct ArrivalQueueTests {
    private final class Queue {
        private var queue = ArrivalQueue()

        var isEmpty: Bool { queue.isEmpty }

        func append(_ bytes: [UInt8], _ descriptors: [FileDescriptor]? = nil) -> Bool {
            queue.append(bytes, descriptors)
        }

        /// Reads what fits into so many bytes. Returns the number of descriptors as well.
        func read(_ count: Int) -> ([UInt8], Int?) {
            var space = [UInt8](repeating: 0, count: count)
            let reading = space.withUnsafeMutableBytes { queue.read(into: $0) }
            return (Array(space[..<reading.count]), reading.descriptors?.count)
        }

        func takeDescriptors() -> [FileDescriptor] { queue.takeDescriptors() }
    }

    @Test func `messages are read in order, together and in parts`() {
        let queue = Queue()
        for message: [UInt8] in [[1, 2], [3], [4, 5, 6]] { #expect(queue.append(message)) }
        #expect(queue.read(4) == ([1, 2, 3, 4], nil))
        #expect(!queue.isEmpty)
        #expect(queue.read(4) == ([5, 6], nil))
        #expect(queue.isEmpty)
        #expect(queue.read(4) == ([], nil))
    }

    @Test func `descriptors are those of the message that begins last`() throws {
        let (one, other) = try PacketSocket.pair()
        let queue = Queue()
        #expect(queue.append([1]))
        #expect(queue.append([2, 2], [one, other]))
        #expect(queue.append([3], []))
        #expect(queue.append([4]))
        #expect(queue.read(2) == ([1, 2], 2))
        #expect(queue.read(2) == ([2, 3], 0))
        #expect(queue.read(2) == ([4], nil))
    }

    @Test func `there is no room for too many bytes and descriptors`() throws {
        let queue = Queue()
        let (large, descriptor) = ([UInt8](repeating: 0, count: 1 << 20), try PacketSocket.pair().0)
        for _ in 0..<63 { #expect(queue.append(large)) }
        for _ in 0..<256 { #expect(queue.append([0], [descriptor])) }
        #expect(!queue.append([0], [descriptor]))
        #expect(!queue.append(large))
        #expect(queue.append([0]))
        // What was read makes room.
        _ = queue.read(63 << 20 + 1)
        #expect(queue.append(large, [descriptor]))
    }

    @Test func `the descriptors of unread messages can be taken out, and nothing is left`() throws {
        let ((read, one), (other, last)) = (try PacketSocket.pair(), try PacketSocket.pair())
        let queue = Queue()
        // Those of a message that is read in part are with its reader.
        #expect(queue.append([1, 1], [read]))
        #expect(queue.append([2], [one, other]))
        #expect(queue.append([3]))
        #expect(queue.append([4], [last]))
        #expect(queue.read(1) == ([1], 1))
        #expect(queue.takeDescriptors().map(\.rawValue) == [one, other, last].map(\.rawValue))
        #expect(queue.isEmpty)
        #expect(queue.read(4) == ([], nil))
        #expect(queue.takeDescriptors().isEmpty)
        // There is as much room as at first.
        for _ in 0..<256 { #expect(queue.append([0], [last])) }
    }
}
