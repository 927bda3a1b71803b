import BLE
import BLETestSupport
import Testing

@testable import BLEAssignedNumbers

/// Encoding is the inverse of decoding.
@Suite struct ValueRoundTripTests {
    /// Checks that decoding, encoding and decoding again has the same result as decoding once. Returns whether the bytes
    /// are the same, too. Nil if the bytes are not a value of the format.
    private func check(_ format: ValueFormat, _ bytes: [UInt8], _ title: String) throws -> Bool? {
        guard let values = try? format.decode(bytes), !hasLaterFields(format, values) else { return nil }
        do {
            let encoded = try format.encode(values)
            #expect(try format.decode(encoded) == values, "\(title) \(Hex.string(bytes)) \(Hex.string(encoded))")
            return encoded == bytes
        } catch {
            Issue.record("\(title) \(Hex.string(bytes)) \(values): \(error)")
            return nil
        }
    }

    /// Whether a record has bytes that a later version of the format may define, which are not decoded.
    private func hasLaterFields(_ format: ValueFormat, _ values: [FieldValue]) -> Bool {
        guard format.isRecord else { return false }
        return values.contains { record in
            guard case .fields(let fields) = record.content else { return false }
            let others = fields.dropFirst()
            return (try? format.encode([FieldValue("Record", .fields(Array(others)))]))?.first.map { Int128($0) }
                != fields.first.flatMap { if case .integer(let size) = $0.content { size } else { nil } }
        }
    }

    /// Whether equal values have equal bytes: nothing is reserved, rounded, ignored or optional at the end.
    private func isCanonical(_ format: ValueFormat) -> Bool {
        format.fields.allSatisfy { field in
            guard field.conditions.isEmpty else { return false }
            switch field.kind {
            case .integer(let bytes, let bits, _):
                return bits == bytes * 8 && Set(field.specials.values).count == field.specials.count
            case .bytes, .appearance: return true
            case .flags(let bytes): return bytes != nil
            case .structure(let fields): return isCanonical(ValueFormat(fields: fields))
            case .timeExponential: return true
            default: return false
            }
        }
    }

    @Test func `every format of the SIG is encoded as it is decoded`() throws {
        var generator = SeededGenerator(seed: 2027)
        for (number, _) in NumberTable.formats.entries(where: { _ in true }) {
            let format = try #require(ValueFormat(number: number, depth: 0))
            let title = Hex.string([UInt8(number >> 8), UInt8(number & 0xFF)])
            let canonical = isCanonical(format)
            for count in 0...40 {
                for round in 0..<4 {
                    let limit: UInt8 = [255, 31, 8, 1][round % 4]
                    let bytes = (0..<count).map { _ in UInt8.random(in: 0...limit, using: &generator) }
                    if let isSame = try check(format, bytes, title), canonical { #expect(isSame, "\(title) \(bytes)") }
                }
            }
        }
    }

    @Test(arguments: UInt8(0)...0x1C)
    func `every presentation format is encoded as it is decoded`(_ number: UInt8) throws {
        var generator = SeededGenerator(seed: UInt64(number))
        for exponent: Int8 in [0, -1, 1, -7, 20, -128, 127] {
            let presentation = PresentationFormat(
                format: .init(rawValue: number), exponent: exponent, unit: BluetoothUUID(0x272F))
            let format = ValueFormat(presentation)
            for count in 0...20 {
                for round in 0..<16 {
                    let values: ClosedRange<UInt8> = [0...255, 0...1, 254...255, 127...128][round % 4]
                    let bytes = (0..<count).map { _ in UInt8.random(in: values, using: &generator) }
                    _ = try check(format, bytes, "\(presentation)")
                }
            }
        }
    }

    @Test func `the text of a single field is encoded as it was decoded`() throws {
        var generator = SeededGenerator(seed: 2028)
        for (number, _) in NumberTable.formats.entries(where: { _ in true }) {
            let format = try #require(ValueFormat(number: number, depth: 0))
            guard format.fields.count == 1, !format.fields[0].isRepeated, format.fields[0].inner == nil else {
                continue
            }
            // Several bits have the same name, and binary fractions are shortened.
            guard number != 0x2AA5, format.fields[0].scale.binary == 0 else { continue }
            for count in [1, 2, 3, 4, 6, 7, 8, 16] {
                for _ in 0..<16 {
                    let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
                    guard let values = try? format.decode(bytes), let text = values.first?.description else { continue }
                    // Only 7 digits are shown of some numbers.
                    if case .number(let value) = values[0].content, value.shortText != "\(value)" { continue }
                    let title = Hex.string([UInt8(number >> 8), UInt8(number & 0xFF)])
                    let again = try format.decode(try format.encode(text: text))
                    #expect(again.first?.description == text, "\(title)")
                }
            }
        }
    }
}
