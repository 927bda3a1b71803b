#if BTHomeEncryption
    internal import Crypto
    internal import CryptoExtras

    /// AES-CCM with nonces of 13 bytes, tags of 4 bytes, and no additional data (RFC 3610 with L = 2 and M = 4). It
    /// uses the block cipher of swift-crypto, which does not provide CCM.
    struct CounterWithCBCMAC {
        static let nonceCount = 13
        static let tagCount = 4
        /// The maximum length of a message: the length is encoded in 2 bytes.
        static let maximumCount = 65_535

        private let key: SymmetricKey
        private let nonce: [UInt8]

        /// Creates a cipher. Returns nil unless the nonce has 13 bytes and the key has a length that AES supports.
        init?(key: SymmetricKey, nonce: [UInt8]) {
            guard nonce.count == Self.nonceCount, [128, 192, 256].contains(key.bitCount) else { return nil }
            self.key = key
            self.nonce = nonce
        }

        /// Returns the ciphertext and the tag. Nil if the plaintext is too long.
        func seal(_ plaintext: [UInt8]) -> (ciphertext: [UInt8], tag: [UInt8])? {
            guard plaintext.count <= Self.maximumCount else { return nil }
            return (crypt(plaintext), tag(plaintext))
        }

        /// Returns the plaintext. Nil if the tag is wrong.
        func open(_ ciphertext: [UInt8], tag: [UInt8]) -> [UInt8]? {
            guard ciphertext.count <= Self.maximumCount, tag.count == Self.tagCount else { return nil }
            let plaintext = crypt(ciphertext)
            // Compares all bytes, so that the time does not reveal the first difference.
            let difference = zip(self.tag(plaintext), tag).reduce(0) { $0 | ($1.0 ^ $1.1) }
            return difference == 0 ? plaintext : nil
        }

        private func permute(_ block: [UInt8]) -> [UInt8] {
            var block = block
            // `permute` throws only for keys and blocks of other lengths.
            guard (try? AES.permute(&block, key: key)) != nil else {
                preconditionFailure("the key or the block has a length that AES does not support")
            }
            return block
        }

        /// Returns a block of the key stream, by its number (section 2.3).
        private func stream(_ number: Int) -> [UInt8] {
            permute([1] + nonce + [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)])
        }

        private func crypt(_ bytes: [UInt8]) -> [UInt8] {
            var result: [UInt8] = []
            for start in stride(from: 0, to: bytes.count, by: 16) {
                result += zip(bytes[start...], stream(start / 16 + 1)).map(^)
            }
            return result
        }

        /// Returns the first bytes of the encrypted CBC-MAC (sections 2.2 and 2.3).
        private func tag(_ plaintext: [UInt8]) -> [UInt8] {
            let flags = UInt8((Self.tagCount - 2) / 2) << 3 | 1
            let count = plaintext.count
            var mac = permute(
                [flags] + nonce + [UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)])
            for start in stride(from: 0, to: count, by: 16) {
                for (index, byte) in plaintext[start..<min(start + 16, count)].enumerated() { mac[index] ^= byte }
                mac = permute(mac)
            }
            return zip(mac, stream(0)).prefix(Self.tagCount).map(^)
        }
    }
#endif
