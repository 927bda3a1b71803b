public import BLE

/// The contents of a file that is sent.
public protocol TransferSource: Sendable {
    /// Returns bytes from an offset: at least 1, and at most `maximumLength`.
    func read(at offset: Int, maximumLength: Int) async throws -> ArraySlice<UInt8>
}

/// The files that a peripheral sends to centrals that ask for them.
public protocol TransferLibrary: Sendable {
    /// Returns a file and its contents. Throws a ``TransferRefusal``, usually ``TransferRefusal/notFound``, to refuse.
    func file(named name: String, for central: DeviceID) async throws -> (TransferFile, any TransferSource)
}

/// Contents in memory.
struct ByteSource: TransferSource {
    let bytes: [UInt8]

    func read(at offset: Int, maximumLength: Int) -> ArraySlice<UInt8> { bytes[offset...].prefix(maximumLength) }
}
