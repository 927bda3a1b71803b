/// A command in a namespace. Products define their commands in an extension:
///
/// ```swift
/// extension MessageCommand {
///     static let unlock = MessageCommand(rawValue: 0x0105)
/// }
/// ```
@frozen
public struct MessageCommand: RawRepresentable, Hashable, Sendable {
    /// The command in the high byte, the namespace in the low byte: 0x0105 is command 01 in namespace 05.
    public let rawValue: UInt16

    /// Creates a command from its raw value.
    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Creates a command in a namespace.
    @inlinable
    public init(command: UInt8, namespace: UInt8) {
        rawValue = UInt16(command) << 8 | UInt16(namespace)
    }

    /// The high byte, which is sent first.
    @inlinable
    public var command: UInt8 { UInt8(truncatingIfNeeded: rawValue >> 8) }

    /// The low byte, which is sent second.
    @inlinable
    public var namespace: UInt8 { UInt8(truncatingIfNeeded: rawValue) }
}

extension MessageCommand: CustomStringConvertible {
    /// Four hexadecimal digits, such as `0x0105`.
    public var description: String {
        let digits = String(rawValue, radix: 16, uppercase: true)
        return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
