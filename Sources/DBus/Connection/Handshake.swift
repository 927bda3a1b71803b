/// The client's side of the authentication with a bus, before the first message: lines in, bytes out.
///
/// The client authenticates with the socket's credentials (EXTERNAL). If the bus rejects them, it authenticates
/// anonymously (ANONYMOUS), which a bus over TCP may permit. Then it asks whether descriptors can be passed. D-Bus
/// specification, chapter "Authentication Protocol".
struct Handshake {
    enum Step: Equatable {
        case send([UInt8])
        /// The last bytes of the handshake; messages follow.
        case done([UInt8])
        case fail(String)
    }

    private enum State {
        case external
        case anonymous
        case accepted
    }

    private var state = State.external
    /// Whether the bus passes descriptors, which it does over a local socket.
    private(set) var passesDescriptors = false
    /// The id of the bus, which is new whenever the bus is started.
    private(set) var busID = ""

    /// Returns the first bytes to send.
    static func start(userID: UInt32) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        let identity = String(userID).utf8.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return [0] + "AUTH EXTERNAL ".utf8 + identity + "\r\n".utf8
    }

    private static func line(_ text: String) -> [UInt8] { Array("\(text)\r\n".utf8) }

    mutating func receive(_ line: String) -> Step {
        switch (state, line.split(separator: " ").first) {
        case (.external, "OK"), (.anonymous, "OK"):
            state = .accepted
            busID = String(line.dropFirst("OK ".count))
            return .send(Self.line("NEGOTIATE_UNIX_FD"))
        case (.accepted, "AGREE_UNIX_FD"):
            passesDescriptors = true
            return .done(Self.line("BEGIN"))
        case (.accepted, "ERROR"):
            return .done(Self.line("BEGIN"))
        case (.external, "REJECTED") where line.split(separator: " ").contains("ANONYMOUS"):
            state = .anonymous
            return .send(Self.line("AUTH ANONYMOUS"))
        case (.external, "REJECTED"), (.anonymous, "REJECTED"):
            return .fail("the bus does not accept this user: \(line)")
        default:
            return .fail("the bus answers the handshake with \(line)")
        }
    }
}
