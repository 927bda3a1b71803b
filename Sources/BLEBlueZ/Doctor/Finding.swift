/// The result of one check by ``Doctor``.
public struct Finding: Hashable, Sendable {
    /// The severity of a finding.
    public enum Level: String, Hashable, Sendable, CaseIterable {
        /// As expected.
        case ok
        /// Worth knowing, but not a problem.
        case note
        /// The reason why something does not work.
        case problem
    }

    /// The subject of a check. Later versions may add more.
    public struct Check: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// A stable name, the same as the constant's.
        public let rawValue: String
        /// Creates a check with any name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The name.
        public var description: String { rawValue }

        /// Whether the message bus can be reached.
        public static let bus = Check(rawValue: "bus")
        /// Whether bluetoothd runs and answers, and its version.
        public static let bluetoothd = Check(rawValue: "bluetoothd")
        /// Whether this user may talk to bluetoothd.
        public static let permission = Check(rawValue: "permission")
        /// Whether there is an adapter.
        public static let adapter = Check(rawValue: "adapter")
        /// Whether the adapter is powered on.
        public static let power = Check(rawValue: "power")
        /// Whether a radio kill switch is on.
        public static let killSwitch = Check(rawValue: "killSwitch")
        /// Whether a scan starts.
        public static let scan = Check(rawValue: "scan")
        /// Whether bluetoothd's experimental interfaces are on.
        public static let experimental = Check(rawValue: "experimental")
        /// Passive scanning, with AdvertisementMonitor.
        public static let passiveScan = Check(rawValue: "passiveScan")
        /// Advertising, with LEAdvertisingManager.
        public static let advertising = Check(rawValue: "advertising")
        /// Serving GATT applications, with GattManager.
        public static let gattServer = Check(rawValue: "gattServer")
        /// Whether a policy lets bluetoothd call what programs serve.
        public static let servingPolicy = Check(rawValue: "servingPolicy")
        /// Whether bluetoothd examines the centrals that connect.
        public static let reverseDiscovery = Check(rawValue: "reverseDiscovery")
        /// The links that bluetoothd and the kernel report.
        public static let links = Check(rawValue: "links")
        /// The number of further links that are possible.
        public static let connectionSlots = Check(rawValue: "connectionSlots")
        /// Whether this program runs in a container.
        public static let container = Check(rawValue: "container")
    }

    /// The subject of the check.
    public let check: Check
    /// The severity of a finding.
    public let level: Level
    /// The adapter, such as `hci0`; nil if the finding concerns the machine.
    public let adapter: String?
    /// One sentence that describes the finding.
    public let message: String
    /// The suggested remedy. Each problem has one.
    public let remedy: String?

    init(_ check: Check, _ level: Level, _ message: String, adapter: String? = nil, remedy: String? = nil) {
        self.check = check
        self.level = level
        self.adapter = adapter
        self.message = message
        self.remedy = remedy
    }
}
