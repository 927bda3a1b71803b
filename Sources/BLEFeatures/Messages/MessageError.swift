/// An error in decoding or encoding a message, or in agreeing on keys.
///
/// Creating an error does not allocate, so rejecting an invalid frame costs no more than accepting a valid one.
public enum MessageError: Error, Hashable, Sendable {
    /// The frame has only `count` bytes, fewer than its header, or its length byte is as low as that.
    case tooShort(count: Int)
    /// The length byte differs from the length of the frame.
    case lengthMismatch(declared: Int, actual: Int)
    /// The type byte is not 1, 2 or 3.
    case unknownType(UInt8)
    /// The encrypted byte is not 0 or 1.
    case invalidEncryptedFlag(UInt8)
    /// The payload is too long for a frame.
    case payloadTooLong(count: Int, maximum: Int)
    /// The buffer to encode into is too small.
    case bufferTooSmall(needed: Int, available: Int)
    /// There is no key to encrypt or decrypt a message with.
    case missingKey
    /// The frame to decrypt is not encrypted.
    case notEncrypted
    /// The tag is wrong: the frame was modified in transit, or the two sides have different keys.
    case authenticationFailed
    /// The frame's nonce was used before.
    case replayed
    /// The encrypted payload is too short for the nonce and the tag, or the nonce is not valid in this mode.
    case malformedCiphertext
    /// The other side's public key does not have 32 bytes, or no secret can be agreed on with it.
    case invalidPublicKey
    /// The private key does not have 32 bytes.
    case invalidPrivateKey
    /// The device does not know the pairing key to resume with.
    case keyUnknownToDevice
    /// The device did not prove that it has the same keys.
    case confirmationFailed
    /// The encrypted reply does not answer a request, or answers an earlier one.
    case unrequestedReply
}

extension MessageError: CustomStringConvertible {
    /// A single line with the problem and a suggested remedy.
    public var description: String { "\(message) — \(remedy)" }

    /// A description of the problem.
    public var message: String {
        switch self {
        case .tooShort(let count): "a frame of \(count) bytes has no room for the header's \(MessageHeader.size)"
        case .lengthMismatch(let declared, let actual): "the frame says it has \(declared) bytes, and has \(actual)"
        case .unknownType(let byte): "there is no message type \(byte)"
        case .invalidEncryptedFlag(let byte): "the encrypted byte is \(byte), neither 0 nor 1"
        case .payloadTooLong(let count, let maximum): "the payload has \(count) bytes, at most \(maximum) fit"
        case .bufferTooSmall(let needed, let available):
            "the frame has \(needed) bytes, the buffer room for \(available)"
        case .missingKey: "the message is encrypted, and no key has been agreed on this connection"
        case .notEncrypted: "the frame to open is not encrypted"
        case .authenticationFailed: "the frame's tag does not fit: it was changed on its way, or the keys differ"
        case .replayed: "the frame's nonce was used before"
        case .malformedCiphertext: "the encrypted payload is not nonce, ciphertext and tag as this mode builds them"
        case .invalidPublicKey: "the other side's public key is not a usable one of 32 bytes"
        case .invalidPrivateKey: "the private key does not have 32 bytes"
        case .keyUnknownToDevice: "the device does not know the key of an earlier pairing"
        case .confirmationFailed: "the device did not prove that it has the same keys"
        case .unrequestedReply: "the encrypted reply does not answer the request under way"
        }
    }

    /// A suggested remedy.
    public var remedy: String {
        switch self {
        case .tooShort, .lengthMismatch:
            "check that the device speaks this protocol, and whether it splits frames (MessageReassembler)"
        case .unknownType, .invalidEncryptedFlag: "check that the device speaks this protocol"
        case .payloadTooLong: "split the payload over several messages"
        case .bufferTooSmall: "give a buffer of encodedCount bytes"
        case .missingKey: "there are no keys: call pair() or secure() first"
        case .notEncrypted: "decode it with Message(decoding:), if plain messages are welcome"
        case .authenticationFailed: "exchange keys again; pair anew if that does not help"
        case .replayed: "drop the frame; if the device means well, it counts wrongly: exchange keys again"
        case .malformedCiphertext: "check that both sides use the same mode, bound or firmware"
        case .invalidPublicKey: "check that the device does X25519 with raw keys"
        case .invalidPrivateKey: "give the key's 32 raw bytes"
        case .keyUnknownToDevice: "pair anew: the device was reset, or has forgotten its pairings"
        case .confirmationFailed:
            "check that it is the device that was paired with, and that both sides use the same mode, salt and info"
        case .unrequestedReply: "drop the frame: its request is over, or was never sent"
        }
    }
}
