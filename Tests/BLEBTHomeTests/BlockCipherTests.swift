#if BTHomeEncryption
    import BLE
    import BLETestSupport
    import Crypto
    import CryptoExtras
    import Testing

    /// The block cipher of `BLE`, which has no dependency for it, beside that of swift-crypto.
    @Suite struct BlockCipherTests {
        @Test(arguments: 0..<50)
        func `blocks are encrypted as by BoringSSL`(seed: UInt64) throws {
            var generator = SeededGenerator(seed: seed)
            func random() -> [UInt8] { (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) } }
            let key = random()
            let cipher = AES128(key: key)
            for _ in 1...20 {
                let block = random()
                var expected = block
                try AES.permute(&expected, key: SymmetricKey(data: key))
                #expect(cipher.encrypt(block) == expected)
            }
        }
    }
#endif
