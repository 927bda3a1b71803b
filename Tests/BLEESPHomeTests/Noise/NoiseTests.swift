import BLE
import BLETesting
import Crypto
import Testing

@testable import BLEESPHome

/// The handshake against the package that aioesphomeapi uses, and what must not happen.
@Suite struct NoiseTests {
    private func bytes(_ text: String) throws -> [UInt8] { try #require(Hex.bytes(text)) }

    private func side(_ role: NoiseHandshake.Role, _ vector: NoiseVector) throws -> NoiseHandshake {
        let secret = try bytes(role == .initiator ? vector.initiator : vector.responder)
        return NoiseHandshake(
            role, key: try EncryptionKey(bytes: bytes(vector.key)), prologue: try bytes(vector.prologue),
            ephemeral: try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: secret))
    }

    @Test(arguments: NoiseVector.all.indices) func `both roles make the frames of the vectors`(_ index: Int) throws {
        let vector = NoiseVector.all[index]
        var initiator = try side(.initiator, vector)
        var responder = try side(.responder, vector)
        let (first, second) = (try bytes(vector.first), try bytes(vector.second))
        #expect(try initiator.write() == first)
        try responder.read(first[...])
        #expect(try responder.write() == second)
        try initiator.read(second[...])
        var client = try initiator.split()
        var server = try responder.split()
        for (content, (sent, received)) in zip(NoiseVector.contents, zip(vector.sent, vector.received)) {
            let (content, sent, received) = (try bytes(content), try bytes(sent), try bytes(received))
            #expect(try client.sending.seal(content) == sent)
            #expect(try server.receiving.open(sent[...]) == content)
            #expect(try server.sending.seal(content) == received)
            #expect(try client.receiving.open(received[...]) == content)
        }
    }

    @Test func `each step happens once and in order`() throws {
        let vector = NoiseVector.all[0]
        var initiator = try side(.initiator, vector)
        var responder = try side(.responder, vector)
        let message = try bytes(vector.second)
        #expect(throws: WireError.outOfOrder) { try initiator.read(message[...]) }
        #expect(throws: WireError.outOfOrder) { try responder.write() }
        let first = try initiator.write()
        #expect(throws: WireError.outOfOrder) { try initiator.write() }
        try responder.read(first[...])
        #expect(throws: WireError.outOfOrder) { try responder.read(first[...]) }
        let second = try responder.write()
        #expect(throws: WireError.outOfOrder) { try responder.write() }
        try initiator.read(second[...])
        _ = try initiator.split()
        var isRefused = false
        do { _ = try initiator.split() } catch { isRefused = error == .outOfOrder }
        #expect(isRefused)
    }

    @Test func `another key, prologue, or any other byte is refused`() throws {
        let vector = NoiseVector.all[0]
        let first = try bytes(vector.first)
        for index in first.indices {
            var changed = first
            // The highest bit of a public key is not used, but is part of the hash.
            changed[index] ^= 0x80
            var responder = try side(.responder, vector)
            #expect(throws: WireError.wrongKey) { try responder.read(changed[...]) }
            #expect(throws: WireError.outOfOrder) { try responder.write() }
        }
        var other = NoiseHandshake(.responder, key: .random(), prologue: try bytes(vector.prologue))
        #expect(throws: WireError.wrongKey) { try other.read(first[...]) }
        let key = try EncryptionKey(bytes: bytes(vector.key))
        var elsewhere = NoiseHandshake(.responder, key: key, prologue: [])
        #expect(throws: WireError.wrongKey) { try elsewhere.read(first[...]) }
        for message in [first.dropLast(), (first + [0])[...], first.prefix(0)] {
            var responder = try side(.responder, vector)
            #expect(throws: WireError.invalidHandshake) { try responder.read(message) }
        }
    }

    /// A public key of low order makes the shared secret zero, whatever the other key is.
    @Test func `a public key of low order is refused`() throws {
        let key = EncryptionKey.random()
        var initiator = NoiseHandshake(.initiator, key: key, prologue: [])
        _ = try initiator.write()
        #expect(throws: WireError.invalidHandshake) {
            try initiator.read([UInt8](repeating: 0, count: NoiseHandshake.messageLength)[...])
        }
    }

    @Test func `frames are accepted once and in order`() throws {
        let key = SymmetricKey(size: .bits256)
        var sender = NoiseCipher(key)
        var receiver = NoiseCipher(key)
        let frames = [try sender.seal([1]), try sender.seal([1]), try sender.seal([1])]
        #expect(Set(frames).count == 3)
        #expect(throws: WireError.notAuthentic) { try receiver.open(frames[1][...]) }
        #expect(try receiver.open(frames[0][...]) == [1])
        #expect(throws: WireError.notAuthentic) { try receiver.open(frames[0][...]) }
        #expect(throws: WireError.notAuthentic) { try receiver.open(frames[1].dropLast()) }
        #expect(throws: WireError.notAuthentic) { try receiver.open([1, 2, 3]) }
        #expect(try receiver.open(frames[1][...]) == [1])
    }

    @Test func `the number of a frame does not begin again`() throws {
        let key = SymmetricKey(size: .bits256)
        var sender = NoiseCipher(key, number: .max - 1)
        var receiver = NoiseCipher(key, number: .max - 1)
        let last = try sender.seal([7])
        #expect(try receiver.open(last[...]) == [7])
        #expect(throws: WireError.keyExhausted) { try sender.seal([7]) }
        #expect(throws: WireError.keyExhausted) { try receiver.open(last[...]) }
    }

    @Test func `keys are Base64 of 32 bytes, and are not printed`() throws {
        let text = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        let key = try EncryptionKey(text)
        #expect(key.text == text)
        #expect(EncryptionKey.random().text.utf8.count == 44)
        #expect(EncryptionKey.random().text != EncryptionKey.random().text)
        for wrong in ["", "AAECAwQ=", text + text, "key"] {
            let error = #expect(throws: BLEError.self) { try EncryptionKey(wrong) }
            #expect(error?.code == .invalidArgument)
        }
        #expect(!"\(EncryptionKey.random())".contains("="))
        #expect(!String(reflecting: key).contains("AAEC"))
    }
}
