import BLE
import BLETestSupport
import Testing

/// Checks that bytes and value are converted to each other, that truncated bytes are refused, and that additional bytes
/// are ignored or refused, depending on the type.
///
/// - Parameter shorter: the smaller numbers of bytes that encode another value, because lists can end anywhere.
func checkSpelling<Value: ValueCodable & Equatable>(
    _ bytes: [UInt8], _ value: Value, shorter: Set<Int> = [], sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    #expect(try Value(bytes: bytes) == value, sourceLocation: sourceLocation)
    #expect(try value.encoded() == bytes, sourceLocation: sourceLocation)
    for count in 0..<bytes.count where !shorter.contains(count) {
        await expectError(.invalidValue, sourceLocation: sourceLocation) {
            try Value(bytes: Array(bytes.prefix(count)))
        }
    }
    guard !Value.ignoresTrailingBytes else { return }
    await expectError(.invalidValue, sourceLocation: sourceLocation) { try Value(bytes: bytes + [0]) }
}

/// An encoded value is decoded to the same value.
func checkRoundTrip<Value: ValueCodable & Equatable>(
    _ value: Value, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    #expect(try Value(bytes: value.encoded()) == value, sourceLocation: sourceLocation)
}

/// No bytes make the type trap, and every decoded value can be encoded and decoded again.
func checkAnyBytes(
    _ value: TypedValue, seed: UInt64 = 1, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    var generator = SeededGenerator(seed: seed)
    for count in 0...40 {
        for round in 0..<50 {
            // Small numbers are the valid flags and choices.
            let limit: UInt8 = round % 2 == 0 ? 255 : 31
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...limit, using: &generator) }
            guard (try? value.decode(bytes)) != nil else { continue }
            let written = try value.recode(bytes)
            #expect(try value.recode(written) == written, "of \(bytes)", sourceLocation: sourceLocation)
        }
    }
}
