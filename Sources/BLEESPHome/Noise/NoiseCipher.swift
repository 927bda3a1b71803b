internal import Crypto

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// One direction of an encrypted connection: a key, and the number of the next frame, which is the nonce.
///
/// It cannot be copied, so that no number is used twice with the key (The Noise Protocol Framework, revision 34,
/// section 5.1).
package struct NoiseCipher: ~Copyable {
    /// The number of bytes by which a frame is longer than its content.
    package static let overhead = 16

    private static let nonceLength = 12

    private let key: SymmetricKey
    private var number: UInt64
    /// The nonce and what is decrypted, in one piece, and its memory for the next frame.
    private var scratch: [UInt8] = []

    /// - Parameter number: the number of the first frame.
    init(_ key: SymmetricKey, number: UInt64 = 0) {
        self.key = key
        self.number = number
    }

    /// Puts the nonce of the next frame into the scratch. Throws `keyExhausted` after 2⁶⁴ − 1 frames: the last number
    /// is reserved.
    private mutating func beginFrame() throws(WireError) {
        guard number < .max else { throw .keyExhausted }
        scratch.removeAll(keepingCapacity: true)
        scratch.append(contentsOf: repeatElement(0, count: 4))
        for shift in stride(from: 0, to: 64, by: 8) { scratch.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    /// Encrypts the next frame. Throws `keyExhausted`.
    package mutating func seal(_ content: [UInt8], authenticating: [UInt8] = []) throws(WireError) -> [UInt8] {
        try beginFrame()
        guard let nonce = try? ChaChaPoly.Nonce(data: scratch),
            let box = try? ChaChaPoly.seal(content, using: key, nonce: nonce, authenticating: authenticating)
        else { throw .keyExhausted }
        number += 1
        return box.combined.withUnsafeBytes { Array(UnsafeRawBufferPointer(rebasing: $0[Self.nonceLength...])) }
    }

    /// Decrypts the next frame. Throws `notAuthentic` or `keyExhausted`.
    package mutating func open(
        _ frame: ArraySlice<UInt8>, authenticating: [UInt8] = []
    ) throws(WireError) -> [UInt8] {
        try beginFrame()
        // A box that is put together of its parts costs more than to decrypt it.
        scratch += frame
        guard frame.count >= Self.overhead, let box = try? ChaChaPoly.SealedBox(combined: scratch),
            let content = try? ChaChaPoly.open(box, using: key, authenticating: authenticating)
        else { throw .notAuthentic }
        number += 1
        return content.withUnsafeBytes { Array($0) }
    }
}
