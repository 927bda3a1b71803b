import BLE
import BLEProfiles
import BLETestSupport
import Testing

@Suite struct PnPIDTests {
    @Test(
        arguments: [
            (
                [0x01, 0x59, 0x00, 0x34, 0x12, 0x13, 0x02],
                PnPID(source: 1, vendor: 0x59, product: 0x1234, version: 0x213)
            ),
            ([0x02, 0x34, 0x12, 0x01, 0x00, 0x00, 0x01], PnPID(source: 2, vendor: 0x1234, product: 1, version: 0x100)),
            (
                Array(repeating: 0xFF, count: 7),
                PnPID(source: 0xFF, vendor: 0xFFFF, product: 0xFFFF, version: 0xFFFF)
            ),
        ] as [([UInt8], PnPID)])
    func `a source and three little-endian numbers`(_ bytes: [UInt8], _ id: PnPID) throws {
        #expect(try PnPID(bytes: bytes) == id)
        #expect(try id.encoded() == bytes)
    }

    @Test(arguments: [0, 1, 2, 3, 4, 5, 6, 8]) func `fewer or more than seven bytes are no PnP ID`(_ count: Int) async {
        await expectError(.invalidValue) { try PnPID(bytes: Array(repeating: 1, count: count)) }
    }
}
