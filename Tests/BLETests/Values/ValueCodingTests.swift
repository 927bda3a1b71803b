import BLE
import BLETestSupport
import Testing

@Suite struct ValueCodingTests {
    @Test func `bytes are themselves`() throws {
        #expect(try ValueCoding<[UInt8]>.bytes.decode([1, 2]) == [1, 2])
        #expect(try ValueCoding<[UInt8]>.bytes.encode([3]) == [3])
    }

    @Test func `a type that spells itself is coded as it says`() async throws {
        let coding = ValueCoding<UInt16>.codable
        #expect(try coding.decode([0x34, 0x12]) == 0x1234)
        #expect(try coding.encode(0x1234) == [0x34, 0x12])
        await expectError(.invalidValue) { try coding.decode([0x34]) }
        await expectError(.invalidValue) { try coding.decode([0x34, 0x12, 0x00]) }
    }

    @Test func `what is only received cannot be encoded`() async throws {
        let coding = ValueCoding<Int>(receiveOnly: { $0.count })
        #expect(try coding.decode([1, 2, 3]) == 3)
        await expectError(.notSupported) { try coding.encode(3) }
    }
}
