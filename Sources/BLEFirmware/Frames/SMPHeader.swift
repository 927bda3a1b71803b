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

/// A group of commands, which has errors of its own.
///
/// Numbers from Zephyr, `mcumgr_group_t`. A product's own groups begin at 64.
public struct SMPGroup: RawRepresentable, Hashable, Sendable {
    /// The number as sent over the air.
    public let rawValue: UInt16
    /// Creates a group from its number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The operating system: echo, parameters, reset.
    public static let os = SMPGroup(rawValue: 0)
    /// The firmware images.
    public static let image = SMPGroup(rawValue: 1)
    /// Statistics.
    public static let statistics = SMPGroup(rawValue: 2)
    /// Settings.
    public static let settings = SMPGroup(rawValue: 3)
    /// Files.
    public static let file = SMPGroup(rawValue: 8)
    /// The shell.
    public static let shell = SMPGroup(rawValue: 9)
    /// The enumeration of groups.
    public static let enumeration = SMPGroup(rawValue: 10)
    /// Zephyr's own commands.
    public static let zephyr = SMPGroup(rawValue: 63)
}

/// A command of a group.
public struct SMPCommand: Hashable, Sendable {
    /// The group.
    public let group: SMPGroup
    /// The number of the command in its group.
    public let id: UInt8

    /// Creates a command.
    public init(_ group: SMPGroup, _ id: UInt8) {
        self.group = group
        self.id = id
    }

    // Zephyr, documentation of the SMP groups 0, 1, 8 and 9.
    static let echo = SMPCommand(.os, 0)
    static let tasks = SMPCommand(.os, 2)
    static let memoryPools = SMPCommand(.os, 3)
    static let dateTime = SMPCommand(.os, 4)
    static let reset = SMPCommand(.os, 5)
    static let parameters = SMPCommand(.os, 6)
    static let applicationInfo = SMPCommand(.os, 7)
    static let bootloaderInfo = SMPCommand(.os, 8)
    static let imageState = SMPCommand(.image, 0)
    static let imageUpload = SMPCommand(.image, 1)
    static let imageErase = SMPCommand(.image, 5)
    static let slotInfo = SMPCommand(.image, 6)
    static let file = SMPCommand(.file, 0)
    static let fileStatus = SMPCommand(.file, 1)
    static let fileHash = SMPCommand(.file, 2)
    static let fileHashTypes = SMPCommand(.file, 3)
    static let fileClose = SMPCommand(.file, 4)
    static let execute = SMPCommand(.shell, 0)
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
