internal import Loop

/// What carries the messages of a connection: bytes both ways, and the descriptors that go with them.
///
/// Any thread may write. Everything else happens on the loop's thread.
protocol BusCarrier: AnyObject, Sendable {
    /// Readable when there is something to read, or the carrier has ended.
    var descriptor: FileDescriptor { get }
    /// Whether the descriptor is writable when there is room again. Otherwise, it becomes readable then.
    var isWritableWithRoom: Bool { get }

    func read(into space: UnsafeMutableRawBufferPointer) -> BusReading

    /// Writes whole messages, and descriptors with the first of them. Returns how many bytes were accepted; nil if the
    /// carrier is broken.
    func write(_ bytes: ArraySlice<UInt8>, _ descriptors: [FileDescriptor]) -> Int?

    /// Forgets that an answer to a call is expected, because it has been accepted.
    func answered(_ serial: UInt32)

    func close()
}

enum BusReading {
    /// Bytes, and the descriptors of the message that begins last in them; nil without.
    case bytes(Int, [FileDescriptor]?)
    case nothingYet
    /// The other side has ended the connection, or it is broken.
    case over
}
