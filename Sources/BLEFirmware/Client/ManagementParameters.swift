internal import BLE

/// The sizes that a device receives.
public struct ManagementParameters: Hashable, Sendable {
    /// The maximum length of a frame, in bytes, with its header of 8 bytes.
    public var bufferSize: Int
    /// The number of frames that the device holds, at least 1.
    public var bufferCount: Int

    /// Creates parameters. A ``FirmwarePeripheral`` limits them.
    public init(bufferSize: Int, bufferCount: Int) {
        self.bufferSize = bufferSize
        self.bufferCount = bufferCount
    }

    init(_ fields: CBORMap) throws(BLEError) {
        guard let size = fields["buf_size"]?.integer, size > SMPHeader.size else { throw .lacking(field: "buf_size") }
        guard let count = fields["buf_count"]?.integer, count > 0 else { throw .lacking(field: "buf_count") }
        self.init(bufferSize: size, bufferCount: count)
    }
}
