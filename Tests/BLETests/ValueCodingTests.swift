import BLE
import BLETestSupport
import Testing

@Suite struct ValueCodingTests {
    @Test func `raw bytes stay as they are`() throws {
        #expect(try ValueCoding<[UInt8]>.bytes.decode([1, 2]) == [1, 2])
        #expect(try ValueCoding<[UInt8]>.bytes.encode([3]) == [3])
    }

    @Test func `a byte ignores what follows it`() async throws {
        #expect(try ValueCoding<UInt8>.uint8.decode([7]) == 7)
        #expect(try ValueCoding<UInt8>.uint8.decode([7, 8, 9]) == 7)
        #expect(try ValueCoding<UInt8>.uint8.encode(9) == [9])
        await expectError(.invalidValue) { try ValueCoding<UInt8>.uint8.decode([]) }
    }

    @Test(
        arguments: [
            ([], ""), ([0x41, 0x62], "Ab"), ([0xC3, 0xA9], "é"), ([0x41, 0x00, 0x42], "A"), ([0x00], ""),
            ([0x41, 0xFF, 0x42], "A\u{FFFD}B"),
        ] as [([UInt8], String)])
    func `text ends at the first NUL and never fails`(_ bytes: [UInt8], _ text: String) throws {
        #expect(try ValueCoding<String>.utf8.decode(bytes) == text)
    }

    @Test func `text is written as UTF-8`() throws {
        #expect(try ValueCoding<String>.utf8.encode("Aé") == [0x41, 0xC3, 0xA9])
    }

    @Test func `what is only received cannot be written`() async throws {
        let coding = ValueCoding<Int>(receiveOnly: { $0.count })
        #expect(try coding.decode([1, 2, 3]) == 3)
        await expectError(.notSupported) { try coding.encode(1) }
    }
}
