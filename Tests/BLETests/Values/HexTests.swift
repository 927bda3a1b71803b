import BLE
import Testing

@Suite struct HexTests {
    @Test(
        arguments: [
            ([], ""), ([0], "00"), ([0x0A, 0xF9], "0af9"), ([0xFF, 0x10, 0x9A], "ff109a"),
        ] as [([UInt8], String)])
    func `bytes are spelled with two lowercase digits each`(_ bytes: [UInt8], _ text: String) {
        #expect(Hex.string(bytes) == text)
        #expect(Hex.string(bytes[...]) == text)
    }

    @Test func `every byte survives the way there and back`() {
        let all = Array(UInt8.min...UInt8.max)
        #expect(Hex.bytes(Hex.string(all)) == all)
        #expect(Hex.bytes(Hex.string(all).uppercased()) == all)
    }

    @Test(arguments: [
        "0af91c", "0AF91C", "0aF91c", "0x0af91c", "0X0AF91C", "0a f9 1c", "0a:f9:1c", "0A-F9-1C", "0a:f9 1c",
    ])
    func `separators, case and prefix do not matter`(_ text: String) {
        #expect(Hex.bytes(text) == [0x0A, 0xF9, 0x1C])
    }

    @Test(arguments: ["", "0x"]) func `an empty text is no bytes`(_ text: String) {
        #expect(Hex.bytes(text) == [])
    }

    @Test(arguments: [
        "0", "abc", "0g", "g0", "a b", "0:a", "0-a", "0a,f9", "0a_f9", "+a", "0x0x0a", "0a0x", "０Ａ", "é", "0a\n", "0\0",
        "x0a", "0a\u{301}",
    ])
    func `a text that spells no bytes gives nil`(_ text: String) {
        #expect(Hex.bytes(text) == nil)
    }
}
