internal import DBus

extension Dice {
    mutating func text() -> String {
        switch below(8) {
        case 0: ""
        case 1: String(repeating: "long ", count: below(400))
        case 2: String(decoding: bytes(atMost: 20), as: UTF8.self)
        case 3: pick(["/", "//", "/org", "/org/bluez/hci0/", "e\u{301}\u{301}", "🏳️‍🌈", "0x2a37", "dev_", ":::::"])
        default: pick(["Thing", "org.bluez", "le", "random", "public", "on", "Battery", "A", "notify"])
        }
    }

    /// A value of any type, including types that no property has.
    mutating func value(depth: Int = 0) -> DBusValue {
        switch below(depth > 3 ? 13 : 18) {
        case 0: .byte(byte())
        case 1: .boolean(permille(500))
        case 2: .int16(Int16(truncatingIfNeeded: number()))
        case 3: .uint16(UInt16(truncatingIfNeeded: number()))
        case 4: .int32(Int32(truncatingIfNeeded: number()))
        case 5: .uint32(UInt32(truncatingIfNeeded: number()))
        case 6: .int64(number())
        case 7: .uint64(UInt64(bitPattern: number()))
        case 8: .double(Double(bitPattern: UInt64(bitPattern: number())))
        case 9: .string(text())
        case 10: .objectPath(pick(["/", "/org/bluez", "/a/b_c/D1"]))
        case 11: .signature(pick(["", "s", "a{sv}", "((ii)ay)"]))
        case 12: .bytes(bytes(atMost: permille(20) ? 3000 : 30))
        case 13: .array(element: "s", (0..<below(4)).map { _ in .string(text()) })
        case 14: .options(["One": value(depth: depth + 1), "Two": value(depth: depth + 1)])
        case 15: .structure([value(depth: depth + 1), .byte(1)])
        case 16: .variant(value(depth: depth + 1))
        default: nested(below(80))
        }
    }

    /// Nested containers, now and then deeper than allowed.
    private mutating func nested(_ depth: Int) -> DBusValue {
        var value = DBusValue.byte(1)
        for _ in 0..<depth {
            switch below(3) {
            case 0: value = .variant(value)
            case 1: value = .structure([value])
            default:
                value = value.signature.utf8.count > 100 ? .variant(value) : .array(element: value.signature, [value])
            }
            if value.signature.utf8.count > 200 { value = .variant(value) }
        }
        return value
    }
}
