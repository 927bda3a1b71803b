internal import BLE
import Testing

@testable import BLEFirmware

@Suite struct DFUSenderTests {
    private static let bytes = Array(UInt8(0)..<100)

    private static func state(_ offset: Int, isSame: Bool = true) -> DFUObjectState {
        let checksum = CRC32.checksum(bytes[..<min(offset, 100)])
        return DFUObjectState(offset: offset, checksum: isSame ? checksum : ~checksum)
    }

    @Test(arguments: [
        (state(0), DFUSender.Start.create), (state(1), .resume(at: 1)), (state(39), .resume(at: 39)),
        (state(40), .execute(endingAt: 40)), (state(41), .resume(at: 41)), (state(80), .execute(endingAt: 80)),
        (state(100), .execute(endingAt: 100)), (state(101), .startOver), (state(.max), .startOver),
        (state(1, isSame: false), .startOver), (state(40, isSame: false), .startOver),
        (state(41, isSame: false), .startOver), (state(100, isSame: false), .startOver),
    ]) func `a transfer goes on where the device is`(_ state: DFUObjectState, _ start: DFUSender.Start) {
        #expect(DFUSender(Self.bytes, objectSize: 40).start(state) == start)
    }

    @Test func `a checksum can be continued`() {
        // zlib.crc32(b"123456789"), the usual check value.
        let bytes = Array("123456789".utf8)
        #expect(CRC32.checksum(bytes[...]) == 0xCBF4_3926)
        for count in 0...9 {
            #expect(CRC32.checksum(bytes[count...], after: CRC32.checksum(bytes[..<count])) == 0xCBF4_3926)
        }
    }
}
