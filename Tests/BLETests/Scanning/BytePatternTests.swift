import BLE
import Testing

@Suite struct BytePatternTests {
    @Test(
        arguments: [
            ([], nil, [], true), ([], nil, [1], true), ([1], nil, [1, 2], true), ([1, 2], nil, [1, 3], false),
            // absent bytes of the data are 0
            ([1, 0], nil, [1], true), ([1, 2], nil, [1], false), ([0], nil, [], true),
            // masks
            ([0x10], [0xF0], [0x1F], true), ([0x10], [0xF0], [0x20], false), ([0x1F], [0xF0], [0x10], true),
            // absent bytes of the pattern are 0, and where the mask has none nothing counts
            ([], [0xFF], [0], true), ([], [0xFF], [1], false), ([1, 2], [0xFF], [1, 9], true), ([1], [], [9], true),
            ([1], [0xFF, 0x80], [1, 0x7F], true), ([1], [0xFF, 0x80], [1, 0x80], false),
        ] as [([UInt8], [UInt8]?, [UInt8], Bool)])
    func `data begins as the pattern says`(_ bytes: [UInt8], _ mask: [UInt8]?, _ data: [UInt8], _ matches: Bool) {
        #expect(BytePattern(bytes, mask: mask).matches(data) == matches)
    }
}
