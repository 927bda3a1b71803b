import Testing

@testable import BLEProxy

/// The client's side of a WebSocket, without a socket.
struct WebSocketChannelTests {
    /// A channel that is open, and that has sent what asks for it.
    private func open() throws -> WebSocketChannel {
        var channel = WebSocketChannel(authority: "hub:5580", path: "/ble")
        let request = String(decoding: channel.takeOutput(), as: UTF8.self)
        let key = request.firstMatch(of: /Sec-WebSocket-Key: ([A-Za-z0-9+\/=]+)/)?.1 ?? ""
        channel.append(Array(Self.answer(accept: WebSocketHandshake.accept(String(key))).utf8)[...])
        #expect(try channel.next() == .opened)
        return channel
    }

    private static func answer(
        _ status: String = "101 Switching Protocols", upgrade: String = "websocket",
        connection: String = "keep-alive, Upgrade", accept: String, more: String = ""
    ) -> String {
        "HTTP/1.1 \(status)\r\nupgrade: \(upgrade)\r\nConnection:  \(connection) \r\nSec-WebSocket-Accept: \(accept)\r\n"
            + more + "\r\n"
    }

    private func receive(_ bytes: [UInt8], _ channel: inout WebSocketChannel) throws -> [WebSocketChannel.Event] {
        var events: [WebSocketChannel.Event] = []
        channel.append(bytes[...])
        while let event = try channel.next() { events.append(event) }
        return events
    }

    /// Reads a frame of the client, without its mask.
    private func unmask(_ bytes: [UInt8]) throws -> [UInt8] {
        try #require(bytes.count >= 6 && bytes[1] & 0x80 != 0 && bytes[1] & 0x7F < 126)
        return [bytes[0]] + bytes[6...].enumerated().map { $1 ^ bytes[2 + $0 & 3] }
    }

