internal import Loop
internal import Waiting

/// Messages that have arrived and were not read yet, read as from a socket: in order, as bytes, with a bound.
struct ArrivalQueue {
    /// The maximum number of unread bytes and descriptors.
    private static let capacity = 64 << 20
    private static let descriptorCapacity = 256

    private struct Message {
        let bytes: [UInt8]
        /// Those that came with it; nil without.
        let descriptors: [FileDescriptor]?
    }

    private var messages = Fifo<Message>()
    /// What is left of the message that was read last.
    private var rest: ArraySlice<UInt8> = []
    private var byteCount = 0
    private var descriptorCount = 0

    var isEmpty: Bool { byteCount == 0 }

    /// Adds a message. Returns false, and adds nothing, if there is no room for it.
    mutating func append(_ bytes: [UInt8], _ descriptors: [FileDescriptor]?) -> Bool {
        let (newByteCount, newDescriptorCount) = (byteCount + bytes.count, descriptorCount + (descriptors?.count ?? 0))
        guard newByteCount <= Self.capacity, newDescriptorCount <= Self.descriptorCapacity else { return false }
        (byteCount, descriptorCount) = (newByteCount, newDescriptorCount)
        messages.append(Message(bytes: bytes, descriptors: descriptors))
        return true
    }

    /// Reads as much as there is room for, up to the first message with descriptors. Returns the number of bytes, and
    /// the descriptors of the message that begins last in them; nil without.
    mutating func read(into space: UnsafeMutableRawBufferPointer) -> (count: Int, descriptors: [FileDescriptor]?) {
        var (count, descriptors): (Int, [FileDescriptor]?) = (0, nil)
        while count < space.count {
            if rest.isEmpty {
                guard descriptors == nil, let next = messages.popFirst() else { break }
                (rest, descriptors) = (next.bytes[...], next.descriptors)
            }
            let part = rest.prefix(space.count - count)
            UnsafeMutableRawBufferPointer(rebasing: space[count...]).copyBytes(from: part)
            rest = rest.dropFirst(part.count)
            count += part.count
        }
        byteCount -= count
        descriptorCount -= descriptors?.count ?? 0
        return (count, descriptors)
    }

    /// Removes everything. Returns the descriptors.
    mutating func takeDescriptors() -> [FileDescriptor] {
        var descriptors: [FileDescriptor] = []
        while let message = messages.popFirst() { descriptors += message.descriptors ?? [] }
        self = ArrivalQueue()
        return descriptors
    }
}
