/// Generates nonces of 12 bytes that are never used twice, and checks the nonces of the other side.
protocol MessageNonces: Sendable {
    /// Returns the nonce for the next message to send.
    mutating func next(using generator: inout some RandomNumberGenerator) -> [UInt8]
    /// Throws `malformedCiphertext` or `replayed` if a received nonce is not acceptable.
    func check(_ nonce: [UInt8]) throws(MessageError)
    /// Records a received nonce after its message was authenticated.
    mutating func took(_ nonce: [UInt8])
}

/// Nonces with a counter: the direction, three zero bytes, and a big-endian counter of 64 bits.
///
/// A received nonce must have the other direction and a higher counter than the last one. Gaps are allowed, since a
/// message may be lost.
struct CountingNonces: MessageNonces {
    let role: MessageCipher.Role
    private var sent: UInt64 = 0
    private var received: UInt64?

    init(role: MessageCipher.Role) {
        self.role = role
    }

    mutating func next(using generator: inout some RandomNumberGenerator) -> [UInt8] {
        defer { sent += 1 }
        return [role.direction, 0, 0, 0] + Self.bytes(sent)
    }

    func check(_ nonce: [UInt8]) throws(MessageError) {
        guard nonce.prefix(4) == [role.other.direction, 0, 0, 0] else { throw .malformedCiphertext }
        if let received, Self.counter(nonce) <= received { throw .replayed }
    }

    mutating func took(_ nonce: [UInt8]) {
        received = Self.counter(nonce)
    }

    /// Returns the counter in a nonce.
    static func counter(_ nonce: [UInt8]) -> UInt64 {
        nonce.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Returns the eight bytes that represent a counter in a nonce.
    static func bytes(_ counter: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: counter >> (56 - 8 * $0)) }
    }
}

/// Random nonces. The last 1024 of both directions are rejected. This includes sent nonces, since nothing else
/// distinguishes a message from its own reflection.
struct RandomNonces: MessageNonces {
    static let memory = 1024

    private var seen: Set<[UInt8]> = []
    private var order: [[UInt8]] = []
    private var oldest = 0

    mutating func next(using generator: inout some RandomNumberGenerator) -> [UInt8] {
        let nonce = (0..<MessageCipher.nonceSize).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
        took(nonce)
        return nonce
    }

    func check(_ nonce: [UInt8]) throws(MessageError) {
        if seen.contains(nonce) { throw .replayed }
    }

    mutating func took(_ nonce: [UInt8]) {
        guard seen.insert(nonce).inserted else { return }
        if order.count < Self.memory {
            order.append(nonce)
        } else {
            seen.remove(order[oldest])
            order[oldest] = nonce
            oldest = (oldest + 1) % Self.memory
        }
    }
}
