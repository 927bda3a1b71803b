public import BLE

/// Lines of text as the protocol of a ``TransactionSession``: one command at a time, ended by CR LF; the response is what comes
/// up to the prompt `>`.
public struct LineCodec: TransactionCodec {
    /// There is one line.
    public struct Key: Hashable, Sendable {}

    private var reassembler: LineReassembler

    /// A codec.
    ///
    /// - Parameter limit: the longest response, in bytes.
    public init(limit: Int = 4096) { reassembler = LineReassembler(limit: limit) }

    /// The one key.
    public func key(of request: String) -> Key { Key() }

    /// The command in quotation marks.
    public func name(of request: String) -> String { "\"\(request)\"" }

    /// The command's UTF-8 and CR LF. Throws `invalidArgument` for a command with a line end or a prompt in it.
    public mutating func encode(_ request: String) throws(BLEError) -> [UInt8] {
        guard !request.utf8.contains(where: { [0x0A, 0x0D, 0x3E].contains($0) }) else {
            throw BLEError(.invalidArgument, "\"\(request)\" is not one command", isRetryable: false)
        }
        reassembler.begin(request)
        return Array(request.utf8) + [0x0D, 0x0A]
    }

    /// Takes a part of a response; each prompt completes one.
    public mutating func decode(_ packet: [UInt8], _ take: (TransactionInput<Key, [String]>) -> Void) {
        do throws(LineReassemblerError) {
            try reassembler.append(packet.span) { take(.reply(Key(), $0)) }
        } catch {
            take(
                .failure(
                    Key(), BLEError(.invalidMessage, "the response is too long", isRetryable: false, cause: error)))
        }
    }

    /// Throws away a response that has come in part.
    public mutating func reset() { reassembler.reset() }
}
