/// Why a WebSocket connection could not be opened, or must end.
enum WebSocketError: Error, Equatable {
    /// The server has answered the request for a WebSocket with this status of HTTP.
    case status(Int)
    /// The server's answer to the request is not that of a WebSocket server.
    case badAnswer(String)
    /// A frame is not allowed where it is.
    case violation(String)
    /// A message is longer than ``WebSocketChannel/maximumLength``.
    case tooLong
}

extension WebSocketError: CustomStringConvertible {
    var description: String {
        switch self {
        case .status(404): "it has no such path (HTTP status 404): is it started with --ble-proxy?"
        case .status(let status): "it refuses a WebSocket with the HTTP status \(status)"
        case .badAnswer(let reason): "it is not a WebSocket server: \(reason)"
        case .violation(let reason): "it violates the WebSocket protocol: \(reason)"
        case .tooLong: "it sends a message of more than \(WebSocketChannel.maximumLength) bytes"
        }
    }
}
