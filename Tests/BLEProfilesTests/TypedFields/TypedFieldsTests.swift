import BLE
import BLEAssignedNumbers
import BLETestSupport
import Foundation
import Testing

/// Typed values have the same contents as the formats that the SIG publishes, which are compared with two other
/// readings (``ValueDifferentialTests``). The bytes are random, and with `Scripts/test --differential` also those of
/// that comparison.
@Suite struct TypedFieldsTests {
    private static let path = ProcessInfo.processInfo.environment["BLE_VALUE_CASES"]

    @Test(arguments: TypedFields.all.indices)
    func `a typed value says of any bytes what the format says`(_ index: Int) throws {
        let typed = TypedFields.all[index]
        let format = try #require(ValueFormat(of: typed.value.uuid))
        var generator = SeededGenerator(seed: UInt64(index))
        var comparedCount = 0
        // Few random bytes are a value of a strict type.
        var pass = 0
        while pass == 0 || comparedCount == 0 && pass < 20 {
            pass += 1
            for count in 0...32 {
                for round in 0..<10 {
                    let limit: UInt8 = round % 3 == 0 ? 31 : 255
                    let bytes = (0..<count).map { _ in UInt8.random(in: 0...limit, using: &generator) }
                    let comparison = typed.compare(bytes, format)
                    #expect(comparison.differences == [], "\(typed.value.uuid) \(Hex.string(bytes))")
                    comparedCount += comparison.isCompared ? 1 : 0
                }
            }
        }
        #expect(comparedCount > 0)
    }

    @Test(.enabled(if: path != nil, "Scripts/test --differential"))
    func `a typed value says what the format says, at the edges too, and every exception occurs`() throws {
        let cases = Dictionary(grouping: try ValueCase.all(in: #require(Self.path)), by: \.characteristic)
        for typed in TypedFields.all {
            let format = try #require(ValueFormat(of: typed.value.uuid))
            var reasons: Set<String> = []
            var comparedCount = 0
            for valueCase in cases[typed.value.uuid] ?? [] {
                let comparison = typed.compare(valueCase.bytes, format)
                #expect(comparison.differences == [], "\(typed.value.uuid) \(Hex.string(valueCase.bytes))")
                reasons.formUnion(comparison.reasons)
                comparedCount += comparison.isCompared ? 1 : 0
            }
            #expect(comparedCount >= 15, "\(typed.value.uuid)")
            #expect(reasons.isSuperset(of: typed.refused.map(\.text)), "\(typed.value.uuid): \(reasons)")
        }
    }

    @Test func `every typed value is compared with another reading`() {
        let compared = TypedFields.all.map(\.value.uuid) + TypedReading.all.map(\.value.uuid)
        // A part of a record; the other reading takes whole records only.
        let parts: Set = [BluetoothUUID(0x2B36)]
        #expect(Set(TypedValues.all.map(\.uuid)).subtracting(compared) == parts)
        #expect(TypedFields.all.allSatisfy { ValueFormat(of: $0.value.uuid) != nil })
    }
}
