internal import Crypto
internal import FoundationEssentials

/// The opening handshake, on the client's side (RFC 6455, section 4).
struct WebSocketHandshake {
    /// The maximum length of the server's answer, in bytes.
    static let longestAnswer = 16_384

    private let key: String
    /// What asks the server for a WebSocket.
    let request: [UInt8]

    /// - Parameters:
    ///   - authority: the host and the port.
    ///   - path: the path, with a query if there is one.
    ///   - nonce: 16 random bytes.
    init(authority: String, path: String, nonce: [UInt8]) {
        key = Data(nonce).base64EncodedString()
        let lines = [
            "GET \(path) HTTP/1.1", "Host: \(authority)", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Key: \(key)", "Sec-WebSocket-Version: 13", "User-Agent: swift-ble",
        ]
        request = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    /// Returns what a server that has read a key answers.
    static func accept(_ key: String) -> String {
        let text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        return Data(Insecure.SHA1.hash(data: Data(text.utf8))).base64EncodedString()
    }

    /// Checks the server's answer, up to the empty line.
    func check(_ answer: ArraySlice<UInt8>) throws(WebSocketError) {
        var lines = answer.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
        }
        let status = lines.removeFirst().split(separator: " ", maxSplits: 2)
        guard status.count >= 2, status[0].hasPrefix("HTTP/1."), let number = Int(status[1]) else {
            throw .badAnswer("its answer is not HTTP")
        }
        guard number == 101 else { throw .status(number) }
        var headers: [String: String] = [:]
        for line in lines where !line.isEmpty {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw .badAnswer("a line of its answer is no header") }
            let name = parts[0].lowercased()
            let value = String(parts[1].drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
            headers[name] = headers[name].map { "\($0), \(value)" } ?? value
        }
        let tokens = (headers["connection"] ?? "").lowercased().split { $0 == "," || $0 == " " }
        guard headers["upgrade"]?.lowercased() == "websocket", tokens.contains("upgrade") else {
            throw .badAnswer("it does not change the protocol")
        }
        guard headers["sec-websocket-accept"] == Self.accept(key) else { throw .badAnswer("it has not read the key") }
        guard headers["sec-websocket-extensions"] == nil, headers["sec-websocket-protocol"] == nil else {
            throw .badAnswer("it has chosen what was not offered")
        }
    }
}
