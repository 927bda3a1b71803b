internal import Crypto

/// The handshake `Noise_NNpsk0_25519_ChaChaPoly_SHA256` (The Noise Protocol Framework, revision 34): the initiator
/// sends `psk, e`, the responder answers `e, ee`.
///
/// Both sides have one ephemeral key pair each, which is used once: the handshake cannot be copied, and each of its
/// steps is possible once.
package struct NoiseHandshake: ~Copyable {
    package enum Role: Sendable {
        case initiator
        case responder
    }

    private enum Step {
        case psk
        case answer
        case complete
        case over
    }

    /// The number of bytes of a message without content: a public key and a tag.
    package static let messageLength = 32 + NoiseCipher.overhead

    private static let name = "Noise_NNpsk0_25519_ChaChaPoly_SHA256"

    private let role: Role
    private let psk: SymmetricKey
    private let ephemeral: Curve25519.KeyAgreement.PrivateKey
    private var step = Step.psk
    private var chainingKey: [UInt8]
    private var hash: [UInt8]
    private var key: NoiseCipher?
    private var remoteKey: [UInt8] = []

    /// - Parameter prologue: what both sides know already, and must agree on.
    package init(_ role: Role, key: EncryptionKey, prologue: [UInt8]) {
        self.init(role, key: key, prologue: prologue, ephemeral: .init())
    }

    /// - Parameter ephemeral: for vectors of tests only: it must be new for each handshake.
    init(
        _ role: Role, key: EncryptionKey, prologue: [UInt8], ephemeral: Curve25519.KeyAgreement.PrivateKey
    ) {
        self.role = role
        psk = key.bytes
        self.ephemeral = ephemeral
        hash = Array(SHA256.hash(data: Array(Self.name.utf8)))
        chainingKey = hash
        mix(prologue[...])
    }

    /// Whether both messages were exchanged.
    package var isComplete: Bool { step == .complete }

    // MARK: Messages

    /// Returns this side's message. Throws `outOfOrder` if it is not this side's turn.
    package mutating func write() throws(WireError) -> [UInt8] {
        try advance(from: role == .initiator ? .psk : .answer)
        if role == .initiator { mixPSK() }
        let ownKey = Array(ephemeral.publicKey.rawRepresentation)
        mixEphemeral(ownKey[...])
        if role == .responder { try mixShared() }
        let content = try key!.seal([], authenticating: hash)
        mix(content[...])
        return ownKey + content
    }

    /// Reads the other side's message. Throws `wrongKey` if it was not made with the same key and prologue, and
    /// `invalidHandshake` or `outOfOrder`.
    package mutating func read(_ message: ArraySlice<UInt8>) throws(WireError) {
        guard message.count == Self.messageLength else { throw .invalidHandshake }
        try advance(from: role == .initiator ? .answer : .psk)
        if role == .responder { mixPSK() }
        remoteKey = Array(message.prefix(32))
        mixEphemeral(remoteKey[...])
        if role == .initiator { try mixShared() }
        let content = message.dropFirst(32)
        guard (try? key!.open(content, authenticating: hash)) != nil else {
            step = .over
            throw .wrongKey
        }
        mix(content)
    }

    /// Returns the ciphers of the two directions. Throws `outOfOrder` before the end of the handshake, and when called
    /// again.
    package mutating func split() throws(WireError) -> NoiseCiphers {
        guard step == .complete else { throw .outOfOrder }
        step = .over
        let keys = derive([], count: 2).map { SymmetricKey(data: $0) }
        return role == .initiator
            ? NoiseCiphers(sending: NoiseCipher(keys[0]), receiving: NoiseCipher(keys[1]))
            : NoiseCiphers(sending: NoiseCipher(keys[1]), receiving: NoiseCipher(keys[0]))
    }

    private mutating func advance(from expected: Step) throws(WireError) {
        guard step == expected else { throw .outOfOrder }
        step = expected == .psk ? .answer : .complete
    }

    // MARK: The symmetric state (section 5.2)

    private mutating func mix(_ data: ArraySlice<UInt8>) {
        var function = SHA256()
        function.update(data: hash)
        function.update(data: data)
        hash = Array(function.finalize())
    }

    private mutating func mixPSK() {
        let outputs = derive(psk.withUnsafeBytes { Array($0) }, count: 3)
        chainingKey = outputs[0]
        mix(outputs[1][...])
        key = NoiseCipher(SymmetricKey(data: outputs[2]))
    }

    private mutating func mixKey(_ material: [UInt8]) {
        let outputs = derive(material, count: 2)
        chainingKey = outputs[0]
        key = NoiseCipher(SymmetricKey(data: outputs[1]))
    }

    /// With a shared key, each public key also changes the encryption (section 9.2).
    private mutating func mixEphemeral(_ publicKey: ArraySlice<UInt8>) {
        mix(publicKey)
        mixKey(Array(publicKey))
    }

    private mutating func mixShared() throws(WireError) {
        guard let publicKey = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: remoteKey),
            let secret = try? ephemeral.sharedSecretFromKeyAgreement(with: publicKey).withUnsafeBytes({ Array($0) }),
            // A public key of low order makes the secret zero, whatever the other key is.
            secret.contains(where: { $0 != 0 })
        else {
            step = .over
            throw .invalidHandshake
        }
        mixKey(secret)
    }

    /// Noise's HKDF (section 4.3) is that of RFC 5869 without info.
    private func derive(_ material: [UInt8], count: Int) -> [[UInt8]] {
        let output = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: material), salt: chainingKey, outputByteCount: 32 * count)
        let bytes = output.withUnsafeBytes { Array($0) }
        return (0..<count).map { Array(bytes[32 * $0..<32 * $0 + 32]) }
    }
}

/// The two directions of an encrypted connection.
package struct NoiseCiphers: ~Copyable {
    package var sending: NoiseCipher
    package var receiving: NoiseCipher
}
