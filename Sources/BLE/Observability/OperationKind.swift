/// A kind of operation, in statistics, metrics and spans. Later versions may add kinds.
@nonexhaustive
public enum OperationKind: String, CaseIterable, Hashable, Sendable {
    /// The wait of a call for a link that is not up. Not counted for a call that finds the link up.
    case connect
    /// An attempt to connect that the central makes by itself, for a maintained link that no call waits for.
    case reconnect
    /// Discovering the services of a peripheral, after connecting and after they have changed.
    case discover
    /// Reading an attribute. For a host, answering the read of a central.
    case read
    /// Writing an attribute. For a host, answering the write of a central.
    case write
    /// Beginning to read notifications, which asks the peripheral to send them, unless it does already.
    case subscribe
    /// Asking a peripheral to stop, unless another reader has begun meanwhile.
    case unsubscribe
    /// Pairing, including the answers to prompts.
    case pair
    /// Removing a bond.
    case unpair
    /// Opening an L2CAP channel.
    case openChannel
    /// Sending an indication, until it is confirmed. Of a host only.
    case indicate

    /// The position in a table of all kinds.
    fileprivate var index: Int {
        switch self {
        case .connect: 0
        case .reconnect: 1
        case .discover: 2
        case .read: 3
        case .write: 4
        case .subscribe: 5
        case .unsubscribe: 6
        case .pair: 7
        case .unpair: 8
        case .openChannel: 9
        case .indicate: 10
        }
    }
}

/// How the operations of one kind have ended.
public struct OperationStatistics: Hashable, Sendable {
    /// The number of those that have succeeded.
    public internal(set) var successCount = 0
    /// The numbers of those that have failed, by the code of the error. Of more than 64 codes, the others count as
    /// `failed`.
    public internal(set) var failureCounts: [BLEError.Code: Int] = [:]
    /// The sum of their durations, also of those that have failed, on the clock of the configuration.
    public internal(set) var totalDuration = Duration.zero
    /// The longest of their durations.
    public internal(set) var longestDuration = Duration.zero

    /// The number of those that have ended.
    public var count: Int { failureCounts.values.reduce(successCount, +) }

    /// Creates statistics without an operation.
    public init() {}

    /// Counts an operation that has ended.
    mutating func ended(_ code: BLEError.Code?, after duration: Duration) {
        totalDuration += duration
        if duration > longestDuration { longestDuration = duration }
        if let code { failureCounts.count(code, otherwise: .failed) } else { successCount += 1 }
    }
}

/// The statistics of all kinds of operations.
struct OperationTable: Hashable, Sendable {
    private var rows = [OperationStatistics](repeating: OperationStatistics(), count: OperationKind.allCases.count)

    subscript(kind: OperationKind) -> OperationStatistics {
        get { rows[kind.index] }
        _modify { yield &rows[kind.index] }
    }
}

/// The maximum number of codes and reasons that are counted by themselves. They are open sets, which a backend may
/// extend.
let countedKeysLimit = 64

extension Dictionary where Value == Int {
    /// Counts a key. If there are too many keys, counts `other` instead.
    mutating func count(_ key: Key, otherwise other: Key) {
        let isNew = self[key] == nil
        self[isNew && count >= countedKeysLimit ? other : key, default: 0] += 1
    }
}
