#if BTHomeEncryption
    import BLE
    import BLEBTHome
    import BLE
    import BLETestSupport
    import Crypto
    import Testing

    @testable import struct BLEBTHome.CounterWithCBCMAC

    @Suite struct BTHomeEncryptionTests {
        private static let key = BTHomeKey(Hex.bytes("231d39c1d7cc1ab1aee224cd096db932")!)!
        private static let address = Hex.bytes("5448e68f80a5")!

        private func decode(_ hex: String) throws -> BTHome {
            let data = try #require(Hex.bytes(hex))
            return try #require(try BTHome.decode(Advertisement(serviceData: [BluetoothUUID(0xFCD2): data])))
        }

        @Test func `the published example opens, and is sealed as published`() throws {
            let report = try decode("41 a47266c95f73 00112233 78237214")
            #expect(report.objects == nil)
            let objects = try report.objects(key: Self.key, address: Self.address)
            #expect(objects.map(\.value) == [25.06, 50.55])
            #expect(
                try BTHome(objects).sealed(key: Self.key, address: Self.address, counter: 0x3322_1100) == report)
            guard case .encrypted(let sealed) = report.payload else { throw BTHomeEncryptionError.missingKey }
            #expect(sealed.counter == 0x3322_1100)
        }

        @Test func `an encrypted report is sent on as it came, with the reserved bits`() throws {
            let hex = "5da47266c95f730011223378237214"
            let sent = try decode(hex).advertisement().serviceData[BluetoothUUID(0xFCD2)]
            #expect(sent == Hex.bytes(hex))
        }

        @Test func `the address in the packet counts for more`() throws {
            let report = try decode("43 a5808fe64854 f196c06ffb49 00112233 f08ecbde")
            #expect(try report.objects(key: Self.key, address: [0, 0, 0, 0, 0, 0]).map(\.value) == [25.06, 50.55])
        }

        @Test(arguments: 0..<200)
        func `any report outlasts being sealed, and not being changed`(_ seed: UInt64) throws {
            var generator = SeededGenerator(seed: seed)
            let objects = try (0..<Int.random(in: 0...5, using: &generator)).map { _ in
                try BTHomeObject.random(using: &generator)
            }
            let sealed = try BTHome(objects).sealed(
                key: Self.key, address: Self.address, counter: UInt32.random(in: 0...UInt32.max, using: &generator))
            let advertisement = try sealed.advertisement()
            let received = try #require(try BTHome.decode(advertisement))
            #expect(received == sealed)
            #expect(try received.objects(key: Self.key, address: Self.address) == objects)
            // A sealed report is not sealed again.
            #expect(try sealed.sealed(key: Self.key, address: Self.address, counter: 0) == sealed)

            var data = try #require(advertisement.serviceData[BluetoothUUID(0xFCD2)])
            // Not in the first byte: its bits determine how the others are read, and the one for regular reports and
            // the reserved ones have no effect.
            let bit = Int.random(in: 8..<8 * data.count, using: &generator)
            data[bit / 8] ^= 1 << UInt8(bit % 8)
            let changed = try #require(try BTHome.decode(Advertisement(serviceData: [BluetoothUUID(0xFCD2): data])))
            #expect(throws: BTHomeEncryptionError.authenticationFailed) {
                try changed.objects(key: Self.key, address: Self.address)
            }
        }

        @Test func `without the key, or with another address, nothing opens`() throws {
            let report = try decode("41 a47266c95f73 00112233 78237214")
            #expect(throws: BTHomeEncryptionError.missingKey) { try report.objects(key: nil, address: Self.address) }
            #expect(throws: BTHomeEncryptionError.invalidAddress) { try report.objects(key: Self.key, address: [1]) }
            #expect(throws: BTHomeEncryptionError.authenticationFailed) {
                try report.objects(key: Self.key, address: [1, 2, 3, 4, 5, 6])
            }
            #expect(throws: BTHomeEncryptionError.invalidAddress) {
                try BTHome([]).sealed(key: Self.key, address: [], counter: 0)
            }
            #expect(BTHomeKey([UInt8](repeating: 1, count: 24)) == nil)
        }

        @Test func `what was sealed malformed is an error, too`() throws {
            let cipher = try #require(
                CounterWithCBCMAC(
                    key: SymmetricKey(data: Hex.bytes("231d39c1d7cc1ab1aee224cd096db932")!),
                    nonce: Self.address + [0xD2, 0xFC, 0x41, 1, 0, 0, 0]))
            let (ciphertext, tag) = try #require(cipher.seal([0x02, 0xCA]))
            let report = try decode("41" + Hex.string(ciphertext + [1, 0, 0, 0] + tag))
            let error = BTHomeEncryptionError.malformed(AdvertisementFormatError("BTHome", .invalidLength(2)))
            #expect(throws: error) { try report.objects(key: Self.key, address: Self.address) }
            for error in [error, .missingKey, .notEncrypted, .invalidAddress, .authenticationFailed, .tooLong] {
                #expect(error.description.split(separator: " — ").count == 2)
            }
        }

        @Test func `plain objects need no key, and are not believed of a device that has one`() throws {
            #expect(try decode("40 015d").objects(key: nil, address: []).map(\.value) == [93])
            #expect(throws: BTHomeEncryptionError.notEncrypted) {
                try decode("40 015d").objects(key: Self.key, address: Self.address)
            }
        }

        /// Made with Python's `cryptography` 50, AESCCM with a tag of 4 bytes: lengths around the block's.
        @Test(arguments: cipherVectors)
        func `the cipher is AES-CCM`(_ count: Int, _ sealed: String) throws {
            let nonce = (0..<13).map { UInt8($0) + 0x10 }
            let key = SymmetricKey(data: (0..<16).map { UInt8($0) })
            let cipher = try #require(CounterWithCBCMAC(key: key, nonce: nonce))
            let plaintext = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            let (ciphertext, tag) = try #require(cipher.seal(plaintext))
            #expect(Hex.string(ciphertext.suffix(20) + tag) == sealed)
            #expect(cipher.open(ciphertext, tag: tag) == plaintext)
            #expect(cipher.open(ciphertext, tag: tag + [0]) == nil)
            #expect(CounterWithCBCMAC(key: key, nonce: nonce + [0]) == nil)
        }

        @Test func `more bytes than two can count are not sealed`() throws {
            let cipher = try #require(
                CounterWithCBCMAC(key: SymmetricKey(size: .bits128), nonce: [UInt8](repeating: 0, count: 13)))
            #expect(cipher.seal([UInt8](repeating: 0, count: 65_536)) == nil)
            #expect(cipher.open([UInt8](repeating: 0, count: 65_536), tag: [0, 0, 0, 0]) == nil)
        }

        private static let cipherVectors: [(Int, String)] = [
            (0, "239d2392"),
            (1, "7c34b2cc4e"),
            (15, "7ce07242bc59e8d3b350429a230a62e1514bdd"),
            (16, "7ce07242bc59e8d3b350429a230a628eccf177a0"),
            (17, "7ce07242bc59e8d3b350429a230a628e3a401147b4"),
            (31, "9a230a628e3ac2476a6b82883d255400c892a59b7f20aa1f"),
            (32, "230a628e3ac2476a6b82883d255400c892a59b5cd1e57f2d"),
            (33, "0a628e3ac2476a6b82883d255400c892a59b5c2523792ff5"),
            (300, "5d8e562ad96f5d13684251fe462954448077a14a2304bbe5"),
        ]
    }
#endif
