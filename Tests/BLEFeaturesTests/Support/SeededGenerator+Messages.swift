import BLEFeatures
import BLETestSupport

extension SeededGenerator {
    /// Random bytes, a random number of them in `count`.
    mutating func bytes(_ count: ClosedRange<Int>) -> [UInt8] {
        (0..<Int.random(in: count, using: &self)).map { _ in .random(in: 0 ... .max, using: &self) }
    }

    /// A message of any kind with a payload of at most `maximum` bytes.
    mutating func message(upTo maximum: Int) -> Message {
        Message(
            MessageCommand(rawValue: .random(in: 0 ... .max, using: &self)),
            type: MessageType(rawValue: .random(in: 1...3, using: &self))!, isEncrypted: .random(using: &self),
            payload: bytes(0...maximum))
    }

    /// The pieces of `bytes`, cut anywhere, none empty and none longer than `longest`.
    mutating func pieces(of bytes: [UInt8], upTo longest: Int) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = min(rest.count, .random(in: 1...longest, using: &self))
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }
}