    @Test func `the answer to a key is that of RFC 6455, section 1.3`() {
        #expect(WebSocketHandshake.accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        let handshake = WebSocketHandshake(
            authority: "hub:5580", path: "/ble?a=b", nonce: Array("the sample nonce".utf8))
        let request = String(decoding: handshake.request, as: UTF8.self)
        #expect(request.hasPrefix("GET /ble?a=b HTTP/1.1\r\nHost: hub:5580\r\n"))
        #expect(request.contains("\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"))
        #expect(request.hasSuffix("\r\n\r\n"))
    }

    @Test(
        arguments: [
            ("HTTP/1.1 404 Not Found\r\n\r\n", WebSocketError.status(404)),
            ("HTTP/1.1 200 OK\r\n\r\n", .status(200)),
            ("220 mail ESMTP\r\n\r\n", .badAnswer("its answer is not HTTP")),
            ("HTTP/1.1 101\r\n\r\n", .badAnswer("it does not change the protocol")),
            ("HTTP/1.1 101 x\r\nnonsense\r\n\r\n", .badAnswer("a line of its answer is no header")),
            (WebSocketChannelTests.answer(upgrade: "h2c", accept: ""), .badAnswer("it does not change the protocol")),
            (
                WebSocketChannelTests.answer(connection: "close", accept: ""),
                .badAnswer("it does not change the protocol")
            ),
            (
                WebSocketChannelTests.answer(accept: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
                .badAnswer("it has not read the key")
            ),
            (String(repeating: "a", count: 20_000), .badAnswer("its answer is too long")),
        ] as [(String, WebSocketError)])
    func `an answer of another server is refused`(_ answer: String, _ error: WebSocketError) throws {
        var channel = WebSocketChannel(authority: "hub", path: "/ble")
        channel.append(Array(answer.utf8)[...])
        #expect(throws: error) { while try channel.next() != nil {} }
        #expect(!channel.isOpen)
    }

    @Test func `an extension that was not offered is refused`() throws {
        var channel = WebSocketChannel(authority: "hub", path: "/ble")
        let request = String(decoding: channel.takeOutput(), as: UTF8.self)
        let key = String(request.firstMatch(of: /Sec-WebSocket-Key: ([A-Za-z0-9+\/=]+)/)?.1 ?? "")
        let more = "Sec-WebSocket-Extensions: permessage-deflate\r\n"
        channel.append(Array(Self.answer(accept: WebSocketHandshake.accept(key), more: more).utf8)[...])
        #expect(throws: WebSocketError.badAnswer("it has chosen what was not offered")) { try channel.next() }
    }

    @Test func `an answer and messages arrive byte by byte`() throws {
        var channel = WebSocketChannel(authority: "hub:5580", path: "/ble")
        let request = String(decoding: channel.takeOutput(), as: UTF8.self)
        let key = String(request.firstMatch(of: /Sec-WebSocket-Key: ([A-Za-z0-9+\/=]+)/)?.1 ?? "")
        var bytes = Array(Self.answer(accept: WebSocketHandshake.accept(key)).utf8)
        bytes += RawMatterServer.encode(1, Array("hello".utf8)) + RawMatterServer.encode(2, [1, 2])
        let events = try bytes.flatMap { try receive([$0], &channel) }
        #expect(events == [.opened, .text(Array("hello".utf8)), .binary([1, 2])])
    }

    @Test(arguments: [0, 125, 126, 127, 65_535, 65_536]) func `messages have any length up to the limit`(
        _ length: Int
    ) throws {
        var channel = try open()
        let payload = [UInt8](repeating: 7, count: length)
        #expect(try receive(RawMatterServer.encode(2, payload), &channel) == [.binary(payload)])
    }

    @Test func `fragments are put together, with control frames among them`() throws {
        var channel = try open()
        let bytes =
            RawMatterServer.encode(1, Array("he".utf8), isFinal: false) + RawMatterServer.encode(9, [1, 2])
            + RawMatterServer.encode(0, Array("ll".utf8), isFinal: false) + RawMatterServer.encode(0, Array("o".utf8))
        #expect(try receive(bytes, &channel) == [.text(Array("hello".utf8))])
        #expect(try unmask(channel.takeOutput()) == [0x8A, 1, 2])
    }

    @Test func `the end is confirmed, and nothing follows`() throws {
        var channel = try open()
        let bytes = RawMatterServer.encode(8, [0x0F, 0xA3] + Array("bye".utf8)) + RawMatterServer.encode(1, [0x7B])
        #expect(try receive(bytes, &channel) == [.closed(code: 4003, reason: "bye")])
        #expect(try unmask(channel.takeOutput()) == [0x88, 0x0F, 0xA3])
        channel.send(text: [1])
        #expect(channel.takeOutput() == [])
        #expect(try receive(RawMatterServer.encode(1, [0x7B]), &channel) == [])
    }

    @Test(arguments: [5, 126, 65_535, 65_536]) func `what is sent is masked`(_ length: Int) throws {
        var channel = try open()
        let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
        channel.send(binary: payload)
        let bytes = channel.takeOutput()
        #expect(bytes[0] == 0x82)
        #expect(bytes[1] & 0x80 != 0)
        let header = length < 126 ? 2 : length < 65_536 ? 4 : 10
        if header == 4 { #expect(Int(bytes[2]) << 8 | Int(bytes[3]) == length) }
        if header == 10 { #expect(bytes[2..<10] == [0, 0, 0, 0, 0, 1, 0, 0]) }
        let mask = bytes[header..<header + 4]
        #expect(bytes[(header + 4)...].enumerated().map { $1 ^ mask[header + $0 & 3] } == payload)
    }

    @Test(
        arguments: [
            ([0x81, 0x80, 0, 0, 0, 0], WebSocketError.violation("a frame of a server is masked")),
            ([0xC1, 0], .violation("a frame has an extension")),
            ([0x83, 0], .violation("a frame has an unknown opcode")),
            ([0x80, 0], .violation("a message goes on that has not begun")),
            ([0x01, 0, 0x01, 0], .violation("a message begins within another")),
            ([0x09, 0], .violation("a control frame is fragmented or too long")),
            ([0x89, 126, 0, 126], .violation("a control frame is fragmented or too long")),
            ([0x88, 1, 3], .violation("the end has half a code")),
            ([0x82, 127, 0, 0, 0, 0, 0, 1, 0, 1], .tooLong),
            ([0x82, 127, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .tooLong),
        ] as [([UInt8], WebSocketError)])
    func `a frame that is not allowed is refused`(_ bytes: [UInt8], _ error: WebSocketError) throws {
        var channel = try open()
        #expect(throws: error) { try receive(bytes, &channel) }
    }

    @Test func `fragments are too long together, before they are there`() throws {
        var channel = try open()
        let half = [UInt8](repeating: 0, count: 40_000)
        #expect(try receive(RawMatterServer.encode(2, half, isFinal: false), &channel) == [])
        let header = Array(RawMatterServer.encode(0, half).prefix(4))
        #expect(throws: WebSocketError.tooLong) { try receive(header, &channel) }
    }

    private struct Seeded: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    /// Returns what a channel makes of bytes, in pieces, and the error at its end.
    private func outcome(_ pieces: [ArraySlice<UInt8>]) throws -> ([WebSocketChannel.Event], WebSocketError?) {
        var (channel, events) = (try open(), [WebSocketChannel.Event]())
        for piece in pieces {
            channel.append(piece)
            do throws(WebSocketError) {
                while let event = try channel.next() { events.append(event) }
            } catch {
                return (events, error)
            }
        }
        return (events, nil)
    }

    @Test func `damaged frames mean the same, however they are split`() throws {
        var random = Seeded(state: 7)
        for _ in 0..<2000 {
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                let opcode: UInt8 = [0, 1, 2, 8, 9, 10].randomElement(using: &random) ?? 0
                let payload = [UInt8](repeating: 3, count: Int.random(in: 0...130, using: &random))
                bytes += RawMatterServer.encode(opcode, payload, isFinal: Bool.random(using: &random))
            }
            if Bool.random(using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let whole = try outcome([bytes[...]])
            let single = try outcome(bytes.indices.map { bytes[$0...$0] })
            #expect(whole.0 == single.0, "\(bytes)")
            #expect(whole.1 == single.1, "\(bytes)")
        }
    }
}
