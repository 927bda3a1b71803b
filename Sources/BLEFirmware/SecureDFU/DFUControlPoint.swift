public import BLE

/// The requests of Secure DFU (nRF5 SDK 17, `nrf_dfu_op_t`).
enum DFUOpcode {
    /// Creates an object: type, and size of 4 bytes.
    static let create: UInt8 = 0x01
    /// Sets the number of packets between receipts, of 2 bytes. 0 for none.
    static let setReceipts: UInt8 = 0x02
    /// Asks for the offset and the CRC-32 of what has arrived, of 4 bytes each.
    static let checksum: UInt8 = 0x03
    /// Executes the object.
    static let execute: UInt8 = 0x04
    /// Asks for the maximum size, the offset and the CRC-32 of a type of object.
    static let select: UInt8 = 0x06
    /// Begins each response.
    static let response: UInt8 = 0x60
}

/// The types of objects.
enum DFUObjectType: UInt8 {
    /// The init packet, which describes the firmware, with its signature.
    case command = 1
    /// A part of the firmware.
    case data = 2
}

/// What a device has of an object.
struct DFUObjectState: Hashable, Sendable {
    var maximumSize = 0
    var offset: Int
    var checksum: UInt32

    init(maximumSize: Int = 0, offset: Int, checksum: UInt32) {
        self.maximumSize = maximumSize
        self.offset = offset
        self.checksum = checksum
    }

    /// Decodes the answer to `select`, of 12 bytes, or to `checksum`, of 8.
    init(decoding bytes: [UInt8], hasSize: Bool) throws(BLEError) {
        guard bytes.count >= (hasSize ? 12 : 8) else {
            throw BLEError(.invalidValue, "the answer has only \(bytes.count) bytes", isRetryable: false)
        }
        let start = hasSize ? 4 : 0
        self.init(
            maximumSize: Int(bytes[..<start].littleEndian), offset: Int(bytes[start..<start + 4].littleEndian),
            checksum: UInt32(bytes[start + 4..<start + 8].littleEndian))
    }

    /// The offset and the checksum as sent over the air.
    var bytes: [UInt8] { UInt32(truncatingIfNeeded: offset).littleEndianBytes + checksum.littleEndianBytes }
}

extension BluetoothUUID {
    /// Nordic's Secure DFU service.
    public static let secureDFU = BluetoothUUID(0xFE59)
    /// The control point of Secure DFU.
    static let dfuControlPoint = BluetoothUUID(high: 0x8EC9_0001_F315_4F60, low: 0x9FB8_8388_30DA_EA50)
    /// The packets of Secure DFU.
    static let dfuPacket = BluetoothUUID(high: 0x8EC9_0002_F315_4F60, low: 0x9FB8_8388_30DA_EA50)
    /// The control point of an application that starts its bootloader.
    static let buttonlessDFU = BluetoothUUID(high: 0x8EC9_0003_F315_4F60, low: 0x9FB8_8388_30DA_EA50)
    /// The same for bonded centrals.
    static let bondedButtonlessDFU = BluetoothUUID(high: 0x8EC9_0004_F315_4F60, low: 0x9FB8_8388_30DA_EA50)
}
