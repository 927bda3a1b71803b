import BLETestSupport
import Testing

@testable import DBus

extension DBusValue {
    /// Any value, with at most `depth` containers inside each other.
    static func random(depth: Int, _ random: inout SeededGenerator) -> DBusValue {
        switch Int.random(in: 0..<(depth > 0 ? 17 : 12), using: &random) {
        case 0: return .byte(.random(in: .min ... .max, using: &random))
        case 1: return .boolean(.random(using: &random))
        case 2: return .int16(.random(in: .min ... .max, using: &random))
        case 3: return .uint16(.random(in: .min ... .max, using: &random))
        case 4: return .int32(.random(in: .min ... .max, using: &random))
        case 5: return .uint32(.random(in: .min ... .max, using: &random))
        case 6: return .int64(.random(in: .min ... .max, using: &random))
        case 7: return .uint64(.random(in: .min ... .max, using: &random))
        case 8: return .double(.random(in: -1e9...1e9, using: &random))
        case 9: return .string(String(repeating: "é", count: .random(in: 0..<9, using: &random)))
        case 10: return .objectPath("/a/b\(UInt8.random(in: .min ... .max, using: &random))")
        case 11: return .signature("a{sv}")
        case 12:
            return .bytes((0..<Int.random(in: 0..<20, using: &random)).map { UInt8($0) })
        case 13:
            let like = DBusValue.random(depth: depth - 1, &random)
            let count = Int.random(in: 0..<4, using: &random)
            // An array of bytes has a case of its own.
            return like.signature == "y"
                ? .bytes([]) : .array(element: like.signature, .init(repeating: like, count: count))
        case 14:
            let value = DBusValue.random(depth: depth - 1, &random)
            let keys = (0..<UInt16.random(in: 0..<4, using: &random)).map { DBusValue.uint16($0) }
            return .dictionary(
                key: "q", value: value.signature, Dictionary(uniqueKeysWithValues: keys.map { ($0, value) }))
        case 15:
            return .structure(
                (0...Int.random(in: 0..<3, using: &random)).map { _ in .random(depth: depth - 1, &random) })
        default:
            return .variant(.random(depth: depth - 1, &random))
        }
    }
}

extension ReceiveBuffer {
    /// Puts bytes in as a socket would.
    mutating func fill(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        var start = 0
        while start < bytes.count {
            let space = space()
            let count = min(space.count, bytes.count - start)
            space.copyBytes(from: bytes[start..<start + count])
            received(count)
            start += count
        }
    }
}

private func message(_ arguments: [DBusValue], serial: UInt32 = 1) throws -> [UInt8] {
    try GDBusMessage.call(arguments, serial: serial)
}

/// The body of a message, value by value. Walks over it twice: skipping and reading must agree.
private func read(_ message: IncomingMessage) throws -> [DBusValue] {
    var values: [DBusValue] = []
    var (reader, skipping) = (message.body, message.body)
    while !reader.isAtEnd {
        values.append(try reader.value())
        skipping.skip()
        try #require(skipping.offset == reader.offset || skipping.isAtEnd)
    }
    return values
}

struct MessageReaderTests {
    @Test(arguments: ["relat", "/a//b", "/a/b/", "/a/b-", "//abc", "/a\u{0}/b", "/a/é"])
    func `an invalid path is not read`(_ path: String) throws {
        let right = Array("/a/bc".utf8)
        var bytes = try message([.objectPath("/a/bc")])
        let place = try #require(bytes.indices.last { bytes[$0...].starts(with: right) })
        bytes.replaceSubrange(place..<place + right.count, with: path.utf8)
        var buffer = ReceiveBuffer()
        buffer.fill(bytes)
        var body = try #require(try buffer.nextMessage()).body
        let error = #expect(throws: DBusError.self) { try body.objectPath() }
        #expect(error?.kind == .malformed)
    }

