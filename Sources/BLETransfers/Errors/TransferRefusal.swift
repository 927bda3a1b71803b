/// Why one side has refused or ended a transfer: the code of a STOP message.
public struct TransferRefusal: RawRepresentable, Error, Hashable, Sendable {
    /// The code.
    public let rawValue: UInt8

    /// Creates a refusal from its code.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The version of the protocol is not supported.
    public static let version = TransferRefusal(rawValue: 1)
    /// A message is not valid, or was not allowed at that time.
    public static let invalidMessage = TransferRefusal(rawValue: 2)
    /// The file is longer than the receiver accepts.
    public static let tooLarge = TransferRefusal(rawValue: 3)
    /// The receiver has no room for the file now.
    public static let noRoom = TransferRefusal(rawValue: 4)
    /// The receiver does not accept a file of this name.
    public static let nameRefused = TransferRefusal(rawValue: 5)
    /// The file is being transferred by another central, or the peripheral has no room for another transfer.
    public static let busy = TransferRefusal(rawValue: 6)
    /// What was received does not have the checksum of the file. The receiver has discarded it.
    public static let wrongChecksum = TransferRefusal(rawValue: 7)
    /// There is no file of this name.
    public static let notFound = TransferRefusal(rawValue: 8)
    /// The central is not allowed to transfer the file.
    public static let notAllowed = TransferRefusal(rawValue: 9)
    /// The file could not be stored or read.
    public static let storageFailed = TransferRefusal(rawValue: 10)
    /// The other side was silent for too long.
    public static let timedOut = TransferRefusal(rawValue: 11)
    /// The program has cancelled the transfer. What has arrived is kept.
    public static let cancelled = TransferRefusal(rawValue: 12)
}

extension TransferRefusal: CustomStringConvertible {
    /// The name of the code, or its number.
    public var description: String {
        switch self {
        case .version: "the version of the protocol is not supported"
        case .invalidMessage: "a message is not valid"
        case .tooLarge: "the file is too large"
        case .noRoom: "there is no room for the file"
        case .nameRefused: "the name is refused"
        case .busy: "another transfer is in progress"
        case .wrongChecksum: "the checksum does not match"
        case .notFound: "there is no such file"
        case .notAllowed: "the transfer is not allowed"
        case .storageFailed: "the file could not be stored or read"
        case .timedOut: "no message has arrived in time"
        case .cancelled: "the transfer was cancelled"
        default: "code \(rawValue)"
        }
    }

    /// Whether the same transfer may succeed a little later.
    public var isRetryable: Bool { [.busy, .noRoom, .wrongChecksum, .timedOut].contains(self) }
}
