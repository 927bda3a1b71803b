import BLE
import BLETestSupport
import Testing

@Suite struct ValueReaderTests {
    /// A value of one byte, then whatever `Field` reads.
    private struct After<Field: ValueCodable & Equatable>: ValueCodable, Equatable {
        var first: UInt8
        var field: Field

        init(from reader: inout ValueReader) throws(BLEError) {
            first = try reader.uint8()
            field = try Field(from: &reader)
        }
        func encode(into writer: inout ValueWriter) throws(BLEError) {
            writer.uint8(first)
            try field.encode(into: &writer)
        }
    }

    /// An integer whose format is the type's.
    private protocol Format: Sendable { static var format: IntegerFormat { get } }
    private enum U24: Format { static let format = IntegerFormat.uint24 }
    private enum S24: Format { static let format = IntegerFormat.int24 }
    private enum U48: Format { static let format = IntegerFormat.uint48 }
    private enum S64: Format { static let format = IntegerFormat.int64 }
    private struct Wide<F: Format>: ValueCodable, Equatable {
        var value: Int
        init(_ value: Int) { self.value = value }
        init(from reader: inout ValueReader) throws(BLEError) { value = try reader.integer(F.format) }
        func encode(into writer: inout ValueWriter) throws(BLEError) { try writer.integer(value, F.format) }
    }

    private func check<Value: ValueCodable & Equatable>(_ bytes: [UInt8], _ value: Value) async throws {
        #expect(try Value(bytes: bytes) == value)
        #expect(try value.encoded() == bytes)
        await expectError(.invalidValue) { try Value(bytes: Array(bytes.dropLast())) }
        await expectError(.invalidValue) { try Value(bytes: bytes + [0]) }
        #expect(try After<Value>(bytes: [7] + bytes).field == value)
    }

    @Test func `integers are read with the least significant byte first`() async throws {
        try await check([0x01], UInt8(1))
        try await check([0x34, 0x12], UInt16(0x1234))
        try await check([0x78, 0x56, 0x34, 0x12], UInt32(0x1234_5678))
        try await check([0xEF, 0xCD, 0xAB, 0x89, 0x67, 0x45, 0x23, 0xF1], UInt64(0xF123_4567_89AB_CDEF))
        try await check([0xFF], Int8(-1))
        try await check([0xFE, 0xFF], Int16(-2))
        try await check([0x00, 0x00, 0x00, 0x80], Int32.min)
        try await check([0, 0, 0, 0, 0, 0, 0, 0x80], Int64.min)
    }

    @Test func `integers of other widths keep their sign`() async throws {
        try await check([0xFF, 0xFF, 0xFF], Wide<U24>(0xFF_FFFF))
        try await check([0x00, 0x00, 0x80], Wide<S24>(-0x80_0000))
        try await check([0xFF, 0xFF, 0x7F], Wide<S24>(0x7F_FFFF))
        try await check([1, 2, 3, 4, 5, 6], Wide<U48>(0x0605_0403_0201))
        try await check([0, 0, 0, 0, 0, 0, 0, 0x80], Wide<S64>(.min))
    }

    @Test func `a number that does not fit its field is not written`() async {
        for value in [-1, 0x100_0000] { await expectError(.invalidValue) { try Wide<U24>(value).encoded() } }
        for value in [-0x80_0001, 0x80_0000] { await expectError(.invalidValue) { try Wide<S24>(value).encoded() } }
    }

    @Test(arguments: [0.4, 0.5, 254.4, -0.4]) func `a number is rounded to what its field holds`(_ value: Double) throws
    {
        var writer = ValueWriter()
        try writer.rounded(value, .uint8)
        #expect(writer.bytes == [UInt8(value.rounded())])
    }

    @Test(arguments: [255.5, -0.5, .nan, .infinity, 1e300]) func `a number out of range is not written`(
        _ value: Double
    ) async {
        await expectError(.invalidValue) {
            var writer = ValueWriter()
            try writer.rounded(value, .uint8)
        }
    }

    @Test func `floating point numbers have their four or eight bytes`() async throws {
        try await check([0x00, 0x00, 0x80, 0x3F], Float(1))
        try await check([0, 0, 0, 0, 0, 0, 0xF0, 0x3F], 1.0)
    }

    @Test func `a truth is 0 or 1`() async throws {
        try await check([0], false)
        try await check([1], true)
        await expectError(.invalidValue) { try Bool(bytes: [2]) }
    }

    @Test(
        arguments: [
            ([0x41, 0xC3, 0xA9], "Aé"), ([0x41, 0x00, 0x42], "A"), ([0x41, 0xFF], "A\u{FFFD}"), ([], ""),
        ] as [([UInt8], String)])
    func `text ends at the first NUL`(_ bytes: [UInt8], _ text: String) throws {
        #expect(try String(bytes: bytes) == text)
    }

    @Test func `text is written in UTF-8`() throws {
        #expect(try "Aé".encoded() == [0x41, 0xC3, 0xA9])
    }

    private enum Level: UInt8, ValueCodable { case low = 1, high }

    @Test func `a number without a meaning is not a choice`() async throws {
        #expect(try Level(bytes: [2]) == .high)
        #expect(try Level.low.encoded() == [1])
        await expectError(.invalidValue) { try Level(bytes: [3]) }
    }

    @Test func `what is too short says where`() async {
        let error = await expectError(.invalidValue) { try After<UInt16>(bytes: [0xAB, 0xCD]) }
        #expect(error?.message.contains("0xabcd") == true)
        #expect(error?.message.contains("only") == true)
    }

    private struct Growing: ValueCodable {
        var first: UInt8
        var rest: [UInt8]
        init(from reader: inout ValueReader) throws(BLEError) {
            first = try reader.uint8()
            rest = try reader.bytes(Int(first))
        }
        func encode(into writer: inout ValueWriter) {
            writer.uint8(first)
            writer.bytes(rest)
        }
        static var ignoresTrailingBytes: Bool { true }
    }

    @Test func `a type may pass over further bytes`() async throws {
        #expect(try Growing(bytes: [1, 5, 6]).rest == [5])
        await expectError(.invalidValue) { try Growing(bytes: [2, 5]) }
    }
}
