/// A buffer for bytes from a socket, which returns the complete messages.
///
/// Holds the bytes of one read, or one message if that is longer.
struct ReceiveBuffer: ~Copyable {
    private var storage: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0

    /// The number of bytes to read at once: about 250 notifications, and a good part of a snapshot.
    private static let capacity = 64 * 1024

    init() {
        storage = .allocate(byteCount: Self.capacity, alignment: 8)
    }

    deinit {
        storage.deallocate()
    }

    var isEmpty: Bool { start == end }

    /// Returns the space for the next bytes, which is never empty. Invalidates the messages and lines taken out before.
    mutating func space() -> UnsafeMutableRawBufferPointer {
        var needed = max(Self.capacity, (try? incompleteLength()) ?? 0)
        // Complete messages should have been taken out before.
        if end - start >= needed { needed = end - start + Self.capacity }
        if storage.count != needed {
            let other = UnsafeMutableRawBufferPointer.allocate(byteCount: needed, alignment: 8)
            other.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<end]))
            storage.deallocate()
            storage = other
        } else if start > 0, end > start {
            storage.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<end]))
        }
        end -= start
        start = 0
        return UnsafeMutableRawBufferPointer(rebasing: storage[end...])
    }

    /// The number of bytes that it takes.
    var size: Int { storage.count }

    /// Gives back the room of a long message, such as a snapshot of all objects, if the buffer is empty. The next
    /// message may come after hours. Invalidates the messages taken out before.
    mutating func shrink() {
        guard isEmpty, storage.count > Self.capacity else { return }
        // The former one frees its storage.
        self = ReceiveBuffer()
    }

    /// Records that `count` bytes were put into ``space()``.
    mutating func received(_ count: Int) {
        end += count
    }

    /// Returns the length of the first message in the buffer, if enough of it has arrived.
    private func incompleteLength() throws(DBusError) -> Int? {
        guard end - start >= IncomingMessage.fixedHeader else { return nil }
        return try IncomingMessage.length(UnsafeRawBufferPointer(rebasing: storage[start..<end]))
    }

    /// Takes out the next message if it is complete. It is valid until ``space()`` or ``shrink()`` is
    /// called.
    ///
    /// Throws if the bytes are not a message; nothing after them can be read.
    mutating func nextMessage() throws(DBusError) -> IncomingMessage? {
        guard let length = try incompleteLength(), length <= end - start else { return nil }
        defer { start += length }
        return try IncomingMessage(UnsafeRawBufferPointer(rebasing: storage[start..<start + length]))
    }

    /// Takes out the next line of the handshake, without its line ending, if it is complete.
    mutating func nextLine() -> String? {
        guard let newline = storage[start..<end].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        defer { start = newline + 1 }
        var line = storage[start..<newline]
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return String(decoding: line, as: UTF8.self)
    }
}
