/// The version of a firmware image: major, minor, revision, and build number.
public struct FirmwareVersion: Hashable, Sendable {
    /// The major version.
    public var major: UInt8
    /// The minor version.
    public var minor: UInt8
    /// The revision.
    public var revision: UInt16
    /// The build number; 0 if there is none.
    public var build: UInt32

    /// Creates a version.
    public init(_ major: UInt8, _ minor: UInt8, _ revision: UInt16 = 0, build: UInt32 = 0) {
        self.major = major
        self.minor = minor
        self.revision = revision
        self.build = build
    }

    /// Parses a version as devices send it, such as `1.2.3` or `1.2.3.4`. Nil if it is not one.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (2...4).contains(parts.count), let major = UInt8(parts[0]), let minor = UInt8(parts[1]),
            let revision = parts.count > 2 ? UInt16(parts[2]) : 0,
            let build = parts.count > 3 ? UInt32(parts[3]) : 0
        else { return nil }
        self.init(major, minor, revision, build: build)
    }
}

extension FirmwareVersion: Comparable, CustomStringConvertible {
    /// Compares the major version first, and the build number last.
    public static func < (left: FirmwareVersion, right: FirmwareVersion) -> Bool {
        (left.major, left.minor, left.revision, left.build) < (right.major, right.minor, right.revision, right.build)
    }

    /// The version as devices send it: the build number only if it is not 0.
    public var description: String { "\(major).\(minor).\(revision)" + (build == 0 ? "" : ".\(build)") }
}
