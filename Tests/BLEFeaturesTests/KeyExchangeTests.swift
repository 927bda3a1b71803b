import BLE
import BLEFeatures
import Testing

@Suite struct KeyExchangeTests {
    private let derivation = KeyDerivation(salt: CipherVectors.salt, info: CipherVectors.info)

    private func exchange(_ privateKey: String) throws -> KeyExchange {
        try KeyExchange(privateKey: #require(Hex.bytes(privateKey)))
    }

    /// Appendix A of RFC 5869, cases 1 to 3: secret, salt, info, and the first 32 bytes of the output.
    static let derivations: [([UInt8], [UInt8], [UInt8], String)] = [
        (
            [UInt8](repeating: 0x0B, count: 22), Array(0...0x0C), Array(0xF0...0xF9),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
        ),
        (
            Array(0...0x4F), Array(0x60...0xAF), Array(0xB0...0xFF),
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
        ),
        (
            [UInt8](repeating: 0x0B, count: 22), [], [],
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
        ),
    ]

    @Test(arguments: derivations)
    func `a key is derived as RFC 5869 says`(
        _ secret: [UInt8], _ salt: [UInt8], _ info: [UInt8], _ expected: String
    ) {
        #expect(Hex.string(KeyDerivation(salt: salt, info: info).key(from: secret).bytes) == expected)
    }

    @Test(arguments: [
        (CipherVectors.alice, CipherVectors.alicePublic), (CipherVectors.bob, CipherVectors.bobPublic),
    ])
    func `public keys are those of RFC 7748`(_ privateKey: String, _ publicKey: String) throws {
        #expect(try Hex.string(exchange(privateKey).publicKey) == publicKey)
    }

    @Test func `both sides agree on the keys that others compute for RFC 7748's exchange`() throws {
        let central = try exchange(CipherVectors.alice)
        let peripheral = try exchange(CipherVectors.bob)
        let keys = try central.keys(with: peripheral.publicKey, derivation: derivation)
        #expect(try keys == peripheral.keys(with: central.publicKey, derivation: derivation))
        let secret = try #require(Hex.bytes(CipherVectors.sharedSecret))
        #expect(keys.pairingKey == derivation.key(from: secret))
        #expect(Hex.string(keys.pairingKey.bytes) == CipherVectors.pairingKey)
        #expect(Hex.string(keys.pairingKey.identifier) == CipherVectors.identifier)
        #expect(Hex.string(keys.sessionKey.bytes) == CipherVectors.sessionKey)
    }

    @Test func `a resumed pairing keeps its key and gets a new session key`() throws {
        let pairingKey = try #require(MessageKey(Hex.bytes(CipherVectors.pairingKey) ?? []))
        let central = try KeyExchange(privateKey: Array(1...32))
        let peripheral = try KeyExchange(privateKey: Array(33...64))
        let request = try KeyExchangeRequest(decoding: central.request(resuming: pairingKey))
        #expect(request.publicKey == central.publicKey)
        #expect(request.identifier == pairingKey.identifier)
        let keys = try peripheral.keys(with: request.publicKey, resuming: pairingKey, derivation: derivation)
        #expect(keys.pairingKey == pairingKey)
        #expect(Hex.string(keys.sessionKey.bytes) == CipherVectors.resumedSessionKey)
        #expect(
            try keys == central.keys(with: peripheral.publicKey, resuming: pairingKey, derivation: derivation))
    }

    @Test func `a request to pair anew has no identifier`() throws {
        let exchange = KeyExchange()
        let request = try KeyExchangeRequest(decoding: exchange.request())
        #expect(request.publicKey == exchange.publicKey)
        #expect(request.identifier == nil)
    }

    @Test(arguments: [0, 1, 31, 33, 39, 41, 250])
    func `a request of another length is none`(_ count: Int) {
        #expect(throws: MessageError.invalidPublicKey) {
            try KeyExchangeRequest(decoding: [UInt8](repeating: 1, count: count))
        }
    }

    @Test func `exchanges with random keys agree, each on keys of its own`() throws {
        let keys = try (0..<2).map { _ in
            let (central, peripheral) = (KeyExchange(), KeyExchange())
            let keys = try central.keys(with: peripheral.publicKey, derivation: derivation)
            #expect(try keys == peripheral.keys(with: central.publicKey, derivation: derivation))
            return keys
        }
        #expect(keys[0].pairingKey != keys[1].pairingKey)
        #expect(keys[0].sessionKey != keys[1].sessionKey)
    }

    @Test func `an empty answer says that the device does not know the key, if one was named`() throws {
        let pairingKey = try #require(MessageKey([UInt8](repeating: 7, count: 32)))
        #expect(throws: MessageError.keyUnknownToDevice) {
            try KeyExchange().keys(with: [], resuming: pairingKey, derivation: derivation)
        }
        #expect(throws: MessageError.invalidPublicKey) { try KeyExchange().keys(with: [], derivation: derivation) }
    }

    /// Too short, too long, and two points of low order, with which every secret would be zero.
    @Test(arguments: [
        [UInt8](repeating: 9, count: 31), [UInt8](repeating: 9, count: 33), [UInt8](repeating: 0, count: 32),
        [1] + [UInt8](repeating: 0, count: 31),
    ])
    func `a public key that is none is an error`(_ publicKey: [UInt8]) {
        #expect(throws: MessageError.invalidPublicKey) {
            try KeyExchange().keys(with: publicKey, derivation: derivation)
        }
    }

    @Test(arguments: [0, 31, 33])
    func `a private key of another length is an error`(_ count: Int) {
        #expect(throws: MessageError.invalidPrivateKey) {
            try KeyExchange(privateKey: [UInt8](repeating: 1, count: count))
        }
        #expect(MessageKey([UInt8](repeating: 1, count: count)) == nil)
    }

    @Test func `nothing that is printed shows a key`() throws {
        let bytes = [UInt8](repeating: 0xA7, count: 32)
        let key = try #require(MessageKey(bytes))
        let cipher = MessageCipher(.bound, role: .central, key: key)
        let exchange = try KeyExchange(privateKey: bytes)
        let keys = try exchange.keys(with: KeyExchange().publicKey, resuming: key, derivation: derivation)
        for value in [key, cipher, exchange, keys] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in [String(describing: value), String(reflecting: value), dumped] {
                #expect(!text.contains("167, 167") && !text.lowercased().contains("a7a7"))
                #expect(!text.contains("Symmetric") && !text.contains("Curve25519"))
            }
        }
    }
}
