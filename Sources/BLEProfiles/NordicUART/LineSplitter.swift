/// An error in receiving a line of text.
public enum TextLineError: Error, Hashable, Sendable {
    /// The line has more than `limit` bytes.
    case tooLong(limit: Int)
}

/// Splits bytes, which may arrive in parts of any length, into lines. A line ends with LF or CR LF, and may be empty.
struct LineSplitter: Sendable {
    private let limit: Int
    private var line: [UInt8] = []
    private var isDiscarding = false

    init(limit: Int) { self.limit = max(0, limit) }

    /// The number of bytes of an incomplete line that are held. At most the limit, plus one for a CR.
    var heldCount: Int { line.count }

    /// Adds bytes, and returns the lines that they complete, in order, with an error for each line that is too long.
    mutating func append(_ part: [UInt8]) -> [Result<String, TextLineError>] {
        var results: [Result<String, TextLineError>] = []
        for byte in part {
            if byte == UInt8(ascii: "\n") {
                if !isDiscarding { results.append(finish()) }
                reset()
            } else if !isDiscarding {
                line.append(byte)
                // A CR may be part of the line end.
                guard line.count - (byte == UInt8(ascii: "\r") ? 1 : 0) > limit else { continue }
                results.append(.failure(.tooLong(limit: limit)))
                reset()
                isDiscarding = true
            }
        }
        return results
    }

    /// Discards an incomplete line.
    mutating func reset() {
        line.removeAll(keepingCapacity: true)
        isDiscarding = false
    }

    private func finish() -> Result<String, TextLineError> {
        let text = line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...]
        return .success(String(decoding: text, as: UTF8.self))
    }
}
