internal import Crypto

/// One direction of an encrypted connection: a key, and the number of the next frame, which is the nonce.
///
/// It cannot be copied, so that no number is used twice with the key (The Noise Protocol Framework, revision 34,
/// section 5.1).
package struct NoiseCipher: ~Copyable {
    /// The number of bytes by which a frame is longer than its content.
    package static let overhead = 16

    private let key: SymmetricKey
    private var number: UInt64

    /// - Parameter number: the number of the first frame.
    init(_ key: SymmetricKey, number: UInt64 = 0) {
        self.key = key
        self.number = number
    }

    /// The nonce of the next frame. Throws `keyExhausted` after 2⁶⁴ − 1 frames: the last number is reserved.
    private func nonce() throws(WireError) -> ChaChaPoly.Nonce {
        guard number < .max else { throw .keyExhausted }
        let bytes = [0, 0, 0, 0] + (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        guard let nonce = try? ChaChaPoly.Nonce(data: bytes) else {
            preconditionFailure("twelve bytes are a nonce")
        }
        return nonce
    }

    /// Encrypts the next frame. Throws `keyExhausted`.
    package mutating func seal(_ content: [UInt8], authenticating: [UInt8] = []) throws(WireError) -> [UInt8] {
        let nonce = try nonce()
        guard let box = try? ChaChaPoly.seal(content, using: key, nonce: nonce, authenticating: authenticating) else {
            throw .keyExhausted
        }
        number += 1
        return Array(box.ciphertext) + Array(box.tag)
    }

    /// Decrypts the next frame. Throws `notAuthentic` or `keyExhausted`.
    package mutating func open(
        _ frame: ArraySlice<UInt8>, authenticating: [UInt8] = []
    ) throws(WireError) -> [UInt8] {
        let nonce = try nonce()
        guard frame.count >= Self.overhead,
            let box = try? ChaChaPoly.SealedBox(
                nonce: nonce, ciphertext: frame.dropLast(Self.overhead), tag: frame.suffix(Self.overhead)),
            let content = try? ChaChaPoly.open(box, using: key, authenticating: authenticating)
        else { throw .notAuthentic }
        number += 1
        return Array(content)
    }
}
