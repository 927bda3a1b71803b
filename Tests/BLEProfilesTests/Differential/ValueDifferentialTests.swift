import BLE
import BLEAssignedNumbers
import BLETestSupport
import Foundation
import Testing

/// The package bluetooth-sig and this package read the same values, except for the differences in
/// Tests/Tools/Differential/ValueDifferences.md. `Scripts/test --differential` writes the values;
/// Tests/Tools/Differential/values.py describes the file's form.
@Suite struct ValueDifferentialTests {
    private static let path = ProcessInfo.processInfo.environment["BLE_VALUE_CASES"]
    private static let document = "Tests/Tools/Differential/ValueDifferences.md"

    @Test(.enabled(if: path != nil, "Scripts/test --differential"))
    func `values are read as bluetooth-sig reads them, but where the list says otherwise`() throws {
        let listed = ValueDifferences(try Checkout.text(Self.document))
        var unlisted: [ValueDifference: (count: Int, example: String)] = [:]
        var used: Set<ValueDifference> = []
        var compared: Set<BluetoothUUID> = []
        for valueCase in try ValueCase.all(in: #require(Self.path)) {
            guard let format = ValueFormat(of: valueCase.characteristic) else { continue }
            compared.insert(valueCase.characteristic)
            let comparison = ValueComparison(valueCase, try? format.decode(valueCase.bytes))
            for (difference, factor) in comparison.found {
                if let entry = listed.entry(for: difference, factor: factor) {
                    used.insert(entry)
                } else {
                    let example = "\(Hex.string(valueCase.bytes)) \(valueCase.verdict) \(factor)"
                    unlisted[difference, default: (0, example)].count += 1
                }
            }
        }
        #expect(compared.count == 300)
        for (difference, (count, example)) in unlisted.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            Issue.record(
                "\(difference.characteristic) | \(difference.field) | \(difference.kind): \(count), as \(example)")
        }
        for entry in Set(listed.entries.keys).subtracting(used) {
            Issue.record("\(entry.characteristic) | \(entry.field) | \(entry.kind) is listed, but no difference")
        }
    }

    @Test(.enabled(if: path != nil, "Scripts/test --differential"), arguments: TypedReading.all.indices)
    func `a typed value says what bluetooth-sig reads`(_ index: Int) throws {
        let typed = TypedReading.all[index]
        let cases = try ValueCase.all(in: #require(Self.path)).filter { $0.characteristic == typed.value.uuid }
        let read = cases.filter {
            $0.isValue && $0.outcome == "value" && $0.bytes.count == typed.length ?? $0.bytes.count
        }
        #expect(read.count > (typed.length == nil ? 40 : 0))
        for valueCase in read {
            #expect(try typed.differences(valueCase) == [], "\(Hex.string(valueCase.bytes))")
        }
    }
}
