/// What a ``FirmwarePeripheral`` manages: the slots of its firmware, and its files.
///
/// A function that throws an ``SMPFailure`` answers the central's request with it; any other error is answered with
/// ``SMPFailure/Code/unknown``. Requests of several centrals may call functions at the same time, but one upload writes
/// at a time. After 120 s, a function that has not returned no longer keeps other uploads waiting, which begin with
/// ``beginUpload(image:length:)``.
public protocol FirmwareStorage: Sendable {
    /// Returns the images in the slots.
    func imageSlots() async throws -> [ImageSlot]
    /// Returns the sizes of the slots, in bytes.
    func slotSizes() async throws -> [ImageSlotSize]
    /// Erases a slot. Throws if its image is running, or is started by the next reset.
    func erase(slot: Int) async throws
    /// Sets what the next reset starts.
    ///
    /// - Parameters:
    ///   - hash: that of the image. Nil for the running one.
    ///   - isConfirmed: whether the image stays. If not, it is started once.
    func setState(hash: [UInt8]?, isConfirmed: Bool) async throws

    /// Prepares the free slot for an upload, and erases it. Throws if there is none, or if it is too small.
    ///
    /// - Parameters:
    ///   - image: the number of the image, as the central sends it. Throw if there is none.
    ///   - length: the number of bytes of the whole image, as the central declares it.
    func beginUpload(image: Int, length: Int) async throws
    /// Stores bytes of the upload. The offset is the number of bytes that were stored since it began.
    func write(_ bytes: [UInt8], at offset: Int, image: Int) async throws
    /// Returns the bytes of the upload, all of which were stored.
    func uploadedBytes(image: Int) async throws -> [UInt8]
    /// Ends an upload whose image is valid. An upload that is not is erased with ``erase(slot:)`` or by the next one.
    func finishUpload(_ firmware: FirmwareImage, image: Int) async throws

    /// Returns the length of a file, in bytes. Throws if there is none.
    func fileLength(_ name: String) async throws -> Int
    /// Returns bytes of a file: from an offset in it, at most so many.
    func readFile(_ name: String, at offset: Int, maximumLength: Int) async throws -> [UInt8]
    /// Stores bytes of a file. At the offset 0, the file is created or replaced; at others, it has as many bytes.
    ///
    /// - Parameter length: the length that the file will have. Nil if it is not known, at other offsets than 0.
    func writeFile(_ name: String, _ bytes: [UInt8], at offset: Int, length: Int?) async throws
}
