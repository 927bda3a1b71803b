/// The version of the protocol, in the header of each frame.
///
/// It determines how a device reports errors: as `rc` in version 1, and as a group and a number in version 2.
public enum SMPVersion: UInt8, Hashable, Sendable, Comparable {
    /// The version of mcumgr and of Zephyr before 3.4.
    case one = 0
    /// The version since Zephyr 3.4.
    case two = 1

    /// Whether a version is older.
    public static func < (left: SMPVersion, right: SMPVersion) -> Bool { left.rawValue < right.rawValue }
}

/// What a frame does.
public enum SMPOperation: UInt8, Hashable, Sendable, CaseIterable {
    /// Requests to read.
    case read = 0
    /// Responds to a read.
    case readResponse = 1
    /// Requests to write.
    case write = 2
    /// Responds to a write.
    case writeResponse = 3

    /// The operation of the response to a request. Nil for a response.
    public var response: SMPOperation? {
        switch self {
        case .read: .readResponse
        case .write: .writeResponse
        case .readResponse, .writeResponse: nil
        }
    }
}

/// The header of a frame of the Simple Management Protocol, 8 bytes, big-endian: operation and version, flags, length,
/// group, sequence number, command.
public struct SMPHeader: Hashable, Sendable {
    /// The number of bytes.
    public static let size = 8

    /// What the frame does.
    public var operation: SMPOperation
    /// The version of the protocol.
    public var version: SMPVersion
    /// The number of bytes after the header, 0 to 65535.
    public var length: Int
    /// The command.
    public var command: SMPCommand
    /// Identifies a request; its response has the same number.
    public var sequence: UInt8

    /// Creates a header.
    public init(
        _ operation: SMPOperation, _ command: SMPCommand, sequence: UInt8, length: Int, version: SMPVersion = .two
    ) {
        self.operation = operation
        self.version = version
        self.length = length
        self.command = command
        self.sequence = sequence
    }

    /// Decodes the first 8 bytes. Nil if there are fewer, or if the first byte has a reserved bit, or a version or an
    /// operation that is not defined. Flags are ignored, because none is defined.
    public init?(_ bytes: ArraySlice<UInt8>) {
        guard bytes.count >= Self.size else { return nil }
        let start = bytes.startIndex
        guard let (operation, version) = Self.decode(bytes[start]) else { return nil }
        func number(_ offset: Int) -> UInt16 { UInt16(bytes[start + offset]) << 8 | UInt16(bytes[start + offset + 1]) }
        self.init(
            operation, SMPCommand(SMPGroup(rawValue: number(4)), bytes[start + 7]), sequence: bytes[start + 6],
            length: Int(number(2)), version: version)
    }

    /// Decodes the first byte: three reserved bits, two of the version, three of the operation.
    static func decode(_ byte: UInt8) -> (SMPOperation, SMPVersion)? {
        guard byte >> 5 == 0, let operation = SMPOperation(rawValue: byte & 7),
            let version = SMPVersion(rawValue: byte >> 3 & 3)
        else { return nil }
        return (operation, version)
    }

    /// The bytes as sent over the air.
    public var bytes: [UInt8] {
        let (length, group) = (UInt16(truncatingIfNeeded: length), command.group.rawValue)
        return [
            version.rawValue << 3 | operation.rawValue, 0, UInt8(length >> 8), UInt8(length & 0xFF),
            UInt8(group >> 8), UInt8(group & 0xFF), sequence, command.id,
        ]
    }
}
