public import BLE

/// A ``TransactionSession`` codec for lines of text.
///
/// One command is sent at a time, followed by CR LF. Its response extends up to the prompt `>`.
public struct LineCodec: TransactionCodec {
    /// The single key of all commands.
    public struct Key: Hashable, Sendable {}

    private var reassembler: LineReassembler

    /// Creates a codec.
    ///
    /// - Parameter limit: the maximum length of a response, in bytes.
    public init(limit: Int = 4096) { reassembler = LineReassembler(limit: limit) }

    /// Returns the single key.
    public func key(of request: String) -> Key { Key() }

    /// Returns the command in quotation marks.
    public func name(of request: String) -> String { "\"\(request)\"" }

    /// Encodes a command as UTF-8 with CR LF. Throws `invalidArgument` if it contains CR, LF or the prompt.
    public mutating func encode(_ request: String) throws(BLEError) -> [UInt8] {
        guard !request.utf8.contains(where: { [0x0A, 0x0D, 0x3E].contains($0) }) else {
            throw BLEError(.invalidArgument, "\"\(request)\" is not a single command", isRetryable: false)
        }
        reassembler.begin(request)
        return Array(request.utf8) + [0x0D, 0x0A]
    }

    /// Adds a part of a response. Each prompt completes a response.
    public mutating func decode(_ packet: [UInt8], _ take: (TransactionInput<Key, [String]>) -> Void) {
        do throws(LineReassemblerError) {
            try reassembler.append(packet.span) { take(.reply(Key(), $0)) }
        } catch {
            take(
                .failure(
                    Key(), BLEError(.invalidMessage, "the response is too long", isRetryable: false, cause: error)))
        }
    }

    /// Discards an incomplete response.
    public mutating func reset() { reassembler.reset() }
}
