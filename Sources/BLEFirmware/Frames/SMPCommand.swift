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
