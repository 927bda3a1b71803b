/// How a client makes itself known to a bus before the first message: lines in, bytes out.
///
/// As who it is by the socket's own word (EXTERNAL), and where that is not taken as nobody (ANONYMOUS), which a bus over TCP may
/// allow. D-Bus specification, chapter "Authentication Protocol".
struct Handshake {
    enum Step: Equatable {
        case send([UInt8])
        /// The bytes end the handshake; messages follow.
        case done([UInt8])
        case fail(String)
    }

    private var isAnonymous = false

    /// What is sent first.
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
