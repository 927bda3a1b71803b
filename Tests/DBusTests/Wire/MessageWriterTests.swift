import BLETestSupport
import Testing

@testable import DBus

/// Written messages, read by GDBus and by the reader of the same module.
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

    /// A bus disconnects the sender of one of these.
    @Test(arguments: [
        DBusValue.string("a\u{0}b"), .objectPath("a"), .objectPath("/a/"), .signature("a"), .signature("{sv}"),
        .signature("a{vs}"), .signature("()"), .signature("(s"), .signature("z"), .structure([]),
        .signature(String(repeating: "s", count: 256)), .signature(String(repeating: "a", count: 33) + "s"),
        .signature(String(repeating: "(", count: 33) + "s" + String(repeating: ")", count: 33)), nested(33),
        .variant(nested(33)), .variant(.array(element: "", [])),
        .options(["a\u{0}": .byte(1)]), (0..<70).reduce(.byte(1)) { value, _ in .variant(value) },
    ])
    func `what no bus accepts is refused`(_ value: DBusValue) {
        let error = #expect(throws: DBusError.self) { try call([value]) }
        #expect(error?.kind == .malformed)
    }

    /// Arrays inside each other.
    private static func nested(_ count: Int) -> DBusValue {
        (1..<count).reduce(.array(element: "s", [])) { value, _ in .array(element: value.signature, [value]) }
    }

    @Test func `as many arrays inside each other as the specification allows are sent`() throws {
        let value = DBusValue.variant(Self.nested(32))
        #expect(GDBusMessage.body(try call([value])) == [value])
    }

    @Test(arguments: [
        ("", "a.b", "C", "d.e"), ("/org/freedesktop/DBus/Local", "a.b", "C", "d.e"), ("/", "ab", "C", "d.e"),
        ("/", "a..b", "C", "d.e"), ("/", "a.1b", "C", "d.e"), ("/", "org.freedesktop.DBus.Local", "C", "d.e"),
        ("/", "a.b", "", "d.e"), ("/", "a.b", "C D", "d.e"), ("/", "a.b", "C.D", "d.e"), ("/", "a.b", "1C", "d.e"),
        ("/", "a.b", "C", ""), ("/", "a.b", "C", "de"), ("/", "a.b", "C", ":"), ("/", "a.b", "C", ":1."),
        ("/", "a.b", "C", "d.é"), ("/", "a.b", String(repeating: "C", count: 256), "d.e"),
    ])
    func `names that no bus accepts are refused`(
        _ path: String, _ interface: String, _ member: String, _ destination: String
    ) {
        let error = #expect(throws: DBusError.self) {
            try OutgoingMessage.call(MethodCall(destination, path, interface, member), serial: 1)
        }
        #expect(error?.kind == .malformed)
    }

    @Test(arguments: ["org.bluez", ":1.5", "a-b.c", ":1.5-x.y"]) func `names of receivers are accepted`(_ name: String)
        throws
    {
        #expect(GDBusMessage.body(try OutgoingMessage.call(MethodCall(name, "/", "a_1.b2", "_C3"), serial: 1)) == [])
    }

    @Test func `an array beyond the specification's length is refused`() {
        let bytes = [UInt8](repeating: 0, count: (1 << 26) + 1)
        #expect(throws: DBusError.self) { try call([.bytes(bytes)]) }
    }
}
