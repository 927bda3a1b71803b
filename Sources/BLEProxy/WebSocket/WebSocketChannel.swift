/// The client's side of a WebSocket (RFC 6455): bytes in, messages out, and the reverse.
///
/// It has the server's messages put together from their frames, and answers pings and the end itself.
struct WebSocketChannel {
    enum Event: Equatable {
        /// Messages can be sent.
        case opened
        case text([UInt8])
        case binary([UInt8])
        /// The server has ended the connection: with this status code, if it gave one.
        case closed(code: UInt16?, reason: String)
    }

    /// The maximum length of a message of the server, in bytes.
    static let maximumLength = 65_536

    private enum State {
        case opening(WebSocketHandshake)
        case open
        case closed
    }

    private enum Opcode: UInt8 {
        case continuation, text, binary
        case close = 8
        case ping, pong

        var isControl: Bool { rawValue >= 8 }
    }

    private struct Frame {
        let opcode: Opcode
        let isFinal: Bool
        let payload: [UInt8]
    }

    private var state: State
    private var input: [UInt8] = []
    /// The first byte of the input that was not read yet.
    private var position = 0
    private var output: [UInt8]
    /// The message whose frames arrive.
    private var partial: (opcode: Opcode, bytes: [UInt8])?

    /// - Parameters:
    ///   - authority: the host and the port.
    ///   - path: the path, with a query if there is one.
    init(authority: String, path: String) {
        var random = SystemRandomNumberGenerator()
        let nonce = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
        let handshake = WebSocketHandshake(authority: authority, path: path, nonce: nonce)
        (state, output) = (.opening(handshake), handshake.request)
    }

    /// Whether messages can be sent.
    var isOpen: Bool { if case .open = state { true } else { false } }

    // MARK: Receiving

    /// Adds what was received. ``next()`` is called until it returns nil before more is added, so that what waits here
    /// is at most one frame.
    mutating func append(_ bytes: ArraySlice<UInt8>) {
        input.removeFirst(position)
        position = 0
        if case .closed = state { input = [] } else { input += bytes }
    }

    /// Returns what has been received next. Nil if it is incomplete.
    mutating func next() throws(WebSocketError) -> Event? {
        switch state {
        case .closed: return nil
        case .opening(let handshake):
            let head = input.prefix(WebSocketHandshake.longestAnswer)
            guard let end = Self.endOfHead(head) else {
                guard input.count < WebSocketHandshake.longestAnswer else {
                    throw .badAnswer("its answer is too long")
                }
                return nil
            }
            try handshake.check(input[..<end])
            (state, position) = (.open, end + 4)
            return .opened
        case .open:
            while let frame = try nextFrame() {
                if let event = try receive(frame) { return event }
            }
            return nil
        }
    }

    /// Returns the index of the empty line that ends the answer.
    private static func endOfHead(_ bytes: ArraySlice<UInt8>) -> Int? {
        var index = bytes.startIndex
        while index + 4 <= bytes.endIndex {
            // Most bytes are looked at once in four.
            switch bytes[index + 3] {
            case 0x0A where bytes[index] == 0x0D && bytes[index + 1] == 0x0A && bytes[index + 2] == 0x0D: return index
            case 0x0A, 0x0D: index += 1
            default: index += 4
            }
        }
        return nil
    }

    private mutating func nextFrame() throws(WebSocketError) -> Frame? {
        let rest = input[position...]
        guard rest.count >= 2 else { return nil }
        let (first, second) = (rest[position], rest[position + 1])
        guard first & 0x70 == 0 else { throw .violation("a frame has an extension") }
        guard let opcode = Opcode(rawValue: first & 0x0F) else { throw .violation("a frame has an unknown opcode") }
        guard second & 0x80 == 0 else { throw .violation("a frame of a server is masked") }
        let isFinal = first & 0x80 != 0
        var (length, header) = (Int(second), 2)
        if opcode.isControl {
            guard isFinal, length <= 125 else { throw .violation("a control frame is fragmented or too long") }
        } else if length == 126 {
            guard rest.count >= 4 else { return nil }
            (length, header) = (Int(rest[position + 2]) << 8 | Int(rest[position + 3]), 4)
        } else if length == 127 {
            guard rest.count >= 10 else { return nil }
            var long: UInt64 = 0
            for byte in rest[(position + 2)..<(position + 10)] { long = long << 8 | UInt64(byte) }
            guard long <= Self.maximumLength else { throw .tooLong }
            (length, header) = (Int(long), 10)
        }
        guard length + (opcode.isControl ? 0 : partial?.bytes.count ?? 0) <= Self.maximumLength else { throw .tooLong }
        guard rest.count >= header + length else { return nil }
        let start = position + header
        position = start + length
        return Frame(opcode: opcode, isFinal: isFinal, payload: Array(input[start..<position]))
    }

    private mutating func receive(_ frame: Frame) throws(WebSocketError) -> Event? {
        switch frame.opcode {
        case .ping: send(.pong, frame.payload)
        case .pong: break
        case .close: return try receiveClose(frame.payload)
        case .text, .binary:
            guard partial == nil else { throw .violation("a message begins within another") }
            guard frame.isFinal else {
                partial = (frame.opcode, frame.payload)
                return nil
            }
            return event(frame.opcode, frame.payload)
        case .continuation:
            guard var message = partial.take() else { throw .violation("a message goes on that has not begun") }
            message.bytes += frame.payload
            guard frame.isFinal else {
                partial = message
                return nil
            }
            return event(message.opcode, message.bytes)
        }
        return nil
    }

    private func event(_ opcode: Opcode, _ bytes: [UInt8]) -> Event { opcode == .text ? .text(bytes) : .binary(bytes) }

    private mutating func receiveClose(_ payload: [UInt8]) throws(WebSocketError) -> Event {
        guard payload.count != 1 else { throw .violation("the end has half a code") }
        let code = payload.isEmpty ? nil : UInt16(payload[0]) << 8 | UInt16(payload[1])
        // The same code confirms it.
        send(.close, Array(payload.prefix(2)))
        state = .closed
        return .closed(code: code, reason: String(decoding: payload.dropFirst(2), as: UTF8.self))
    }

    // MARK: Sending

    /// Sends a text message. Does nothing before the connection is open, and after its end.
    mutating func send(text: [UInt8]) { send(.text, text) }

    /// Sends a binary message. Does nothing before the connection is open, and after its end.
    mutating func send(binary: [UInt8]) { send(.binary, binary) }

    /// Asks the server for a sign of life.
    mutating func ping() { send(.ping, []) }

    /// Ends the connection. Nothing is sent or received afterward.
    mutating func close(code: UInt16 = 1000) {
        send(.close, [UInt8(code >> 8), UInt8(code & 0xFF)])
        state = .closed
    }

    /// Returns the bytes to be sent to the server, and forgets them.
    mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    /// Sends a frame, masked as those of clients are.
    private mutating func send(_ opcode: Opcode, _ payload: [UInt8]) {
        guard isOpen else { return }
        output.append(0x80 | opcode.rawValue)
        switch payload.count {
        case ...125: output.append(0x80 | UInt8(payload.count))
        case ...0xFFFF: output += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            output.append(0x80 | 127)
            output += (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
        }
        var random = SystemRandomNumberGenerator()
        let number = random.next() as UInt32
        let mask = (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        output += mask
        output += payload.enumerated().map { $1 ^ mask[$0 & 3] }
    }
}
