/// Bytes from a socket, and the messages that are complete among them.
///
/// Holds one reading's worth, or one message where that is longer.
struct ReceiveBuffer: ~Copyable {
    private var storage: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0

    /// How much is read at once, in bytes: some 250 notifications, and a good part of a snapshot.
    private static let capacity = 64 * 1024

    init() {
        storage = .allocate(byteCount: Self.capacity, alignment: 8)
    }

    deinit {
        storage.deallocate()
    }

    /// Where the next bytes go; never empty. Ends the life of the messages and lines that were taken out.
    mutating func space() -> UnsafeMutableRawBufferPointer {
        var needed = max(Self.capacity, (try? incompleteLength()) ?? 0)
        // What is complete should have been taken out before.
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

    /// So many bytes have been put into ``space()``.
    mutating func received(_ count: Int) {
        end += count
    }

    /// The length of the message that begins here, when as much of it is here as that takes.
    private func incompleteLength() throws(DBusError) -> Int? {
        guard end - start >= IncomingMessage.fixedHeader else { return nil }
        return try IncomingMessage.length(UnsafeRawBufferPointer(rebasing: storage[start..<end]))
    }

    /// Takes out the next message when it is complete. It is valid until ``space()``.
    ///
    /// Throws where no message begins; nothing behind that can be read.
    mutating func nextMessage() throws(DBusError) -> IncomingMessage? {
        guard let length = try incompleteLength(), length <= end - start else { return nil }
        defer { start += length }
        return try IncomingMessage(UnsafeRawBufferPointer(rebasing: storage[start..<start + length]))
    }

    /// Takes out the next line of the handshake, without its end, when it is complete.
    mutating func nextLine() -> String? {
        guard let newline = storage[start..<end].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        defer { start = newline + 1 }
        var line = storage[start..<newline]
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return String(decoding: line, as: UTF8.self)
    }
}
