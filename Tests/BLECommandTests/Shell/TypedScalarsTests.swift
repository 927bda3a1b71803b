import Testing

@testable import BLECommand

@Suite struct TypedScalarsTests {
    @Test(
        arguments: [
            ([0x61, 0xC3, 0xBC, 0x62], "aüb"), ([0xF0, 0x9F, 0x98, 0x80], "😀"),
            // A byte of Latin-1, such as é, takes no key with it.
            ([0xE9, 0x0A], "\u{FFFD}\n"), ([0xC3, 0x03], "\u{FFFD}\u{3}"), ([0xE9, 0xC3, 0xBC], "\u{FFFD}ü"),
            ([0xF0, 0x9F, 0x0A], "\u{FFFD}\n"), ([0x80, 0x61], "\u{FFFD}a"), ([0xFF, 0x61], "\u{FFFD}a"),
            ([0xC0, 0x0A], "\u{FFFD}\n"), ([0xE9], ""),
        ] as [([UInt8], String)])
    func `a byte that begins a character takes only bytes that continue it`(_ bytes: [UInt8], _ text: String) {
        var typed = TypedScalars()
        for byte in bytes { typed.append(byte) }
        var scalars = String.UnicodeScalarView()
        while let scalar = typed.next() { scalars.append(scalar) }
        #expect(String(scalars) == text)
    }
}
