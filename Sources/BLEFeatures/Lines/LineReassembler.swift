/// Assembles responses, which are lines of text, from the packets of a device that ends each response with the prompt
/// `>`, as ELM327 adapters do.
///
/// Packets may be split anywhere. Lines end with CR, LF or both. Spaces around a line, empty lines, and NUL bytes,
/// which the adapter may insert according to its data sheet, are removed. A first line that repeats the command, the
/// adapter's echo, is also removed. Bytes that are not UTF-8 become U+FFFD.
///
/// A response that exceeds the limit is discarded up to its prompt.
public struct LineReassembler: Sendable {
    /// The maximum length of a response in bytes, including line ends.
    public let limit: Int
    private var buffer: [UInt8] = []
    private var echo: String?
    private var isDiscarding = false

    /// Creates a reassembler for responses of at most `limit` bytes.
    public init(limit: Int = 4096) {
        self.limit = max(0, limit)
    }

    /// The number of bytes held of an incomplete response. At most `limit`.
    public var bufferedCount: Int { buffer.count }

    /// Begins a transaction. Discards unsolicited bytes, and expects `command`, without its line end, as the echo in
    /// the next response. The rest of a response that was too long is still discarded.
    public mutating func begin(_ command: String) {
        buffer.removeAll(keepingCapacity: true)
        echo = Self.trimmed(command)
    }

    /// Adds the next packet, and calls `body` with the lines of each response that it completes, in order.
    ///
    /// Throws `responseTooLong` at the prompt of a response that exceeds the limit. The bytes after it in the packet
    /// are still processed.
    public mutating func append(
        _ packet: Span<UInt8>, _ body: (_ lines: [String]) -> Void
    ) throws(LineReassemblerError) {
        var isTooLong = false
        for index in packet.indices {
            switch packet[index] {
            case 0: break
            case UInt8(ascii: ">") where isDiscarding:
                // The echo is still expected, because it has not arrived yet.
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

    /// Resets to the initial state, for example after a disconnection.
    public mutating func reset() {
        buffer.removeAll(keepingCapacity: true)
        echo = nil
        isDiscarding = false
    }

    /// Returns the buffered lines, without the echo.
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

/// An error in assembling a response.
public enum LineReassemblerError: Error, Hashable, Sendable {
    /// A response had more than `limit` bytes.
    case responseTooLong(limit: Int)
}

extension LineReassemblerError: CustomStringConvertible {
    /// A single line with the problem and a suggested remedy.
    public var description: String {
        switch self {
        case .responseTooLong(let limit):
            "a response has more than \(limit) bytes — raise the limit, or check that the device ends it with `>`"
        }
    }
}
