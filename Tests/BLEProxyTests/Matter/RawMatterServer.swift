import BLE
import BLEDefinitions
import BLETesting
import Foundation
import Loop
import Waiting

@testable import BLEProxy

/// A Matter server at one end of a stream, written from the description of the protocol: it sends what a test tells it
/// to, and keeps what it receives.
final class RawMatterServer: Sendable {
    struct State: Sendable {
        var input: [UInt8] = []
        /// What the proxy has asked for with HTTP.
        var request: String?
        var received: [MatterFrame] = []
        var pings = 0
        var pongs: [[UInt8]] = []
        var closes: [UInt16] = []
        var hasEnded = false
        var lastID = 0
    }

    /// What the server does of itself.
    struct Behavior: Sendable {
        /// The answer to the request of a WebSocket. Nil for the right one, and empty for none.
        var answer: String?
        /// The answer to the greeting. Nil for none.
        var greeting: JSON? = .object(["type": "hello_response", "version": 1])
        var answersPings = true
    }

    private let loop = EventLoop(name: "server")
    private let socket: StreamSocket
    private let behavior: Behavior
    let state = SharedValue(State())

    init(_ descriptor: FileDescriptor, _ behavior: Behavior = Behavior()) {
        self.behavior = behavior
        socket = StreamSocket(descriptor, on: loop)
        loop.perform { [self] in
            socket.open(onBytes: { self.receive($0) }, onEnd: { self.state.change { $0.hasEnded = true } })
        }
    }

    // MARK: Receiving

    private func receive(_ bytes: ArraySlice<UInt8>) {
        let received = Array(bytes)
        state.change { $0.input += received }
        if state.value.request == nil { answerRequest() }
        guard state.value.request != nil else { return }
        while let (opcode, payload) = state.change({ Self.frame(&$0.input) }) {
            switch opcode {
            case 1:
                guard let json = try? JSONReader.read(Data(payload)) else { continue }
                state.change { $0.received.append(.text(json)) }
                if case .object(let object) = json, object["type"] == "hello", let greeting = behavior.greeting {
                    send(greeting)
                }
            case 2: state.change { $0.received.append(.binary(payload)) }
            case 8: state.change { $0.closes.append(UInt16(payload[0]) << 8 | UInt16(payload[1])) }
            case 9:
                state.change { $0.pings += 1 }
                if behavior.answersPings { sendFrame(10, payload) }
            default: state.change { $0.pongs.append(payload) }
            }
        }
    }

    private func answerRequest() {
        let request = state.change { state -> String? in
            let text = String(decoding: state.input, as: UTF8.self)
            guard let end = text.range(of: "\r\n\r\n") else { return nil }
            state.input = Array(text[end.upperBound...].utf8)
            state.request = String(text[..<end.lowerBound])
            return state.request
        }
        guard let request else { return }
        let key = request.firstMatch(of: /Sec-WebSocket-Key: ([A-Za-z0-9+\/=]+)/)?.1 ?? ""
        let accept = WebSocketHandshake.accept(String(key))
        let answer =
            behavior.answer
            ?? "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(accept)\r\n\r\n"
        sendBytes(Array(answer.utf8))
    }

    /// Takes a masked frame of a client.
    private static func frame(_ input: inout [UInt8]) -> (UInt8, [UInt8])? {
        guard input.count >= 6 else { return nil }
        precondition(input[1] & 0x80 != 0, "a frame of a client is masked")
        var (length, start) = (Int(input[1] & 0x7F), 2)
        if length == 126 { (length, start) = (Int(input[2]) << 8 | Int(input[3]), 4) }
        precondition(input[1] & 0x7F != 127, "no message of the proxy is that long")
        guard input.count >= start + 4 + length else { return nil }
        let mask = input[start..<start + 4]
        let payload = input[(start + 4)..<(start + 4 + length)].enumerated().map { $1 ^ mask[start + $0 & 3] }
        defer { input.removeFirst(start + 4 + length) }
        return (input[0] & 0x0F, payload)
    }

