/// A frame of commands with checksums, as used by small robots.
///
/// A frame consists of `2A 2A 2A 2A`, the number of commands, and for each command its id, its body, and the sum of the
/// body's bytes modulo 256. The length of a body follows only from the command's id, so a decoder must know the ids.
public struct ChecksumFrame: Hashable, Sendable {
    /// One command of a frame.
    public struct Command: Hashable, Sendable {
        /// The id of the command. It is not part of the checksum.
        public var id: UInt8
        /// The bytes after the id, without the checksum.
        public var body: [UInt8]

        /// Creates a command.
        public init(id: UInt8, body: [UInt8]) {
            self.id = id
            self.body = body
        }

        /// The sum of the body's bytes modulo 256.
        public var checksum: UInt8 { body.reduce(0, &+) }
    }

    private static let preamble: [UInt8] = [0x2A, 0x2A, 0x2A, 0x2A]

    /// The commands, in order. At most 255.
    public var commands: [Command]

    /// Creates a frame with the given commands.
    public init(_ commands: [Command]) {
        self.commands = commands
    }

    /// Decodes a frame, which must be complete, without further bytes.
    ///
    /// `bodyLength` returns the length of the body for a command id, or nil for an unknown id. Throws the first
    /// ``ChecksumFrameError`` that applies.
    public init(
        decoding frame: Span<UInt8>, bodyLength: (_ id: UInt8) -> Int?
    ) throws(ChecksumFrameError) {
        guard frame.count > Self.preamble.count else { throw .truncated(count: frame.count) }
        for index in Self.preamble.indices where frame[index] != Self.preamble[index] { throw .missingPreamble }
        var position = Self.preamble.count + 1
        commands = []
        for _ in 0..<frame[Self.preamble.count] {
            commands.append(try Self.command(in: frame, at: &position, bodyLength))
        }
        guard position == frame.count else { throw .trailingBytes(count: frame.count - position) }
    }

    /// Encodes the frame. Throws `tooManyCommands`.
    public func encode() throws(ChecksumFrameError) -> [UInt8] {
        guard commands.count <= 255 else { throw .tooManyCommands(count: commands.count) }
        var frame = Self.preamble + [UInt8(commands.count)]
        for command in commands {
            frame.append(command.id)
            frame += command.body
            frame.append(command.checksum)
        }
        return frame
    }

    private static func command(
        in frame: Span<UInt8>, at position: inout Int, _ bodyLength: (_ id: UInt8) -> Int?
    ) throws(ChecksumFrameError) -> Command {
        guard position < frame.count else { throw .truncated(count: frame.count) }
        let id = frame[position]
        guard let length = bodyLength(id), length >= 0 else { throw .unknownCommand(id: id) }
        // One of the remaining bytes is the id, and one is the checksum.
        guard length <= frame.count - position - 2 else { throw .truncated(count: frame.count) }
        let body = frame.extracting(position + 1..<position + 1 + length).withUnsafeBufferPointer { Array($0) }
        let command = Command(id: id, body: body)
        position += length + 2
        guard frame[position - 1] == command.checksum else {
            throw .checksumMismatch(id: id, expected: command.checksum, actual: frame[position - 1])
        }
        return command
    }
}

/// An error in decoding or encoding a ``ChecksumFrame``.
public enum ChecksumFrameError: Error, Hashable, Sendable {
    /// The frame does not begin with `2A 2A 2A 2A`.
    case missingPreamble
    /// The frame, of `count` bytes, is truncated.
    case truncated(count: Int)
    /// The command id is unknown, and so is the length of the body.
    case unknownCommand(id: UInt8)
    /// The sum of the body's bytes is `expected`, but the frame contains `actual`.
    case checksumMismatch(id: UInt8, expected: UInt8, actual: UInt8)
    /// More bytes follow the last command.
    case trailingBytes(count: Int)
    /// The frame has more than 255 commands.
    case tooManyCommands(count: Int)
}

extension ChecksumFrameError: CustomStringConvertible {
    /// A single line with the problem and a suggested remedy.
    public var description: String {
        switch self {
        case .missingPreamble: "the frame does not begin with 2A 2A 2A 2A — check that the device uses this protocol"
        case .truncated(let count): "the frame is truncated after \(count) bytes — send the whole frame"
        case .unknownCommand(let id): "the command \(id) is unknown — return the length of its body"
        case .checksumMismatch(let id, let expected, let actual):
            "command \(id) has the checksum \(actual) instead of \(expected) — send it again"
        case .trailingBytes(let count): "\(count) bytes follow the last command — check the lengths of the bodies"
        case .tooManyCommands(let count): "\(count) commands do not fit into a frame — send at most 255 in one"
        }
    }
}
