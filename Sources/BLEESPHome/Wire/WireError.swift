/// An error in the bytes of a connection to a proxy. The connection cannot be used afterward.
package enum WireError: Error, Hashable, Sendable {
    /// A field, or a list of numbers, is longer than the rest of its message.
    case truncated
    /// A number has more than 64 bits.
    case numberTooLong
    /// A field has the number 0, or an encoding that no message uses.
    case invalidField
    /// A text is not UTF-8.
    case invalidText
    /// A frame has more bytes than this side accepts.
    case frameTooLong(count: Int, maximum: Int)
    /// A frame begins with an unknown byte.
    case invalidMarker(UInt8)
    /// The other side encrypts, and this side has no key.
    case isEncrypted
    /// The other side does not encrypt, although this side has a key.
    case isNotEncrypted
    /// A frame of the handshake is malformed, or the proxy chose another protocol.
    case invalidHandshake
    /// The proxy refused the handshake, for the given reason.
    case handshakeRefused(String)
    /// The keys of the two sides differ.
    case wrongKey
    /// A frame was not encrypted with the keys of this connection, or not as the next one.
    case notAuthentic
    /// A step of the handshake was repeated or omitted.
    case outOfOrder
    /// As many frames were sent or received as one key allows.
    case keyExhausted
}

extension WireError: CustomStringConvertible {
    /// The text on the side of a client.
    package var description: String { text(of: "the proxy") }

    /// The text on the side that names the other one so.
    package func text(of other: String) -> String {
        switch self {
        case .truncated: "a message is truncated"
        case .numberTooLong: "a number is longer than 64 bits"
        case .invalidField: "a field is malformed"
        case .invalidText: "a text is not UTF-8"
        case .frameTooLong(let count, let maximum): "a frame of \(count) bytes is longer than \(maximum) bytes"
        case .invalidMarker(let byte): "a frame begins with \(byte)"
        case .isEncrypted: "\(other) requires encryption"
        case .isNotEncrypted: "\(other) does not encrypt"
        case .invalidHandshake: "a frame of the handshake is malformed"
        case .handshakeRefused(let reason): "\(other) refused the handshake: \(reason)"
        case .wrongKey: "the key is wrong"
        case .notAuthentic: "a frame is not authentic"
        case .outOfOrder: "a step of the handshake is out of order"
        case .keyExhausted: "the key of the connection is used up"
        }
    }
}
