public import BLE

/// The result codes of Nordic's Secure DFU (nRF5 SDK 17, `nrf_dfu_result_t`).
public struct DFUResult: ControlPointResult {
    /// The code as sent over the air.
    public let rawValue: UInt8
    /// Creates a result from its code.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The request was performed.
    public static let success = DFUResult(rawValue: 1)
    /// There is no such opcode.
    public static let notSupported = DFUResult(rawValue: 2)
    /// A parameter is missing or not valid.
    public static let invalidParameter = DFUResult(rawValue: 3)
    /// There is not enough memory for the object.
    public static let insufficientResources = DFUResult(rawValue: 4)
    /// The object is not valid: its content, its signature, or its requirements.
    public static let invalidObject = DFUResult(rawValue: 5)
    /// There is no such type of object.
    public static let unsupportedType = DFUResult(rawValue: 7)
    /// The state does not allow the request.
    public static let notPermitted = DFUResult(rawValue: 8)
    /// The request failed.
    public static let failed = DFUResult(rawValue: 10)
    /// The request failed; the parameter has the error's number.
    public static let extendedError = DFUResult(rawValue: 11)

    /// A short description.
    public var meaning: String? {
        switch self {
        case .success: "success"
        case .notSupported: "the opcode is not supported"
        case .invalidParameter: "invalid parameter"
        case .insufficientResources: "not enough memory for the object"
        case .invalidObject: "the object is not valid"
        case .unsupportedType: "the type of object is not supported"
        case .notPermitted: "not permitted in this state"
        case .failed: "the operation failed"
        case .extendedError: "an extended error"
        default: nil
        }
    }
}

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
        let numbers = stride(from: 0, to: hasSize ? 12 : 8, by: 4).map { DFUNumber.decode(bytes[$0..<$0 + 4]) }
        self.init(
            maximumSize: hasSize ? Int(numbers[0]) : 0, offset: Int(numbers[numbers.count - 2]),
            checksum: numbers[numbers.count - 1])
    }

    /// The offset and the checksum as sent over the air.
    var bytes: [UInt8] { DFUNumber.bytes(UInt32(truncatingIfNeeded: offset)) + DFUNumber.bytes(checksum) }
}

/// Numbers of 4 bytes, little-endian.
enum DFUNumber {
    static func decode(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    static func bytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * UInt32($0))) }
    }
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
