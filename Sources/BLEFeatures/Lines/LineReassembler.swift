/// Makes responses, each some lines of text, of the packets of a device that ends a response with the prompt `>`, as ELM327
/// OBD adapters do.
///
/// Where the packets are cut does not matter. Lines end with CR, LF or both; spaces around a line and empty lines are
/// dropped, as are NUL bytes, which the adapter may insert by its data sheet. A first line that repeats the command (the
/// adapter's echo) is dropped too. Bytes that are no UTF-8 become U+FFFD.
///
/// A response that has more bytes than the limit is thrown away up to its prompt.
public struct LineReassembler: Sendable {
    /// The most bytes that a response can have, line ends included.
    public let limit: Int
    private var buffer: [UInt8] = []
    private var echo: String?
    private var isDiscarding = false

    /// A reassembler for responses of at most `limit` bytes.
    public init(limit: Int = 4096) {
        self.limit = max(0, limit)
    }

    /// How many bytes of an unfinished response are held, at most `limit`.
    public var bufferedCount: Int { buffer.count }

    /// Begins a transaction: forgets what has come unasked, and takes `command`, without its line end, for the echo of the
    /// next response. The rest of a response that was too long is still thrown away.
    public mutating func begin(_ command: String) {
        buffer.removeAll(keepingCapacity: true)
        echo = Self.trimmed(command)
    }

    /// Takes the next packet, and calls `body` with the lines of each response that it completes, in order.
    ///
    /// Throws `responseTooLong` at the prompt of a response with more bytes than the limit; what follows it in the packet has been
    /// taken all the same.
    public mutating func append(
        _ packet: Span<UInt8>, _ body: (_ lines: [String]) -> Void
    ) throws(LineReassemblerError) {
        var isTooLong = false
        for index in packet.indices {
            switch packet[index] {
            case 0: break
            case UInt8(ascii: ">") where isDiscarding:
                // The echo that is waited for is still to come.
                isDiscarding = false
                isTooLong = true
            case UInt8(ascii: ">"):
                body(lines())
                reset()
            case _ where isDiscarding: break
            case let byte where buffer.count < limit: buffer.append(byte)
            default:
                buffer.removeAll(keepingCapacity: true)
                isDiscarding = true
            }
        }
        if isTooLong { throw .responseTooLong(limit: limit) }
    }

    /// Forgets everything, as at a disconnect.
    public mutating func reset() {
        buffer.removeAll(keepingCapacity: true)
        echo = nil
        isDiscarding = false
    }

    /// What is buffered, as lines, without the echo.
    private func lines() -> [String] {
        var lines = buffer.split { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
            .map { Self.trimmed(String(decoding: $0, as: UTF8.self)) }
            .filter { !$0.isEmpty }
        if let echo, lines.first == echo { lines.removeFirst() }
        return lines
    }

    private static func trimmed(_ text: String) -> String {
        String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}

/// Why a response of lines was thrown away.
public enum LineReassemblerError: Error, Hashable, Sendable {
    /// More than `limit` bytes came without a prompt.
    case responseTooLong(limit: Int)
}

extension LineReassemblerError: CustomStringConvertible {
    /// One line: what is wrong, and what helps.
    public var description: String {
        switch self {
        case .responseTooLong(let limit):
            "a response has more than \(limit) bytes — raise the limit, or check that the device ends it with `>`"
        }
    }
}
