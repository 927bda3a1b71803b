/// Why there is no line of text.
public enum TextLineError: Error, Hashable, Sendable {
    /// It has more than `limit` bytes.
    case tooLong(limit: Int)
}

/// Makes lines of bytes that come in parts, wherever these are cut. A line ends with LF or CR LF; empty ones are lines, too.
struct LineSplitter: Sendable {
    private let limit: Int
    private var line: [UInt8] = []
    private var isDiscarding = false

    init(limit: Int) { self.limit = max(0, limit) }

    /// How many bytes of an unfinished line are held: the limit at most, and one more for a CR.
    var heldCount: Int { line.count }

    /// The lines that a part completes, in order, and an error in the place of each that is too long.
    mutating func append(_ part: [UInt8]) -> [Result<String, TextLineError>] {
        var results: [Result<String, TextLineError>] = []
        for byte in part {
            if byte == UInt8(ascii: "\n") {
                if !isDiscarding { results.append(finish()) }
                reset()
            } else if !isDiscarding {
                line.append(byte)
                // A CR may belong to the end.
                guard line.count - (byte == UInt8(ascii: "\r") ? 1 : 0) > limit else { continue }
                results.append(.failure(.tooLong(limit: limit)))
                reset()
                isDiscarding = true
            }
        }
        return results
    }

    /// Forgets an unfinished line.
    mutating func reset() {
        line.removeAll(keepingCapacity: true)
        isDiscarding = false
    }

    private func finish() -> Result<String, TextLineError> {
        let text = line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...]
        return .success(String(decoding: text, as: UTF8.self))
    }
}
