internal import BLE

/// Decides where the transfer of a firmware goes on, from what a device says it has.
///
/// The firmware is transferred in objects of the device's maximum size. Each is created, sent, checked by its checksum,
/// and executed.
struct DFUSender: Sendable {
    /// What to do first.
    enum Start: Hashable, Sendable {
        /// Creates the first object, because the device has nothing.
        case create
        /// Sends the rest of the object from an offset.
        case resume(at: Int)
        /// Executes the object that ends at an offset. The device refuses that if it was executed already.
        case execute(endingAt: Int)
        /// Begins everything anew, because the device has something else.
        case startOver
    }

    private let bytes: [UInt8]
    private let objectSize: Int

    /// - Parameter objectSize: at least 1.
    init(_ bytes: [UInt8], objectSize: Int) {
        self.bytes = bytes
        self.objectSize = max(1, objectSize)
    }

    /// Returns what to do for a device in a state.
    func start(_ state: DFUObjectState) -> Start {
        guard state.offset > 0 else { return .create }
        // An object that was executed cannot be created again, and the device does not tell which ones were.
        guard state.offset <= bytes.count, CRC32.checksum(bytes[..<state.offset]) == state.checksum else {
            return .startOver
        }
        return state.offset == end(of: begin(of: state.offset - 1))
            ? .execute(endingAt: state.offset) : .resume(at: state.offset)
    }

    /// The end of the object that begins at an offset.
    func end(of begin: Int) -> Int { min(begin + objectSize, bytes.count) }

    /// The beginning of the object with the byte at an offset.
    func begin(of offset: Int) -> Int { offset / objectSize * objectSize }
}
