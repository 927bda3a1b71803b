import BLE
import BLEProfiles
import Foundation

extension TypedFields {
    /// All comparisons: every key with a typed value and a format that the SIG publishes.
    static let all = basics + fitness + health + everyday

    static let basics: [TypedFields] = [
        text(.deviceName, "Device Name"), TypedFields(.appearance),
        text(.manufacturerName, "Manufacturer Name"), text(.modelNumber, "Model Number"),
        text(.serialNumber, "Serial Number"), text(.hardwareRevision, "Hardware Revision"),
        text(.firmwareRevision, "Firmware Revision"), text(.softwareRevision, "Software Revision"),
        TypedFields(.systemID, ["EUI-64[0-39]": "manufacturer", "EUI-64[40-63]": "organization"]),
        TypedFields(.regulatoryCertifications),
        TypedFields(
            .pnpID,
            [
                "Vendor ID Source": "source", "Vendor ID": "vendor", "Product ID": "product",
                "Product Version": "version",
            ]),
        TypedFields(
            .heartRateMeasurement,
            [
                "Flags[1-2]": .choice("contact", ["2": "0", "3": "1"]),
                "Heart Rate Measurement Value (8 bit resolution)": "beatsPerMinute",
                "Heart Rate Measurement Value (16 bit resolution)": "beatsPerMinute",
                "Energy Expended": "energyExpendedKilojoules",
                "RR-interval[]": "rrIntervalsSeconds[]",
            ]),
        TypedFields(.bodySensorLocation), TypedFields(.heartRateControlPoint),
    ]

    /// A text ends at a zero byte, if it has one; the format reads the whole text.
    private static func text(_ characteristic: Characteristic<String>, _ name: String) -> TypedFields {
        TypedFields(characteristic, [name: .none])
            .deriving { ["": text($0[name])] }
            .readingNoUTF8()
    }

    /// A text up to its first zero.
    static func text(_ content: ReadField.Content?) -> ReadField.Content? {
        guard case .text(let text) = content else { return content }
        return .text(String(text.prefix { $0 != "\0" }))
    }

    /// The text of a value, which begins after some bytes, is not UTF-8.
    func readingNoUTF8(after count: Int = 0) -> TypedFields {
        readingAlone("bytes that are no UTF-8 become U+FFFD") { bytes, _ in
            String(validating: bytes.dropFirst(count), as: UTF8.self) == nil
        }
    }

    /// Whether a bit of a field is set.
    static func bit(_ bit: Int, of name: String = "Flags", in fields: Fields) -> Bool {
        fields[name].flatMap { ReadField(name: name, content: $0).bits(bit, bit) } == 1
    }

    /// The number of a field; nil for a special one.
    static func number(_ name: String, in fields: Fields) -> Double? {
        switch fields[name] {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        default: nil
        }
    }
}

extension TypedFields.Reason {
    /// A year, month or day of 0 is unknown; all others are in the calendar.
    static let noDate = Self("a date is in no calendar") { fields in
        fields.values.contains { content in
            guard case .text(let text) = content,
                let match = text.wholeMatch(of: /(\d{4,5})-(\d\d+)-(\d\d+)T(\d\d+):(\d\d+):(\d\d+)/)
            else { return false }
            let (year, month, day) = (Int(match.1) ?? 0, Int(match.2) ?? 0, Int(match.3) ?? 0)
            let time = [Int(match.4) ?? 0, Int(match.5) ?? 0, Int(match.6) ?? 0]
            let date = DateComponents(
                year: year == 0 ? 2000 : year, month: month == 0 ? 1 : month, day: day == 0 ? 1 : day)
            return !(year == 0 || 1582...9999 ~= year) || !date.isValidDate(in: Calendar(identifier: .gregorian))
                || time[0] > 23 || time[1] > 59 || time[2] > 59
        }
    }

    /// A field has a number that is beyond a range.
    static func beyond(_ range: ClosedRange<Double>, _ names: String...) -> Self {
        Self("\(names[0]) is not from \(range.lowerBound) to \(range.upperBound)") { fields in
            names.contains { name in
                if case .special("-infinity") = fields[name] { return true }
                return TypedFields.number(name, in: fields).map { !(range ~= $0) } ?? false
            }
        }
    }
}
