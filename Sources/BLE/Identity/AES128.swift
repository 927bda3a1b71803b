/// The block cipher AES-128 (FIPS 197), in the direction of encryption.
///
/// For the hashes that Bluetooth makes of addresses and of databases, not for messages: what it takes to encrypt a
/// block depends on the key, because the tables are in memory that other programs can push out of the caches.
package struct AES128: Hashable, Sendable {
    /// The size of a key and a block, in bytes.
    package static let size = 16
    private static let rounds = 10

    /// The keys of the rounds, one after the other.
    private let keys: [UInt8]

    /// - Precondition: The key has 16 bytes.
    package init(key: [UInt8]) {
        precondition(key.count == Self.size, "a key of \(key.count) bytes, not \(Self.size)")
        var keys = key
        keys.reserveCapacity(Self.size * (Self.rounds + 1))
        var constant: UInt8 = 1
        while keys.count < Self.size * (Self.rounds + 1) {
            var word = Array(keys.suffix(4))
            if keys.count % Self.size == 0 {
                word = [word[1], word[2], word[3], word[0]].map { Self.substitutes[Int($0)] }
                word[0] ^= constant
                constant = Self.doubled(constant)
            }
            for index in 0..<4 { keys.append(keys[keys.count - Self.size] ^ word[index]) }
        }
        self.keys = keys
    }

    /// A block, the first byte first.
    package typealias Block = SIMD16<UInt8>

    /// Returns the encrypted block.
    ///
    /// - Precondition: The block has 16 bytes.
    package func encrypt(_ block: [UInt8]) -> [UInt8] {
        precondition(block.count == Self.size, "a block of \(block.count) bytes, not \(Self.size)")
        let state = encrypt(Block(block))
        return (0..<Self.size).map { state[$0] }
    }

    /// Returns the encrypted block. Allocates nothing.
    package func encrypt(_ block: Block) -> Block {
        var state = block
        add(round: 0, to: &state)
        for round in 1...Self.rounds {
            // The substitution, and the shift of row r, whose bytes are r, r + 4, r + 8 and r + 12, by r columns.
            let former = state
            for index in 0..<Self.size { state[index] = Self.substitutes[Int(former[(index + index % 4 * 4) % 16])] }
            if round < Self.rounds { Self.mixColumns(&state) }
            add(round: round, to: &state)
        }
        return state
    }

    private func add(round: Int, to state: inout Block) {
        for index in 0..<Self.size { state[index] ^= keys[Self.size * round + index] }
    }

    private static func mixColumns(_ state: inout Block) {
        for column in stride(from: 0, to: size, by: 4) {
            let (a, b, c, d) = (state[column], state[column + 1], state[column + 2], state[column + 3])
            let all = a ^ b ^ c ^ d
            state[column] = a ^ all ^ doubled(a ^ b)
            state[column + 1] = b ^ all ^ doubled(b ^ c)
            state[column + 2] = c ^ all ^ doubled(c ^ d)
            state[column + 3] = d ^ all ^ doubled(d ^ a)
        }
    }

    /// Returns the product with x, modulo x⁸ + x⁴ + x³ + x + 1.
    private static func doubled(_ byte: UInt8) -> UInt8 { byte << 1 ^ (byte >> 7) * 0x1B }

    /// The substitutes of all bytes: an affine function of the inverse (section 5.1.1).
    private static let substitutes: [UInt8] = {
        var substitutes = [UInt8](repeating: 0x63, count: 256)
        // The powers of 3 are all numbers but 0, and those of its inverse are their inverses.
        var (power, inverse): (UInt8, UInt8) = (1, 1)
        repeat {
            power ^= doubled(power)
            for shift in [1, 2, 4] { inverse ^= inverse << shift }
            inverse ^= (inverse >> 7) * 0x09
            func rotated(_ count: UInt8) -> UInt8 { inverse << count | inverse >> (8 - count) }
            substitutes[Int(power)] = 0x63 ^ inverse ^ rotated(1) ^ rotated(2) ^ rotated(3) ^ rotated(4)
        } while power != 1
        return substitutes
    }()
}

extension AES128: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description that does not contain the key.
    package var description: String { "key of \(Self.size) bytes" }
    /// The same as `description`.
    package var debugDescription: String { description }
    /// A mirror without children, so that the key is not shown.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
