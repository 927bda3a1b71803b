import BLE
import BLEProfiles
import BLETestSupport
import Testing

@Suite struct SystemIDTests {
    @Test(
        arguments: [
            // The EUI-64 that the address 00:12:34:56:78:9A is extended to.
            (
                [0x9A, 0x78, 0x56, 0xFE, 0xFF, 0x34, 0x12, 0x00],
                SystemID(manufacturer: 0xFF_FE56_789A, organization: 0x00_1234)
            ),
            ([1, 0, 0, 0, 0, 2, 0, 0], SystemID(manufacturer: 1, organization: 2)),
            ([0, 0, 0, 0, 1, 0, 0, 2], SystemID(manufacturer: 1 << 32, organization: 2 << 16)),
            (Array(repeating: 0xFF, count: 8), SystemID(manufacturer: 0xFF_FFFF_FFFF, organization: 0xFF_FFFF)),

        ] as [([UInt8], SystemID)])
    func `the low 40 bits are the manufacturer's, the high 24 name it`(_ bytes: [UInt8], _ id: SystemID) throws {
        #expect(try SystemID(bytes: bytes) == id)
        #expect(try id.encoded() == bytes)
    }

    @Test(arguments: [0, 1, 4, 5, 7, 9]) func `fewer or more than eight bytes are no System ID`(_ count: Int) async {
        await expectError(.invalidValue) { try SystemID(bytes: Array(repeating: 1, count: count)) }
    }
}
