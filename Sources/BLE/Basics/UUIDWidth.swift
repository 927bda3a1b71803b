/// The number of bytes with which a UUID is sent.
public enum UUIDWidth: Int, Hashable, Codable, Sendable, CaseIterable, Comparable {
    /// 16 bits.
    case bits16 = 2
    /// 32 bits.
    case bits32 = 4
    /// 128 bits.
    case bits128 = 16

    /// The narrowest width that can represent `uuid`.
    public init(_ uuid: BluetoothUUID) {
        self = uuid.short != nil ? .bits16 : uuid.short32 != nil ? .bits32 : .bits128
    }

    /// Compares the numbers of bytes.
    public static func < (left: UUIDWidth, right: UUIDWidth) -> Bool { left.rawValue < right.rawValue }

    var index: UInt8 {
        switch self {
        case .bits16: 0
        case .bits32: 1
        case .bits128: 2
        }
    }
}

extension BluetoothUUID {
    /// The 16 bytes of the 128-bit form, the most significant first, as in text.
    public var bigEndianBytes: [UInt8] { littleEndianBytes(.bits128).reversed() }

    /// Creates a UUID from 2, 4 or 16 bytes, the least significant first.
    init(littleEndian bytes: ArraySlice<UInt8>) {
        if bytes.count == UUIDWidth.bits128.rawValue {
            self.init(high: bytes.suffix(8).littleEndian, low: bytes.prefix(8).littleEndian)
        } else {
            self.init(UInt32(truncatingIfNeeded: bytes.littleEndian))
        }
    }

    /// The bytes as sent, the least significant first. The UUID must fit `width`.
    func littleEndianBytes(_ width: UUIDWidth) -> [UInt8] {
        switch width {
        case .bits16: (short ?? 0).littleEndianBytes
        case .bits32: (short32 ?? 0).littleEndianBytes
        case .bits128: low.littleEndianBytes + high.littleEndianBytes
        }
    }
}
