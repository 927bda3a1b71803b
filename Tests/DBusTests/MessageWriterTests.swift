import BLETestSupport
import Testing

@testable import DBus

/// What is written, as GDBus and the reader of the same module read it.
struct MessageWriterTests {
    private func body(_ bytes: [UInt8]) throws -> [DBusValue] {
        var values: [DBusValue] = []
        var buffer = ReceiveBuffer()
        buffer.fill(bytes)
        var reader = try #require(try buffer.nextMessage()).body
        while !reader.isAtEnd { values.append(try reader.value()) }
        return values
    }

    private func call(_ arguments: [DBusValue]) throws -> [UInt8] {
        try OutgoingMessage.call(MethodCall("a.b", "/c/d", "e.f", "Method", arguments), serial: 7)
    }

    @Test(arguments: 0..<200) func `GDBus reads what is written, as it was meant`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let arguments = (0..<4).map { _ in DBusValue.random(depth: 4, &random) }
        let bytes = try call(arguments)
        #expect(GDBusMessage.body(bytes) == arguments)
        #expect(try body(bytes) == arguments)
    }

    @Test(arguments: [0, 1, 2, 3, 4, 5, 20, 512])
    func `a changed property of bytes is a PropertiesChanged`(_ count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        for property in ["Value", "V", "Va", "Val"] {
            let template = try BytesChangedMessage(path: "/a/b", interface: "org.example.Thing", property: property)
            let message = template.message(bytes, serial: 9)
            let expected: [DBusValue] = [
                .string("org.example.Thing"), .options([property: .bytes(bytes)]), .array(element: "s", []),
            ]
            #expect(GDBusMessage.body(message) == expected)
            #expect(try body(message) == expected)
            var buffer = ReceiveBuffer()
            buffer.fill(message)
            let read = try #require(try buffer.nextMessage())
            #expect(read.kind == .signal)
            #expect(read.serial == 9)
            #expect(read.path == "/a/b")
            #expect(read.interface == "org.freedesktop.DBus.Properties")
            #expect(read.member == "PropertiesChanged")
        }
    }

    /// A bus disconnects whoever sends one of these.
    @Test(arguments: [
        DBusValue.string("a\u{0}b"), .objectPath("a"), .objectPath("/a/"), .signature("a"), .signature("{sv}"),
        .signature("a{vs}"), .signature("()"), .signature("(s"), .signature("z"), .structure([]),
        .signature(String(repeating: "s", count: 256)), .signature(String(repeating: "a", count: 70) + "s"),
        .options(["a\u{0}": .byte(1)]), (0..<70).reduce(.byte(1)) { value, _ in .variant(value) },
    ])
    func `what no bus accepts is refused`(_ value: DBusValue) {
        let error = #expect(throws: DBusError.self) { try call([value]) }
        #expect(error?.kind == .malformed)
    }

    @Test func `an array beyond the specification's length is refused`() {
        let bytes = [UInt8](repeating: 0, count: (1 << 26) + 1)
        #expect(throws: DBusError.self) { try call([.bytes(bytes)]) }
    }
}
