extension PresentationFormat {
    /// Distinguishes several values of a kind, by number or by location (Assigned Numbers, section 2.4.2.1): 1 to 255
    /// are the first to the 255th. Other namespaces define other numbers.
    public struct Description: RawRepresentable, Hashable, Codable, Sendable, ExpressibleByIntegerLiteral {
        /// The number.
        public let rawValue: UInt16
        /// Creates a description from its number.
        public init(rawValue: UInt16) { self.rawValue = rawValue }
        /// Creates a description from its number.
        public init(integerLiteral value: UInt16) { rawValue = value }

        /// Unknown.
        public static let unknown: Description = 0x0000
        /// The one in front.
        public static let front: Description = 0x0100
        /// The one in the back.
        public static let back: Description = 0x0101
        /// The one at the top.
        public static let top: Description = 0x0102
        /// The one at the bottom.
        public static let bottom: Description = 0x0103
        /// The upper one.
        public static let upper: Description = 0x0104
        /// The lower one.
        public static let lower: Description = 0x0105
        /// The main one.
        public static let main: Description = 0x0106
        /// The backup for the main one.
        public static let backup: Description = 0x0107
        /// The auxiliary one.
        public static let auxiliary: Description = 0x0108
        /// The supplementary one.
        public static let supplementary: Description = 0x0109
        /// The one of a flash.
        public static let flash: Description = 0x010A
        /// The one inside.
        public static let inside: Description = 0x010B
        /// The one outside.
        public static let outside: Description = 0x010C
        /// The left one.
        public static let left: Description = 0x010D
        /// The right one.
        public static let right: Description = 0x010E
        /// The internal one.
        public static let `internal`: Description = 0x010F
        /// The external one.
        public static let external: Description = 0x0110
    }
}

extension PresentationFormat.Description: CustomStringConvertible {
    /// The name, such as `left`, the number, such as `2` for the second, or the hexadecimal value if it has no meaning.
    public var description: String {
        switch rawValue {
        case 0: "unknown"
        case 1...255: "\(rawValue)"
        case 0x0100..<0x0100 + UInt16(Self.names.count): Self.names[Int(rawValue) - 0x0100]
        default: "0x" + Hex.string([UInt8(rawValue >> 8), UInt8(rawValue & 0xFF)])
        }
    }

    private static let names = [
        "front", "back", "top", "bottom", "upper", "lower", "main", "backup", "auxiliary", "supplementary", "flash",
        "inside", "outside", "left", "right", "internal", "external",
    ]
}
