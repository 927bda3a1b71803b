import BLE
import Foundation

/// A value and the result of the package bluetooth-sig for it: a line that Tests/Tools/Differential/values.py has
/// written.
struct ValueCase {
    /// The values that were read, by the package's own names, and by those of the fields in the SIG's supplement.
    typealias Reading = (name: String, text: String)

    let characteristic: BluetoothUUID
    let bytes: [UInt8]
    /// The supplement's verdict on the bytes: `short`, `long`, `prohibited` or `text` if they are not a value.
    let verdict: String
    /// `value`, `special`, `endless` or `refused` and why.
    let outcome: String
    let read: [Reading]
    let named: [Reading]

    /// Whether the bytes are a value according to the supplement.
    var isValue: Bool { !["short", "long", "prohibited", "text"].contains(verdict) }

    /// Nil for a line of another form.
    init?(_ line: Substring) {
        let columns = line.split(separator: "\t", omittingEmptySubsequences: false)
        guard columns.count >= 4, let uuid = UInt32(columns[0], radix: 16), let bytes = Hex.bytes(String(columns[1]))
        else {
            return nil
        }
        characteristic = BluetoothUUID(uuid)
        self.bytes = bytes
        (verdict, outcome) = (String(columns[2]), String(columns[3]))
        let readings = columns[4...].map { column in
            let parts = column.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            return (name: parts[0], text: parts.count > 1 ? parts[1] : "")
        }
        read = readings.filter { !$0.name.hasPrefix(">") }
        named = readings.filter { $0.name.hasPrefix(">") }.map { (String($0.name.dropFirst()), $0.text) }
    }

    /// The cases in a file.
    static func all(in path: String) throws -> [ValueCase] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap { ValueCase($0) }
    }
}

/// A difference between a reading here and bluetooth-sig's: Tests/Tools/Differential/ValueDifferences.md lists them.
struct ValueDifference: Hashable {
    /// The characteristic's number, four digits.
    let characteristic: String
    /// The field; a dash for the value as a whole.
    let field: String
    /// `longer`, `number`, `refused date` and the like; `×` for a different number.
    let kind: String
}

/// The list of differences.
struct ValueDifferences {
    /// Each with the allowed factors, theirs by ours; empty if any is allowed.
    private(set) var entries: [ValueDifference: [Double]] = [:]

    /// The rows of the tables in the document: characteristic, fields, kind, the deciding text, the side that is right.
    init(_ document: String) {
        for line in document.split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5 else { continue }
            let isFactor = cells[2].hasPrefix("× ")
            let factors =
                isFactor ? cells[2].dropFirst(2).components(separatedBy: " or ").compactMap { Double($0) } : []
            for match in cells[0].matches(of: #/(^|, )(?<number>[0-9A-F]{4}) /#) {
                for field in cells[1].components(separatedBy: "; ") {
                    let key = ValueDifference(
                        characteristic: String(match.output.number), field: field, kind: isFactor ? "×" : cells[2])
                    entries[key] = factors
                }
            }
        }
    }

    /// The entry that covers a difference; nil if none does.
    func entry(for difference: ValueDifference, factor: Double) -> ValueDifference? {
        let other = ValueDifference(
            characteristic: difference.characteristic, field: difference.field, kind: "other")
        if let factors = entries[difference] {
            let agrees = factors.isEmpty || factors.contains { factor == $0 || abs(factor / $0 - 1) < 1e-6 }
            return agrees ? difference : nil
        }
        return entries[other] == nil ? nil : other
    }
}
