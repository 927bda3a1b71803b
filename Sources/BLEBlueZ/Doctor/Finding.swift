/// Something that ``Doctor`` has looked at, and what it saw.
public struct Finding: Hashable, Sendable {
    /// How things stand.
    public enum Level: String, Hashable, Sendable, CaseIterable {
        /// As it should be.
        case ok
        /// Worth knowing; nothing is wrong.
        case note
        /// Something does not work because of this.
        case problem
    }

    /// What was looked at. Open: later versions may look at more.
    public struct Check: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// A stable name, the same as the constant's.
        public let rawValue: String
        /// Any name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The name.
        public var description: String { rawValue }

        /// The message bus can be reached.
        public static let bus = Check(rawValue: "bus")
        /// bluetoothd runs and answers, and its version.
        public static let bluetoothd = Check(rawValue: "bluetoothd")
        /// This user may talk to bluetoothd.
        public static let permission = Check(rawValue: "permission")
        /// There is an adapter.
        public static let adapter = Check(rawValue: "adapter")
        /// The adapter is switched on.
        public static let power = Check(rawValue: "power")
        /// No radio kill switch is on.
        public static let killSwitch = Check(rawValue: "killSwitch")
        /// A scan starts.
        public static let scan = Check(rawValue: "scan")
        /// bluetoothd's experimental interfaces.
        public static let experimental = Check(rawValue: "experimental")
        /// Passive scanning, by AdvertisementMonitor.
        public static let passiveScan = Check(rawValue: "passiveScan")
        /// Advertising, by LEAdvertisingManager.
        public static let advertising = Check(rawValue: "advertising")
        /// Serving GATT applications, by GattManager.
        public static let gattServer = Check(rawValue: "gattServer")
        /// The links that are up, and who knows of them.
        public static let links = Check(rawValue: "links")
        /// How many links more there can be.
        public static let connectionSlots = Check(rawValue: "connectionSlots")
        /// This program runs in a container.
        public static let container = Check(rawValue: "container")
    }

    /// What was looked at.
    public let check: Check
    /// How things stand.
    public let level: Level
    /// The adapter that it is about, such as `hci0`; nil when it is about the machine.
    public let adapter: String?
    /// One sentence: what was seen.
    public let message: String
    /// What a person can do about it. Each problem has one.
    public let remedy: String?

    init(_ check: Check, _ level: Level, _ message: String, adapter: String? = nil, remedy: String? = nil) {
        self.check = check
        self.level = level
        self.adapter = adapter
        self.message = message
        self.remedy = remedy
    }
}
