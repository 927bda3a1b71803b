import BLETesting
import Testing

@testable import BLEESPHome

@Suite struct FieldTests {
    @Test(
        arguments: [
            (0, [0]), (127, [0x7F]), (128, [0x80, 1]), (300, [0xAC, 2]),
            (.max, [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
        ] as [(UInt64, [UInt8])])
    func `numbers have seven bits a byte`(_ number: UInt64, _ bytes: [UInt8]) throws {
        var written: [UInt8] = []
        FieldWriter.append(number, to: &written)
        #expect(written == bytes)
        let read = try #require(try FieldReader.number(in: (bytes + [9])[...]))
        #expect(read.number == number)
        #expect(read.count == bytes.count)
        #expect(try FieldReader.number(in: bytes.dropLast()) == nil)
    }

    @Test(
        arguments: [
            ([0x08], WireError.truncated), ([0x0A, 2, 1], .truncated), ([0x0D, 1, 2, 3], .truncated),
            ([0x09, 1, 2, 3, 4, 5, 6, 7], .truncated), ([0x0B], .invalidField), ([0x0C], .invalidField),
            ([0x00, 1], .invalidField), ([0x07], .invalidField),
            ([0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2], .numberTooLong),
            ([0x0A, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1], .truncated),
            ([255, 255, 255, 255, 255, 255, 255, 255, 255, 1], .invalidField),
        ] as [([UInt8], WireError)])
    func `malformed fields are refused`(_ bytes: [UInt8], _ error: WireError) {
        var reader = FieldReader(bytes[...])
        #expect(throws: error) { _ = try reader.next() }
    }

    @Test func `fixed numbers are read`() throws {
        var reader = FieldReader([0x0D, 1, 0, 0, 2, 0x11, 1, 2, 0, 0, 0, 0, 0, 0x80])
        #expect(try reader.next()?.value == .number(0x0200_0001))
        #expect(try reader.next()?.value == .number(0x8000_0000_0000_0201))
        #expect(try reader.next() == nil)
    }

    @Test(arguments: [0, 1, -1, 63, -64, Int32.max, Int32.min])
    func `signed numbers arrive in both encodings`(_ number: Int32) throws {
        var writer = FieldWriter()
        writer.write(signed: number, 1)
        writer.write(zigzag: number, 2)
        var (reader, found): (FieldReader, [Int: Int32]) = (FieldReader(writer.bytes[...]), [:])
        while let (field, value) = try reader.next() { found[field] = field == 1 ? value.signed : value.zigzag }
        #expect(found == (number == 0 ? [:] : [1: number, 2: number]))
    }
}
