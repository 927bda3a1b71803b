public import BLE

/// What a training on a fitness machine is doing (Fitness Machine Service 1.0, section 4.10).
public struct TrainingStatus: Hashable, ValueCodable {
    /// What it is doing.
    public var activity: Activity
    /// What the machine says about it; nil when it says nothing.
    public var text: String?
    /// Whether the text is longer than a notification, so that only reading gets all of it.
    public var hasMoreText: Bool

    /// A status.
    public init(_ activity: Activity, text: String? = nil, hasMoreText: Bool = false) {
        self.activity = activity
        self.text = text
        self.hasMoreText = hasMoreText
    }

    /// A flag byte, the activity, and text to the end if there is a flag for it. Bytes that are no UTF-8 become U+FFFD.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        activity = try reader.raw()
        text = flags & 0x01 != 0 ? String(from: &reader) : nil
        hasMoreText = flags & 0x02 != 0
    }

    /// The same. Throws `invalidValue` for a text with a NUL, which would end it.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        guard text?.utf8.contains(0) != true else { throw BLEError(.invalidValue, "the text has a NUL in it") }
        writer.uint8((text == nil ? 0 : 0x01) | (hasMoreText ? 0x02 : 0))
        writer.raw(activity)
        text?.encode(into: &writer)
    }

    /// True: reserved flags may announce more one day.
    public static var ignoresFurtherBytes: Bool { true }

    /// What a training is doing. Other numbers are reserved.
    public struct Activity: RawRepresentable, Hashable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Something else.
        public static let other = Activity(rawValue: 0x00)
        /// Nothing.
        public static let idle = Activity(rawValue: 0x01)
        /// Warming up.
        public static let warmingUp = Activity(rawValue: 0x02)
        /// An interval of low intensity.
        public static let lowIntensityInterval = Activity(rawValue: 0x03)
        /// An interval of high intensity.
        public static let highIntensityInterval = Activity(rawValue: 0x04)
        /// An interval to recover.
        public static let recoveryInterval = Activity(rawValue: 0x05)
        /// An isometric training.
        public static let isometric = Activity(rawValue: 0x06)
        /// Keeping a heart rate.
        public static let heartRateControl = Activity(rawValue: 0x07)
        /// A test of fitness.
        public static let fitnessTest = Activity(rawValue: 0x08)
        /// Slower than the machine can control.
        public static let speedBelowControlRegion = Activity(rawValue: 0x09)
        /// Faster than the machine can control.
        public static let speedAboveControlRegion = Activity(rawValue: 0x0A)
        /// Cooling down.
        public static let coolingDown = Activity(rawValue: 0x0B)
        /// Keeping a power.
        public static let wattControl = Activity(rawValue: 0x0C)
        /// Started without a program.
        public static let manualMode = Activity(rawValue: 0x0D)
        /// Before the training.
        public static let preWorkout = Activity(rawValue: 0x0E)
        /// After the training.
        public static let postWorkout = Activity(rawValue: 0x0F)
    }
}

extension TrainingStatus.Activity: NamedConstants {
    static let names = consecutive(
        "other", "idle", "warmingUp", "lowIntensityInterval", "highIntensityInterval", "recoveryInterval", "isometric",
        "heartRateControl", "fitnessTest", "speedBelowControlRegion", "speedAboveControlRegion", "coolingDown",
        "wattControl", "manualMode", "preWorkout", "postWorkout")
}

extension Characteristic where Value == TrainingStatus {
    /// What the training is doing (section 4.10).
    public static var trainingStatus: Self { Characteristic(BluetoothUUID(0x2AD3), service: .fitnessMachine) }
}
