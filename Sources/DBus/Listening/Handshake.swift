/// The client's side of the authentication with a bus, before the first message: lines in, bytes out.
///
/// The client authenticates with the socket's credentials (EXTERNAL). If the bus rejects them, it authenticates
/// anonymously (ANONYMOUS), which a bus over TCP may permit. D-Bus specification, chapter "Authentication Protocol".
struct Handshake {
    enum Step: Equatable {
        case send([UInt8])
        /// The last bytes of the handshake; messages follow.
        case done([UInt8])
        case fail(String)
    }

    private var isAnonymous = false

    /// Returns the first bytes to send.
    static func start(userID: UInt32) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        let identity = String(userID).utf8.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return [0] + "AUTH EXTERNAL ".utf8 + identity + "\r\n".utf8
    }

    mutating func receive(_ line: String) -> Step {
        switch line.split(separator: " ").first {
        case "OK":
            return .done(Array("BEGIN\r\n".utf8))
        case "REJECTED" where !isAnonymous && line.contains("ANONYMOUS"):
            isAnonymous = true
            return .send(Array("AUTH ANONYMOUS\r\n".utf8))
        case "REJECTED":
            return .fail("the bus does not accept this user: \(line)")
        default:
            return .fail("the bus answers the handshake with \(line)")
        }
    }
}