    @Test(arguments: 0..<200) func `what GDBus writes is read as it was meant`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let arguments = (0..<4).map { _ in DBusValue.random(depth: 4, &random) }
        var buffer = ReceiveBuffer()
        buffer.fill(try message(arguments, serial: UInt32(seed) + 1))
        let received = try #require(try buffer.nextMessage())
        #expect(received.kind == .call)
        #expect(received.serial == UInt32(seed) + 1)
        #expect(received.path == "/c/d")
        #expect(received.interface == "e.f")
        #expect(received.member == "Method")
        #expect(!(received.member == "Metho"))
        #expect(!(received.member == "Methods"))
        #expect(try read(received) == arguments)
        #expect(try buffer.nextMessage() == nil)
    }

    @Test func `the other byte order is read too`() throws {
        // A signal from a big-endian sender: "Hi", with one int16 of -2 and one string, written by hand.
        var bytes: [UInt8] = [UInt8(ascii: "B"), 4, 0, 1, 0, 0, 0, 12, 0, 0, 0, 9, 0, 0, 0, 0]
        func field(_ code: UInt8, _ type: Unicode.Scalar, _ text: String) {
            while bytes.count % 8 != 0 { bytes.append(0) }
            bytes += [code, 1, UInt8(ascii: type), 0]
            if type == "g" { bytes.append(UInt8(text.utf8.count)) } else { bytes += [0, 0, 0, UInt8(text.utf8.count)] }
            bytes += text.utf8 + [0]
        }
        field(1, "o", "/a")
        field(2, "s", "b.c")
        field(3, "s", "Hi")
        field(8, "g", "ns")
        bytes[15] = UInt8(bytes.count - 16)
        while bytes.count % 8 != 0 { bytes.append(0) }
        bytes += [0xFF, 0xFE, 0, 0, 0, 0, 0, 3] + "yes".utf8 + [0]
        var buffer = ReceiveBuffer()
        buffer.fill(bytes)
        let received = try #require(try buffer.nextMessage())
        #expect(received.member == "Hi")
        #expect(try read(received) == [.int16(-2), .string("yes")])
    }

    @Test func `the room of a long message is given back`() throws {
        var buffer = ReceiveBuffer()
        let size = buffer.size
        let text = DBusValue.string(String(repeating: "a", count: 1_000_000))
        buffer.fill(try message([text]) + message([.int16(1)]))
        #expect(buffer.size > 1_000_000)
        #expect(try read(#require(try buffer.nextMessage())) == [text])
        // What follows is still in the buffer.
        buffer.shrink()
        #expect(try read(#require(try buffer.nextMessage())) == [.int16(1)])
        buffer.shrink()
        #expect(buffer.size == size)
        buffer.fill(try message([.int16(2)]))
        #expect(try read(#require(try buffer.nextMessage())) == [.int16(2)])
    }

    @Test func `messages arrive in any pieces`() throws {
        var random = SeededGenerator(seed: 7)
        var sent: [[DBusValue]] = []
        var stream: [UInt8] = []
        for serial in 1...200 {
            // Some are longer than one reading.
            let arguments: [DBusValue] =
                serial % 50 == 0 ? [.bytes(.init(repeating: 3, count: 200_000))] : [.random(depth: 3, &random)]
            sent.append(arguments)
            stream += try message(arguments, serial: UInt32(serial))
        }
        var buffer = ReceiveBuffer()
        var received: [[DBusValue]] = []
        var rest = stream[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...3000, using: &random))
            rest = rest.dropFirst(piece.count)
            buffer.fill(piece)
            while let message = try buffer.nextMessage() { received.append(try read(message)) }
        }
        #expect(received == sent)
    }

    /// Any bytes are read or refused; nothing outside of the message is touched (the address sanitizer checks that).
    @Test(arguments: 0..<50) func `damaged messages are refused`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let whole = try message((0..<3).map { _ in .random(depth: 4, &random) })
        for _ in 0..<200 {
            var damaged = whole
            for _ in 0...Int.random(in: 0..<4, using: &random) {
                damaged[damaged.indices.randomElement(using: &random)!] = [0, 1, 255, 128].randomElement(
                    using: &random)!
            }
            damaged.removeLast(Int.random(in: 0..<2, using: &random) * Int.random(in: 0..<20, using: &random))
            var buffer = ReceiveBuffer()
            buffer.fill(damaged)
            do {
                while let message = try buffer.nextMessage() { _ = try read(message) }
            } catch let error as DBusError {
                #expect(error.kind == .malformed)
            }
        }
    }

    @Test func `variants without end are refused`() throws {
        // Each is the signature "v" alone; the innermost is missing.
        let depth = 100_000
        var bytes: [UInt8] = [UInt8(ascii: "l"), 4, 0, 1]
        func append(_ number: Int) { withUnsafeBytes(of: UInt32(number).littleEndian) { bytes += $0 } }
        append(depth * 3)
        append(1)
        append(7)
        bytes += [8, 1, UInt8(ascii: "g"), 0, 1, UInt8(ascii: "v"), 0, 0]
        for _ in 0..<depth { bytes += [1, UInt8(ascii: "v"), 0] }
        var buffer = ReceiveBuffer()
        buffer.fill(bytes)
        let received = try #require(try buffer.nextMessage())
        #expect(throws: DBusError.self) { try read(received) }
    }

    @Test func `an array of structures without members is refused`() throws {
        var bytes = try message([.array(element: "(y)", [.structure([.byte(1)])])])
        let type = try #require(bytes.firstRange(of: "a(y)".utf8))
        bytes.replaceSubrange(type, with: Array("a()y".utf8))
        var buffer = ReceiveBuffer()
        buffer.fill(bytes)
        let received = try #require(try buffer.nextMessage())
        #expect(throws: DBusError.self) { try read(received) }
    }

    @Test func `a length beyond the specification's is refused before it is waited for`() throws {
        var bytes = try message([.string("x")])
        bytes[7] = 0x7F
        var buffer = ReceiveBuffer()
        buffer.fill(bytes)
        #expect(throws: DBusError.self) { try buffer.nextMessage() }
    }
}
