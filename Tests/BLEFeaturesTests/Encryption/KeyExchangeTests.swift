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

    private func key(_ digits: String) throws -> MessageKey {
        try #require(MessageKey(Hex.bytes(digits) ?? []))
    }

    @Test func `both sides agree on the keys that others compute for RFC 7748's exchange`() throws {
        let central = try exchange(CipherVectors.alice)
        let request = central.request()
        let (keys, reply) = try exchange(CipherVectors.bob)
            .answer(KeyExchangeRequest(decoding: request), derivation: derivation)
        #expect(Hex.string(request) == CipherVectors.exchangeRequest)
        #expect(Hex.string(reply) == CipherVectors.exchangeReply)
        #expect(Hex.string(keys.pairingKey.bytes) == CipherVectors.pairingKey)
        #expect(Hex.string(keys.sessionKey.bytes) == CipherVectors.sessionKey)
        #expect(try central.keys(from: reply, derivation: derivation) == keys)
    }

    @Test func `in firmware mode the key is the derivation of the secret alone, and replies are public keys`() throws {
        let central = try exchange(CipherVectors.alice)
        let (keys, reply) = try exchange(CipherVectors.bob)
            .answer(KeyExchangeRequest(decoding: central.request()), derivation: derivation, mode: .firmware)
        #expect(Hex.string(reply) == CipherVectors.bobPublic)
        let secret = try #require(Hex.bytes(CipherVectors.sharedSecret))
        #expect(keys.pairingKey == derivation.key(from: secret))
        #expect(Hex.string(keys.pairingKey.bytes) == CipherVectors.firmwareKey)
        #expect(try central.keys(from: reply, derivation: derivation, mode: .firmware) == keys)
        #expect(throws: MessageError.invalidPublicKey) {
            try central.keys(from: reply + [0], derivation: derivation, mode: .firmware)
        }
    }

    @Test func `a resumed pairing keeps its key and gets a new session key`() throws {
        let pairingKey = try key(CipherVectors.pairingKey)
        let central = try KeyExchange(privateKey: Array(1...32))
        let payload = central.request(resuming: pairingKey)
        #expect(Hex.string(payload) == CipherVectors.resumptionRequest)
        let request = try KeyExchangeRequest(decoding: payload)
        #expect(request.publicKey == central.publicKey)
        let known = request.pairingKey(among: try [key(CipherVectors.sessionKey), pairingKey])
        #expect(known == pairingKey)
        let (keys, reply) = try KeyExchange(privateKey: Array(33...64))
            .answer(request, resuming: known, derivation: derivation)
        #expect(Hex.string(reply) == CipherVectors.resumptionReply)
        #expect(keys.pairingKey == pairingKey)
        #expect(Hex.string(keys.sessionKey.bytes) == CipherVectors.resumedSessionKey)
        #expect(try central.keys(from: reply, resuming: pairingKey, derivation: derivation) == keys)
    }

    @Test func `a request identifies the pairing key differently each time, for the owner of the key`() throws {
        let pairingKey = try key(CipherVectors.pairingKey)
        let requests = try (0..<20).map { _ in
            try KeyExchangeRequest(decoding: KeyExchange().request(resuming: pairingKey))
        }
        #expect(Set(requests.compactMap(\.identifier)).count == 20)
        for request in requests {
            #expect(request.pairingKey(among: [pairingKey]) == pairingKey)
            #expect(try request.pairingKey(among: [key(CipherVectors.sessionKey)]) == nil)
        }
    }

    @Test func `a request for a new pairing has no identifier`() throws {
        let exchange = KeyExchange()
        let request = try KeyExchangeRequest(decoding: exchange.request())
        #expect(request.publicKey == exchange.publicKey)
        #expect(request.identifier == nil)
        #expect(try request.pairingKey(among: [key(CipherVectors.pairingKey)]) == nil)
    }

    /// X25519 ignores the highest bit of a public key (RFC 7748, section 5), so the shared secret is the same without it.
    @Test(arguments: [false, true])
    func `a public key that was changed on its way is found, also where the secret is the same`(
        _ resumes: Bool
    ) throws {
        let pairingKey = resumes ? try key(CipherVectors.pairingKey) : nil
        let central = KeyExchange()
        var payload = central.request()
        let (keys, reply) = try KeyExchange()
            .answer(KeyExchangeRequest(decoding: payload), resuming: pairingKey, derivation: derivation)
        #expect(try central.keys(from: reply, resuming: pairingKey, derivation: derivation) == keys)
        var changedReply = reply
        changedReply[31] ^= 0x80
        #expect(throws: MessageError.confirmationFailed) {
            try central.keys(from: changedReply, resuming: pairingKey, derivation: derivation)
        }
        payload[31] ^= 0x80
        let device = try exchange(CipherVectors.bob)
        let (unchanged, _) = try device.answer(
            KeyExchangeRequest(decoding: central.request()), resuming: pairingKey, derivation: derivation)
        let (changed, answer) = try device.answer(
            KeyExchangeRequest(decoding: payload), resuming: pairingKey, derivation: derivation)
        #expect(changed.sessionKey != unchanged.sessionKey)
        #expect((changed.pairingKey == unchanged.pairingKey) == resumes)
        #expect(throws: MessageError.confirmationFailed) {
            try central.keys(from: answer, resuming: pairingKey, derivation: derivation)
        }
    }

    @Test func `a device with another pairing key cannot prove that it has this one`() throws {
        let pairingKey = try key(CipherVectors.pairingKey)
        let central = KeyExchange()
        let request = try KeyExchangeRequest(decoding: central.request(resuming: pairingKey))
        for other in [nil, try key(CipherVectors.sessionKey)] {
            let (_, reply) = try KeyExchange().answer(request, resuming: other, derivation: derivation)
            #expect(throws: MessageError.confirmationFailed) {
                try central.keys(from: reply, resuming: pairingKey, derivation: derivation)
            }
        }
    }

    @Test func `every bit of the proof counts`() throws {
        let central = KeyExchange()
        let (_, reply) = try KeyExchange()
            .answer(KeyExchangeRequest(decoding: central.request()), derivation: derivation)
        for bit in 32 * 8..<48 * 8 {
            var changed = reply
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: MessageError.confirmationFailed, "bit \(bit)") {
                try central.keys(from: changed, derivation: derivation)
            }
        }
    }

    @Test(arguments: [32, 33, 47, 49, 64, 250])
    func `a reply without a proof of its length confirms nothing`(_ count: Int) throws {
        let central = KeyExchange()
        let (_, reply) = try KeyExchange()
            .answer(KeyExchangeRequest(decoding: central.request()), derivation: derivation)
        let payload = Array((reply + [UInt8](repeating: 0, count: 250)).prefix(count))
        #expect(throws: MessageError.confirmationFailed) { try central.keys(from: payload, derivation: derivation) }
    }

    @Test(arguments: [0, 1, 31, 33, 39, 41, 250])
    func `a request of another length is invalid`(_ count: Int) {
        #expect(throws: MessageError.invalidPublicKey) {
            try KeyExchangeRequest(decoding: [UInt8](repeating: 1, count: count))
        }
    }

    @Test func `exchanges with random keys agree, each on keys of its own`() throws {
        let keys = try (0..<2).map { _ in
            let central = KeyExchange()
            let (keys, reply) = try KeyExchange()
                .answer(KeyExchangeRequest(decoding: central.request()), derivation: derivation)
            #expect(try keys == central.keys(from: reply, derivation: derivation))
            return keys
        }
        #expect(keys[0].pairingKey != keys[1].pairingKey)
        #expect(keys[0].sessionKey != keys[1].sessionKey)
    }

    @Test func `an empty answer says that the device does not know the key, if one was named`() throws {
        let pairingKey = try #require(MessageKey([UInt8](repeating: 7, count: 32)))
        #expect(throws: MessageError.keyUnknownToDevice) {
            try KeyExchange().keys(from: [], resuming: pairingKey, derivation: derivation)
        }
        #expect(throws: MessageError.invalidPublicKey) { try KeyExchange().keys(from: [], derivation: derivation) }
    }

    /// Too short, and two points of low order, with which every secret would be zero.
    @Test(arguments: [
        [UInt8](repeating: 9, count: 31), [UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31),
    ])
    func `an invalid public key is an error`(_ publicKey: [UInt8]) {
        for mode in [MessageCipher.Mode.bound, .firmware] {
            #expect(throws: MessageError.invalidPublicKey) {
                try KeyExchange().keys(from: publicKey, derivation: derivation, mode: mode)
            }
        }
        guard publicKey.count == 32 else { return }
        #expect(throws: MessageError.invalidPublicKey) {
            try KeyExchange().answer(KeyExchangeRequest(decoding: publicKey), derivation: derivation)
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
        let request = try KeyExchangeRequest(decoding: KeyExchange().request(resuming: key))
        let keys = try exchange.answer(request, resuming: key, derivation: derivation).keys
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
