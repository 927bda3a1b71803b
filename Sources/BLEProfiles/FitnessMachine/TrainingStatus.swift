public import BLE

/// The status of a training on a fitness machine (Fitness Machine Service 1.0, section 4.10).
public struct TrainingStatus: Hashable, Codable, ValueCodable {
    /// The activity.
    public var activity: Activity
    /// The machine's text about the activity. Nil if it sends only a code.
    public var text: String?
    /// Whether the text is too long for a notification. To receive all of it, read the characteristic.
    public var hasMoreText: Bool

    /// Creates a status.
    public init(_ activity: Activity, text: String? = nil, hasMoreText: Bool = false) {
        self.activity = activity
        self.text = text
        self.hasMoreText = hasMoreText
    }

    /// Decodes a flag byte, the activity, and text up to the end if the flags announce it. Bytes that are not UTF-8
    /// become U+FFFD.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        activity = try reader.raw()
        text = flags & 0x01 != 0 ? String(from: &reader) : nil
        hasMoreText = flags & 0x02 != 0
    }

    /// Encodes the status. Throws `invalidValue` if the text contains a NUL, which would end it.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        guard text?.utf8.contains(0) != true else { throw BLEError(.invalidValue, "the text contains a NUL") }
        writer.uint8((text == nil ? 0 : 0x01) | (hasMoreText ? 0x02 : 0))
        writer.raw(activity)
        text?.encode(into: &writer)
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }

    /// The activity of a training. Other numbers are reserved.
    public struct Activity: RawRepresentable, Hashable, Codable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Creates a value with any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Another activity.
        public static let other = Activity(rawValue: 0x00)
        /// Idle.
        public static let idle = Activity(rawValue: 0x01)
        /// Warming up.
        public static let warmingUp = Activity(rawValue: 0x02)
        /// An interval of low intensity.
        public static let lowIntensityInterval = Activity(rawValue: 0x03)
        /// An interval of high intensity.
        public static let highIntensityInterval = Activity(rawValue: 0x04)
        /// A recovery interval.
        public static let recoveryInterval = Activity(rawValue: 0x05)
        /// Isometric training.
        public static let isometric = Activity(rawValue: 0x06)
        /// Heart rate control.
        public static let heartRateControl = Activity(rawValue: 0x07)
        /// A fitness test.
        public static let fitnessTest = Activity(rawValue: 0x08)
        /// The speed is below the range that the machine can control.
        public static let speedBelowControlRegion = Activity(rawValue: 0x09)
        /// The speed is above the range that the machine can control.
        public static let speedAboveControlRegion = Activity(rawValue: 0x0A)
        /// Cooling down.
        public static let coolingDown = Activity(rawValue: 0x0B)
        /// Power control.
        public static let wattControl = Activity(rawValue: 0x0C)
        /// Manual mode, without a program.
        public static let manualMode = Activity(rawValue: 0x0D)
        /// Before the training.
        public static let preWorkout = Activity(rawValue: 0x0E)
        /// After the training.
        public static let postWorkout = Activity(rawValue: 0x0F)
    }
}

extension TrainingStatus.Activity: NamedConstants {
    static let names = consecutive(
        "other", "idle", "warmingUp", "lowIntensityInterval", "highIntensityInterval",
        "recoveryInterval", "isometric",
        "heartRateControl", "fitnessTest", "speedBelowControlRegion", "speedAboveControlRegion", "coolingDown",
        "wattControl", "manualMode", "preWorkout", "postWorkout")
}

extension Characteristic where Value == TrainingStatus {
    /// The status of the training (section 4.10).
    public static var trainingStatus: Self { Characteristic(BluetoothUUID(0x2AD3), service: .fitnessMachine) }
}
