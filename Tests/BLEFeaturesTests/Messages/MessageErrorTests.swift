import BLEFeatures
import Testing

@Suite struct MessageErrorTests {
    static let errors: [(MessageError, String)] = [
        (.tooShort(count: 3), "3 bytes"), (.lengthMismatch(declared: 9, actual: 7), "declares 9 bytes, but has 7"),
        (.unknownType(4), "type 4"), (.invalidEncryptedFlag(2), "2, neither 0 nor 1"),
        (.payloadTooLong(count: 251, maximum: 250), "251 bytes, but at most 250"),
        (.bufferTooSmall(needed: 15, available: 14), "15 bytes, but the buffer has room for 14"),
        (.missingKey, "pair()"), (.notEncrypted, "not encrypted"),
        (.authenticationFailed, "exchange keys again"), (.replayed, "used before"),
        (.malformedCiphertext, "the same mode"), (.invalidPublicKey, "32 bytes"), (.invalidPrivateKey, "32 bytes"),
        (.keyUnknownToDevice, "pair again"), (.confirmationFailed, "did not prove"),
        (.unrequestedReply, "does not answer the request"),
    ]

    @Test(arguments: errors)
    func `an error says what is wrong and what helps`(_ error: MessageError, _ words: String) {
        #expect(error.description.contains(words))
        #expect(error.description == "\(error.message) — \(error.remedy)")
    }
}