    // MARK: Sending

    func sendBytes(_ bytes: [UInt8]) { loop.perform { [socket] in socket.send(bytes) } }

    func sendFrame(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true) {
        sendBytes(Self.encode(opcode, payload, isFinal: isFinal))
    }

    static func encode(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true) -> [UInt8] {
        var bytes = [(isFinal ? 0x80 : 0) | opcode]
        switch payload.count {
        case ...125: bytes.append(UInt8(payload.count))
        case ...0xFFFF: bytes += [126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            bytes.append(127)
            bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
        }
        return bytes + payload
    }

    func send(text: String) { sendFrame(1, Array(text.utf8)) }

    func send(_ json: JSON) { send(text: json.text) }

    /// Sends a payload for the characteristic that was written last.
    func write(_ link: Int, _ payload: [UInt8]) { sendFrame(2, [1, UInt8(link >> 8), UInt8(link & 0xFF)] + payload) }

    /// Stops to read what arrives, or goes on.
    func setReading(_ isReading: Bool) async {
        let outcome = Outcome<Void>()
        loop.perform { [self] in
            if isReading { socket.resume() } else { socket.pause() }
            outcome.deliver(.success(()))
        }
        try? await outcome.wait()
    }

    /// Closes the connection without a word.
    func close() { loop.perform { [socket] in socket.close() } }

    // MARK: Commands

    /// Sends a command, and returns its number.
    @discardableResult func begin(_ name: String, _ arguments: [String: JSON] = [:]) -> Int {
        let id = state.change { state in
            state.lastID += 1
            return state.lastID
        }
        send(.object(["id": .int(id), "command": .string(name), "args": .object(arguments)]))
        return id
    }

    /// Returns the answer to a command: its result, or its error's code under `error`.
    func answer(_ id: Int) async throws -> [String: JSON] {
        try await state.until { Self.answer(id, $0) != nil }
        return Self.answer(id, state.value) ?? [:]
    }

    private static func answer(_ id: Int, _ state: State) -> [String: JSON]? {
        for case .text(.object(let object)) in state.received where object["id"] == .int(id) {
            if object["success"] == true, case .object(let result)? = object["result"] { return result }
            return ["error": object["error"] ?? .null]
        }
        return nil
    }

    func hasAnswer(_ id: Int) -> Bool { Self.answer(id, state.value) != nil }

    func command(_ name: String, _ arguments: [String: JSON] = [:]) async throws -> [String: JSON] {
        try await answer(begin(name, arguments))
    }

    /// Returns what events of a name have told so far.
    func events(_ name: String) -> [[String: JSON]] { Self.events(name, state.value) }

    static func events(_ name: String, _ state: State) -> [[String: JSON]] {
        state.received.compactMap { frame in
            guard case .text(.object(let object)) = frame, object["event"] == .string(name),
                case .object(let data)? = object["data"]
            else { return nil }
            return data
        }
    }

    func until(_ holds: @escaping @Sendable (State) -> Bool) async throws { try await state.until(holds) }

    /// Waits until a device is told.
    func found(_ device: Peripheral.ID) async throws -> [String: JSON] {
        func matches(_ state: State) -> [String: JSON]? {
            Self.events("device_discovered", state).first { $0["address"] == .string(device.rawValue) }
        }
        try await until { state in
            Self.events("device_discovered", state).contains { $0["address"] == .string(device.rawValue) }
        }
        return matches(state.value) ?? [:]
    }

    /// The notifications of a link so far.
    static func notifications(_ link: Int, _ state: State) -> [[UInt8]] {
        state.received.compactMap { frame in
            guard case .binary(let bytes) = frame, bytes.starts(with: [2, UInt8(link >> 8), UInt8(link & 0xFF)]) else {
                return nil
            }
            return Array(bytes.dropFirst(3))
        }
    }
}
