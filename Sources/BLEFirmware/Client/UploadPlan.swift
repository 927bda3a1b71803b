internal import BLE

/// What is uploaded, and how.
struct UploadPlan: Sendable {
    let bytes: [UInt8]
    let command: SMPCommand
    /// The maximum number of bytes in the first request. They are sent again when an upload goes on.
    var firstLength: Int?
    let firstTimeout: Duration
    let reconnects: Int
    /// Returns the number of bytes that the device has. Nil if the first response tells it.
    var findOffset: (@Sendable (SMPSession) async throws(BLEError) -> Int)?
    /// Returns the fields of the request at an offset, without its data.
    let fields: @Sendable (_ offset: Int) -> CBORMap

    /// Returns the request at an offset, as long as it can be.
    func request(at offset: Int, frameLength: Int) throws(BLEError) -> (fields: CBORMap, range: Range<Int>) {
        var fields = fields(offset)
        fields["data"] = .bytes([])
        let room = frameLength - SMPHeader.size - CBOR.map(fields).encoded().count
        // The length of the data takes up to 4 bytes more than that of no data.
        var count = max(0, room)
        while count > 0, count + CBOR.headCount(count) - 1 > room { count -= 1 }
        count = min(count, bytes.count - offset)
        if offset == 0, let firstLength {
            guard count >= min(firstLength, bytes.count) else { throw Self.tooShort(frameLength) }
            count = min(count, firstLength)
        }
        guard count > 0 || bytes.isEmpty else { throw Self.tooShort(frameLength) }
        let range = offset..<offset + count
        fields["data"] = .bytes(Array(bytes[range]))
        return (fields, range)
    }

    private static func tooShort(_ frameLength: Int) -> BLEError {
        BLEError(
            .invalidLength, "frames of \(frameLength) bytes are too short for an upload", isRetryable: false,
            remedy: "Use a link with a larger MTU, or enable reassembly in the device.")
    }
}
