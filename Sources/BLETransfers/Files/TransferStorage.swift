public import BLE

/// Stores the files that arrive, and what has arrived of them.
///
/// A function that throws a ``TransferRefusal`` refuses the transfer with it; any other error is
/// ``TransferRefusal/storageFailed``. The functions for one file are called one after the other, and those for files
/// with other names at the same time.
public protocol TransferStorage: Sendable {
    /// Prepares to store a file. Returns the number of bytes of the same file that are there: of one with the same
    /// name, length, checksum and identifier. All of them if it is complete.
    ///
    /// Their checksum is compared, so that a storage need not do so: it may return the length of any file with the same
    /// name and length. If all bytes are there and their checksum differs, a call with `isNew` follows.
    ///
    /// The storage decides how long it keeps a part, and bounds their number: each call may be the beginning of another
    /// file of which nothing else arrives. It should therefore discard other files and their parts only when bytes
    /// arrive. Two peripherals, or two clients, that share the storage may begin the same file, or files of one name,
    /// at the same time: the second is refused with ``TransferRefusal/busy``. The name is
    /// ``TransferFile/isValid(name:)``, and not safe as a path.
    ///
    /// - Parameters:
    ///   - isNew: whether to discard what is there, because its beginning differs.
    ///   - peer: the device that sends the file.
    func begin(_ file: TransferFile, isNew: Bool, from peer: DeviceID) async throws -> Int
    /// Returns bytes of what is there, from an offset: at least 1, and at most `maximumLength`.
    func read(_ file: TransferFile, at offset: Int, maximumLength: Int) async throws -> ArraySlice<UInt8>
    /// Appends bytes. The offset is the number of bytes that are there. If it throws, they may be there in part.
    func write(_ bytes: [UInt8], at offset: Int, of file: TransferFile) async throws
    /// Completes a file whose checksum is right. It may be complete already.
    func finish(_ file: TransferFile) async throws
    /// Discards what is there, because its checksum is wrong.
    func discard(_ file: TransferFile) async throws
    /// Called when a transfer that ``begin(_:isNew:from:)`` has accepted has ended, and the file may not be complete:
    /// the part is kept to go on from.
    func suspend(_ file: TransferFile) async
}
