import BLE
import BLETestSupport
import Testing

@Suite struct ValueReaderTests {
    @Test func `fields are read in order and little-endian`() throws {
        var reader = ValueReader([0x01, 0x34, 0x12, 0xAA, 0xBB, 0xCC, 0x01, 0x02, 0x03, 0x04, 0x05])
        #expect(try reader.uint8() == 0x01)
        #expect(try reader.uint16() == 0x1234)
        #expect(try Array(reader.take(3)) == [0xAA, 0xBB, 0xCC])
        #expect(reader.remaining == 5)
        #expect(try reader.unsigned(5) == 0x05_0403_0201)
        #expect(reader.remaining == 0)
    }

    @Test func `the widest integer keeps all its bits`() throws {
        var reader = ValueReader([0xEF, 0xCD, 0xAB, 0x89, 0x67, 0x45, 0x23, 0xF1])
        #expect(try reader.unsigned(8) == 0xF123_4567_89AB_CDEF)
    }

    @Test func `nothing can be taken from anywhere`() throws {
        var reader = ValueReader([])
        #expect(try reader.take(0).isEmpty)
        #expect(try reader.unsigned(0) == 0)
    }

    @Test(arguments: [([], 1), ([1], 2), ([1, 2, 3], 4), ([1], -1), ([1], .max), ([1], .min)] as [([UInt8], Int)])
    func `taking what is not there throws and takes nothing`(_ bytes: [UInt8], _ count: Int) async {
        var reader = ValueReader(bytes)
        let error = await expectError(.invalidValue) { try reader.take(count) }
        #expect(error?.isRetryable == false)
        #expect(reader.remaining == bytes.count)
    }

    @Test func `an integer that ends early throws`() async throws {
        var reader = ValueReader([0x01, 0x02])
        _ = try reader.uint8()
        await expectError(.invalidValue) { try reader.uint16() }
        #expect(try reader.uint8() == 0x02)
        await expectError(.invalidValue) { try reader.uint8() }
    }
}
