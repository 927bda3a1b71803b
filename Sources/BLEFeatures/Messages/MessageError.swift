/// An error in decoding or encoding a message, or in agreeing on keys.
///
/// Creating an error does not allocate, so rejecting an invalid frame costs no more than accepting a valid one.
public enum MessageError: Error, Hashable, Sendable {
    /// The frame has only `count` bytes, fewer than a header, or its length byte says so.
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
        case .tooShort(let count): "a frame of \(count) bytes is too short for a header of \(MessageHeader.size)"
        case .lengthMismatch(let declared, let actual): "the frame declares \(declared) bytes, but has \(actual)"
        case .unknownType(let byte): "there is no message type \(byte)"
        case .invalidEncryptedFlag(let byte): "the encrypted byte is \(byte), neither 0 nor 1"
        case .payloadTooLong(let count, let maximum): "the payload has \(count) bytes, but at most \(maximum) fit"
        case .bufferTooSmall(let needed, let available):
            "the frame has \(needed) bytes, but the buffer has room for \(available)"
        case .missingKey: "the message is encrypted, but there is no key for this connection"
        case .notEncrypted: "the frame to decrypt is not encrypted"
        case .authenticationFailed: "the frame's tag is wrong: the frame was modified in transit, or the keys differ"
        case .replayed: "the frame's nonce was used before"
        case .malformedCiphertext: "the encrypted payload does not have the nonce, ciphertext and tag of this mode"
        case .invalidPublicKey: "the other side's public key is not valid"
        case .invalidPrivateKey: "the private key does not have 32 bytes"
        case .keyUnknownToDevice: "the device does not know the key of an earlier pairing"
        case .confirmationFailed: "the device did not prove that it has the same keys"
        case .unrequestedReply: "the encrypted reply does not answer the request in progress"
        }
    }

    /// A suggested remedy.
    public var remedy: String {
        switch self {
        case .tooShort, .lengthMismatch:
            "check that the device uses this protocol, and whether it splits frames (MessageReassembler)"
        case .unknownType, .invalidEncryptedFlag: "check that the device uses this protocol"
        case .payloadTooLong: "split the payload over several messages"
        case .bufferTooSmall: "pass a buffer of encodedCount bytes"
        case .missingKey: "call pair() or secure() first"
        case .notEncrypted: "use Message(decoding:) if unencrypted messages are accepted"
        case .authenticationFailed: "exchange keys again; if that does not help, pair again"
        case .replayed: "discard the frame; if the device is genuine, its counter is wrong: exchange keys again"
        case .malformedCiphertext: "check that both sides use the same mode, bound or firmware"
        case .invalidPublicKey: "check that the device uses X25519 with raw keys of 32 bytes"
        case .invalidPrivateKey: "pass the 32 raw bytes of the key"
        case .keyUnknownToDevice: "pair again: the device was reset, or has forgotten its pairings"
        case .confirmationFailed:
            "check that this is the paired device, and that both sides use the same mode, salt and info"
        case .unrequestedReply: "discard the frame: its request has ended, or was never sent"
        }
    }
}
